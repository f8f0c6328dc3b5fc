"""Compares what surveys and trainings promise, and how accurate they are, on rows that are public."""
