"""The poisoning check: tests whether reports are fake, and computes how far they can move estimates."""
