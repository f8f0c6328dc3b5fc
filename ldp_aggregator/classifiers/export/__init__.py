"""Exports models in the formats of other libraries."""
