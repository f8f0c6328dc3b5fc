"""Posterior distributions of shares, and how strongly they are shrunk towards the margins."""
