"""A decision tree with private splits and noisy leaves, and the tests of its nodes.

The tree has the same public depth everywhere. A node without rows is split too: a node that stays a leaf
because it is empty, small or pure would reveal its rows. The nodes of a level have no row in common, so a
level costs what one choice costs, and the costs of the levels add up.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise

import numpy as np

from encoders.exact_samplers import draw_below, draw_bernoulli_exp
from encoders.mechanisms.counted_table import laplace_variance
from encoders.randomness import RandomSource
from encoders.survey import CategoricalFeature, Feature, NumericFeature
from encoders.survey.features import GRID
from ldp_aggregator.arrays import FloatArray, IntArray
from ldp_aggregator.prediction.decision_tree import DecisionTree, Split
from ldp_aggregator.privacy_statement import Spending
from ldp_central.coded_rows import CodedRows
from ldp_central.noise import draw_laplace_array

# -- tests of nodes ---------------------------------------------------------------------------------
# The tests of a decision tree, their exact scores, and the private choice among them.
#
# A test asks whether a feature's code is in a public interval. Its score needs the counts of the labels on
# both sides. Adding a row lowers no hits and raises them by at most 1. The Gini score is minus the impurity,
# the sum over the sides of n - sum_c n_c^2 / n; adding a row never raises it, and lowers it by less than 2.


NUMBER_INTERVALS = 8
"""Number of intervals of equal width between the bounds of a number that has no bins."""
_MAX_ROWS_IN_WORDS = 1 << 20
"""With more rows, numerators of the Gini score could exceed 64 bits, and are Python integers."""


def cut_points(feature: Feature) -> list[int]:
    """Return the first codes of the intervals that tests distinguish, and one past the last code."""
    if isinstance(feature, NumericFeature):
        edges = [2 * GRID * part // NUMBER_INTERVALS for part in range(NUMBER_INTERVALS)]
        return [*edges, 2 * GRID + 1, *([feature.size] if feature.missing == "category" else [])]
    return list(range(feature.size + 1))


def list_splits(features: Sequence[Feature]) -> list[Split]:
    """Return all tests, feature by feature.

    Of a category: "is this value", of two values one test. Of a number: "is below this edge"; a missing
    number is after the last interval.
    """
    splits = []
    for index, feature in enumerate(features):
        cuts = cut_points(feature)
        if isinstance(feature, CategoricalFeature) and len(cuts) > 3:
            splits += [Split(index, low, high - 1) for low, high in pairwise(cuts)]
        else:
            splits += [Split(index, 0, cut - 1) for cut in cuts[1:-1]]
    return splits or [Split(0, 0, cut_points(features[0])[-1] - 1)]


def split_columns(rows: CodedRows) -> list[IntArray]:
    """Return the interval of each value, one (m,) array per feature."""
    return [
        np.searchsorted(cut_points(feature), column, side="right") - 1
        if isinstance(feature, NumericFeature)
        else column
        for feature, column in zip(rows.features, rows.codes.T, strict=True)
    ]


@dataclass(frozen=True)
class SplitScores:
    """The exact scores of all tests at one node: tops[i] / bottoms[i]."""

    tops: Sequence[int]
    bottoms: Sequence[int]


def split_scores(
    rows: CodedRows, columns: Sequence[IntArray], node: IntArray, nodes: int, by_hits: bool
) -> list[SplitScores]:
    """Return the private scores of all tests at each of `nodes` nodes: hits, or Gini's sum_c n_c^2 / n."""
    inside = [
        _count_inside(feature, column, rows, node, nodes)
        for feature, column in zip(rows.features, columns, strict=True)
    ]
    left = np.concatenate(inside, axis=1)  # nodes, tests, k
    if left.shape[1] == 0:
        return [SplitScores([0], [1])] * nodes
    total = np.bincount(node * rows.k + rows.labels, minlength=nodes * rows.k).reshape(nodes, 1, rows.k)
    right = total - left
    if by_hits:
        hits = (left.max(axis=2) + right.max(axis=2)).tolist()
        return [SplitScores(each, [1] * len(each)) for each in hits]
    if len(rows) >= _MAX_ROWS_IN_WORDS:
        left, right = left.astype(object), right.astype(object)
    left_rows, right_rows = (np.maximum(side.sum(axis=2), 1) for side in (left, right))
    tops = (left**2).sum(axis=2) * right_rows + (right**2).sum(axis=2) * left_rows
    bottoms = left_rows * right_rows
    return [SplitScores(top, bottom) for top, bottom in zip(tops.tolist(), bottoms.tolist(), strict=True)]


def _count_inside(
    feature: Feature, column: IntArray, rows: CodedRows, node: IntArray, nodes: int
) -> IntArray:
    """Return the counts of rows for which each of a feature's tests holds, (nodes, tests, k)."""
    size = len(cut_points(feature)) - 1
    flat = (node * size + column) * rows.k + rows.labels
    counts = np.bincount(flat, minlength=nodes * size * rows.k).astype(np.int64, copy=False)
    counts = counts.reshape(nodes, size, rows.k)
    if isinstance(feature, CategoricalFeature) and size > 2:
        return counts
    return counts.cumsum(axis=1)[:, :-1]


