"""Frequencies of discrete questions, their covariance, and the correction of negative ones."""
