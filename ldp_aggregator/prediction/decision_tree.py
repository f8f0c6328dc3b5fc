"""A decision tree as it is stored, and its scores of coded rows."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ldp_aggregator.arrays import FloatArray, IntArray


@dataclass(frozen=True)
class Split:
    """The test low <= code <= high of one feature."""

    feature: int
    """The index of the feature."""
    low: int
    high: int


@dataclass(frozen=True)
class DecisionTree:
    """A complete binary tree; node i has the children 2i + 1 (test fails) and 2i + 2 (test holds)."""

    splits: tuple[Split, ...]
    """The 2^depth - 1 inner nodes, level by level."""
    leaves: FloatArray
    """P(label | leaf). Shape (2^depth, k)."""
    counts: IntArray
    """The noisy counts of the leaves. Shape (2^depth, k)."""

    def scores(self, rows_codes: IntArray) -> FloatArray:
        """Return log P(label | leaf) of m coded rows, shape (m, k)."""
        return np.log(self.leaves)[self.find_leaves(rows_codes)]

    def find_leaves(self, rows_codes: IntArray) -> IntArray:
        """Return the index of each row's leaf, shape (m,)."""
        feature = np.array([split.feature for split in self.splits])
        low = np.array([split.low for split in self.splits])
        high = np.array([split.high for split in self.splits])
        node = np.zeros(len(rows_codes), dtype=np.int64)
        everyone = np.arange(len(rows_codes))
        while len(node) and node[0] < len(self.splits):
            value = rows_codes[everyone, feature[node]]
            node = 2 * node + 1 + ((low[node] <= value) & (value <= high[node]))
        leaves: IntArray = np.subtract(node, len(self.splits), dtype=np.int64)
        return leaves
