"""The operator's page: its files, its routes and its data."""
