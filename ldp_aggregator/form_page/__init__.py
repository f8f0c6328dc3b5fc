"""The page on which people answer a survey in a browser: one HTML file and one script."""