def choose_split(scores: SplitScores, epsilon: Fraction, by_hits: bool, source: RandomSource) -> int:
    """Return the index of a good test; epsilon-differentially private.

    Permute-and-flip as in :func:`encoders.exact_samplers.permute_and_flip`. Both scores are monotone, so the
    rate is epsilon / sensitivity: epsilon for hits, epsilon / 2 for Gini.
    """
    rate = epsilon if by_hits else epsilon / 2
    tops, bottoms = scores.tops, scores.bottoms
    best = 0
    for index in range(1, len(tops)):
        if tops[index] * bottoms[best] > tops[best] * bottoms[index]:
            best = index
    order = list(range(len(tops)))
    while True:
        place = draw_below(len(order), source)
        order[place], order[-1] = order[-1], order[place]
        index = order.pop()
        loss = rate.numerator * (tops[best] * bottoms[index] - tops[index] * bottoms[best])
        if draw_bernoulli_exp(loss, rate.denominator * bottoms[best] * bottoms[index], source):
            return index


# -- the tree ----------------------------------------------------------------------------------------

ROWS_PER_LEAF = 60
"""Product of rows and epsilon for which a tree has one leaf."""
MAX_DEPTH = 8
LEAF_SHARE = Fraction(1, 4)
HITS_BELOW = 2500
"""Product of rows and epsilon below which splits between two classes are scored by hits, not by Gini."""
_LEAST_WEIGHT = 0.001


def tree_depth(expected_rows: int, epsilon: Fraction) -> int:
    """Return the depth of the tree, from public numbers only: floor(log2(n epsilon / 60)), in 1..8."""
    leaves = math.floor(expected_rows * epsilon / ROWS_PER_LEAF)
    return min(max(leaves.bit_length() - 1, 1), MAX_DEPTH)


def fit_tree(
    rows: CodedRows, expected_rows: int, epsilon: Fraction, source: RandomSource
) -> tuple[DecisionTree, list[Spending]]:
    """Return a tree and what it spent for one row; public `expected_rows` choose the depth and the score."""
    depth = tree_depth(expected_rows, epsilon)
    of_leaves = LEAF_SHARE * epsilon
    of_level = (epsilon - of_leaves) / depth
    by_hits = rows.k == 2 and expected_rows * epsilon < HITS_BELOW
    candidates = list_splits(rows.features)
    columns = split_columns(rows)
    splits: list[Split] = []
    node = np.zeros(len(rows), dtype=np.int64)
    for level in range(depth):
        scores = split_scores(rows, columns, node, 1 << level, by_hits)
        chosen = [choose_split(each, of_level, by_hits, source) for each in scores]
        node = _descend(rows, node, [candidates[index] for index in chosen])
        splits += [candidates[index] for index in chosen]
    counts = np.bincount(node * rows.k + rows.labels, minlength=(1 << depth) * rows.k)
    noise = draw_laplace_array(1 / of_leaves, counts.size, source)
    noisy = (counts.astype(np.int64) + noise).reshape(-1, rows.k)
    spendings = [Spending(f"splits of level {level}", of_level) for level in range(1, depth + 1)]
    spendings.append(Spending("leaves", of_leaves))
    leaves = smooth_leaves(noisy.astype(np.float64), laplace_variance(1 / of_leaves))
    return DecisionTree(tuple(splits), leaves, noisy), spendings


def _descend(rows: CodedRows, node: IntArray, splits: Sequence[Split]) -> IntArray:
    features, low, high = (
        np.array(each) for each in zip(*((s.feature, s.low, s.high) for s in splits), strict=True)
    )
    value = rows.codes[np.arange(len(rows)), features[node]]
    below: IntArray = 2 * node + ((low[node] <= value) & (value <= high[node]))
    return below


def smooth_leaves(counts: FloatArray, variance: float) -> FloatArray:
    """Return P(label | leaf) from noisy counts (leaves, k).

    Totals are summed upward. Downward, a node's distribution is proportional to n + K p of its parent, with K
    one plus the standard deviation of the noise in its total.
    """
    k = counts.shape[1]
    totals = [counts]
    while len(totals[-1]) > 1:
        totals.append(totals[-1].reshape(-1, 2, k).sum(axis=1))
    shares = np.full((1, k), 1 / k)
    for total in reversed(totals):
        below = len(counts) // len(total)
        if len(total) > 1:
            shares = np.repeat(shares, 2, axis=0)
        weights = np.maximum(total + (1 + math.sqrt(variance * k * below)) * shares, _LEAST_WEIGHT)
        shares = weights / weights.sum(axis=1, keepdims=True)
    return shares
