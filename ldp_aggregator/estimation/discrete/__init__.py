"""Frequencies of categorical questions, their covariance, and the repair of negative ones."""
