"""Training by a trusted curator under differential privacy."""
