"""Frequencies of categorical questions, and their projection onto the simplex."""
