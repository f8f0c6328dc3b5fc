"""A decision tree as it is stored, and its scores of coded rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Self

import numpy as np

from encoders.survey import Feature
from ldp_aggregator.arrays import FloatArray, IntArray
from ldp_aggregator.codec import HIDDEN, require, require_probabilities
from ldp_aggregator.prediction import TREE


@dataclass(frozen=True)
class Split:
    feature: int
    low: int
    high: int


@dataclass(frozen=True)
class DecisionTree:
    """A complete binary tree; node i has the children 2i + 1 (test fails) and 2i + 2 (test holds)."""

    splits: tuple[Split, ...]
    """The 2^depth - 1 inner nodes, level by level."""
    leaves: FloatArray
    """P(label | leaf). Shape (2^depth, k)."""
    counts: IntArray | None = field(default=None, metadata=HIDDEN)
    """The noisy counts of the leaves, (2^depth, k); None if the tree was read from a file."""

    kind = TREE
    JSON_KINDS = (kind,)
    JSON_DERIVED = ("kind",)

    def for_plan(self, features: Sequence[Feature], k: int) -> Self:
        for index, split in enumerate(self.splits):
            require(split.feature < len(features), f"splits.{index}: has no feature")
            is_inside = split.low <= split.high < features[split.feature].size
            require(is_inside, f"splits.{index}: is outside its feature")
        count = len(self.splits) + 1
        require(count >= 2 and not count & (count - 1), "splits: the tree is not complete")
        is_valid = self.leaves.shape == (count, k) and bool((self.leaves > 0).all())
        require(is_valid, f"leaves: need probabilities above 0 with the shape {(count, k)}")
        require_probabilities(self.leaves.T, "the leaves")
        return self

    def compute_scores(self, codes: IntArray) -> FloatArray:
        return np.log(self.leaves)[self.find_leaves(codes)]

    scores = compute_scores

    def find_leaves(self, rows_codes: IntArray) -> IntArray:
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
