"""What classifiers store, and how they score coded rows: plain arrays, without scikit-learn."""

from ldp_aggregator.estimation import NaiveBayesParameters

NAIVE_BAYES, LINEAR, TREE = NaiveBayesParameters.kind, "linear", "tree"
"""The kinds of classifiers."""
