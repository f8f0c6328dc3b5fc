"""Estimates from noisy tables of counts (value, label), which a curator or silos release."""
