"""Computes what to expect of a survey before its launch: margins of its estimates, accuracy of a model."""
