"""Converts an XLSForm (a questionnaire of ODK or KoboToolbox) to a survey."""
