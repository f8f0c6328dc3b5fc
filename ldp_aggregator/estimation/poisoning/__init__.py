"""The poisoning check: tests whether reports are fabricated, and computes how far they can move estimates."""
