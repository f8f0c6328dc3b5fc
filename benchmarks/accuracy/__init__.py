"""Compare accuracy with the paper, PyPI's estimators and simple baselines: `make accuracy`."""
