"""What classifiers store, and how they score coded rows: plain arrays, without scikit-learn."""

NAIVE_BAYES, LINEAR, TREE = "nb", "linear", "tree"
"""The kinds of classifiers."""
