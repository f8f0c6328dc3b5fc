"""Help for the author of a survey: a first draft, an overview, a preview of one report."""
