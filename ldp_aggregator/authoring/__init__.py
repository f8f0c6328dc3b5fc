"""Help for the author of a survey: a first draft, an overview, a row to preview."""
