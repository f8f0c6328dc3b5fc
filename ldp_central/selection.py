"""Private choice of the features of a Naive Bayes classifier.

The score of a feature is its number of hits: of how many rows it alone predicts the label right, by the most
frequent label of each value. Adding a row raises a score by at most one and lowers none. The score of a
number uses its three soft cells.
"""

from __future__ import annotations

from fractions import Fraction

from encoders.exact_samplers import permute_and_flip
from encoders.randomness import RandomSource
from ldp_central.coded_rows import CodedRows
from ldp_central.count_tables import exact_tables

ROWS_PER_FEATURE = 100
"""Product of rows and epsilon for which one more feature is used."""


def feature_count(features: int, expected_rows: int, epsilon: Fraction) -> int:
    """Return the number of features to use, from public numbers only."""
    return min(max(round(expected_rows * epsilon / ROWS_PER_FEATURE), 1), features)


def count_hits(rows: CodedRows) -> list[Fraction]:
    """Return the hits of each feature. They are private: choose with :func:`select_features`."""
    return [Fraction(int(cells.max(axis=1).sum()), unit) for cells, unit in exact_tables(rows)]


def select_features(rows: CodedRows, count: int, epsilon: Fraction, source: RandomSource) -> list[int]:
    """Return the sorted indices of `count` features with many hits; epsilon-differentially private.

    Each of `count` rounds of permute-and-flip spends epsilon / count. Hits never fall when a row is added, so
    the rate is epsilon / count and not half of it.
    """
    hits = count_hits(rows)
    left, chosen = list(range(len(hits))), []
    for _ in range(count):
        place = permute_and_flip([hits[index] for index in left], epsilon / count, source)
        chosen.append(left.pop(place))
    return sorted(chosen)
