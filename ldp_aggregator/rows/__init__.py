"""Rows of people: read from CSV files, and coded many at once as devices code one."""
