"""The results page: one HTML page that shows everything a survey's model file or snapshot contains."""
