"""Performance benchmarks: ratios measured in one run, `python -m benchmarks [topic...]` or `make bench`."""
