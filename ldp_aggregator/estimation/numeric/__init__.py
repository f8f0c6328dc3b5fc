"""Means and variances of numeric questions, and the class-conditional Gaussians from them."""
