"""Tools for the author of a survey: drafts, overviews, sample rows, projections, signatures."""
