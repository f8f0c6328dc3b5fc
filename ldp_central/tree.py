"""A decision tree with private splits and noisy leaves.

The tree has the same public depth everywhere. A node without rows is split too: a node that stays a leaf
because it is empty, small or pure would reveal its rows. The nodes of a level have no row in common, so a
level costs what one choice costs, and the costs of the levels add up.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction

import numpy as np

from encoders.mechanisms.counted_table import laplace_variance
from encoders.randomness import RandomSource
from ldp_aggregator.arrays import FloatArray, IntArray
from ldp_aggregator.curator_privacy import Spending
from ldp_aggregator.prediction.decision_tree import DecisionTree, Split
from ldp_central.coded_rows import CodedRows
from ldp_central.noise import draw_laplace_array
from ldp_central.splits import choose_split, list_splits, split_columns, split_scores

ROWS_PER_LEAF = 60
"""Product of rows and epsilon for which a tree has one leaf."""
MAX_DEPTH = 8
LEAF_SHARE = Fraction(1, 4)
"""The share of epsilon that the counts of the leaves spend."""
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
    """Return a tree and what it spent.

    Parameters
    ----------
    rows : CodedRows
    expected_rows : int
        A public number; with the epsilon it determines the depth and the score of splits.
    epsilon : Fraction
        For one row that is added or removed.
    source : RandomSource
    """
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
    """Return each row's node in the next level; nodes are numbered from zero in each level."""
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
