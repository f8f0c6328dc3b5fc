"""Results for people: the estimates as a table, as text, and in the card of a model."""
