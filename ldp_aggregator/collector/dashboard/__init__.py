"""The operator's page: its files, its routes and the numbers it shows."""
