"""Explain in words what a report reveals: previews, plausible origins, nonresponse."""
