"""Counts of the ones in reports: how many each has, and which occur in the same report."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from encoders.mechanisms.support_counters import SupportCounters
from ldp_aggregator.arrays import FloatArray, IntArray


@dataclass(frozen=True)
class SupportCounts:
    """Counts of the ones in n reports, see :meth:`SupportCounters.count`.

    Attributes
    ----------
    bits : SupportCounters
    sizes : (len(bits.sizes),) array
        Reports with each number of ones.
    sums : (groups,) array
        Ones of each group.
    pairs : (groups, groups) array
        Sums of the products of two groups' ones; symmetric.
    """

    bits: SupportCounters
    sizes: IntArray
    sums: IntArray
    pairs: IntArray

    @classmethod
    def from_cells(cls, bits: SupportCounters, cells: IntArray) -> SupportCounts:
        """Split the counters of a question into their parts."""
        sizes, sums, upper = np.split(cells, np.cumsum([len(bits.sizes), bits.groups]))
        pairs = np.zeros((bits.groups, bits.groups), dtype=np.int64)
        pairs[np.triu_indices(bits.groups)] = upper
        return cls(bits, sizes, sums, np.maximum(pairs, pairs.T))

    @property
    def joint_ones(self) -> FloatArray:
        """Numbers of pairs of ones at positions i in group g and j in h; on the diagonal i < j."""
        own = np.diag(self.sums)
        return np.asarray((self.pairs - own) / np.where(np.eye(len(own)) > 0, 2, 1), dtype=np.float64)

    @property
    def n(self) -> int:
        """Number of reports."""
        return int(self.sizes.sum())


def group_sizes(bits: SupportCounters) -> FloatArray:
    """Return the number of positions in each group."""
    return np.bincount(np.arange(bits.length) % bits.groups).astype(np.float64)


def union_bound(tests: int, surprise: float) -> float:
    """Return a bound on the p-value of the most extreme of several tests, each bounded by e^-surprise."""
    return min(1.0, tests * math.exp(-surprise))
