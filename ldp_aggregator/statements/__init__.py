"""Statements: what follows from results, each computed once and worded once, in a text file."""
