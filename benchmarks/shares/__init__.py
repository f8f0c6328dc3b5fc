"""Shares, means and comparisons of classes: coverage, people needed, and early looks."""
