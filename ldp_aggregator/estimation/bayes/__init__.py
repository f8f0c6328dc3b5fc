"""Posterior distributions of probabilities, and empirical Bayes shrinkage."""
