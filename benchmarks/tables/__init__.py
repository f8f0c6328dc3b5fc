"""Tables, ordered values and quantiles: coverage, tests of independence, and the gain by levels."""
