"""Algorithms of four papers as printed, beside corrected forms. Nothing here is for release."""
