"""Write models in the formats of other libraries."""
