"""How accurate this is beside the paper, PyPI's estimators and plain bounds: `make accuracy`."""
