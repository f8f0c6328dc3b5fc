"""How fast this is, as ratios measured in one run: `python -m benchmarks [topic...]`, or `make bench`."""
