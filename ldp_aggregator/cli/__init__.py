"""The commands of the aggregator."""
