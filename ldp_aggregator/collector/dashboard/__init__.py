"""The dashboard: its files, its routes and its data."""
