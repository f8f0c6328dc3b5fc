"""The dossier of a survey: one HTML page that a review board or a data-protection officer files."""
