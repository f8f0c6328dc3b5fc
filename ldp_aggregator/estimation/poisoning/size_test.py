"""A test of the numbers of ones in reports.

Both tests of reports (see :mod:`pair_test`) use the probabilities of the mechanism's tables, whatever people
answered. Every p-value is an upper bound that holds for any number of reports, not an approximation for many:
tails are Chernoff's and Bernstein's, added up over all tests (Bonferroni).
"""

from __future__ import annotations

import math

import numpy as np

from encoders.mechanisms.support_counters import SupportCounters
from ldp_aggregator.arrays import FloatArray
from ldp_aggregator.estimation.poisoning.support_counts import SupportCounts, union_bound


def compute_size_distribution(bits: SupportCounters, own: float) -> FloatArray:
    """Return the distribution of the number of ones, over `bits.sizes`: one coin of `own`, d - 1 of `off`."""
    if bits.ones is not None:
        return np.ones(1)
    others, off = bits.length - 1, float(bits.off)
    k = np.arange(1, others + 1)
    ways = np.concatenate([[0.0], np.cumsum(np.log(others - k + 1) - np.log(k))])
    k = np.arange(others + 1)
    rest = np.exp(ways + k * math.log(off) + (others - k) * math.log1p(-off))
    law = np.concatenate([(1 - own) * rest, [0.0]]) + np.concatenate([[0.0], own * rest])
    first, last = bits.sizes[0], bits.sizes[-1]
    return np.concatenate([[law[: first + 1].sum()], law[first + 1 : last], [law[last:].sum()]])


def compute_size_p_value(support: SupportCounts) -> float:
    """Return a bound on the probability that honest reports have numbers of ones as extreme as these.

    Tested, both ways: how many reports have each number of ones, and how many have at most as many. Each
    is a binomial count, whose tail is at most e^(-n KL(share || chance)). Where the chance depends on the
    owner's number (sign-vector), the count is a sum of unequal coins, for which the bound at the nearest
    chance holds as well (Hoeffding 1956).
    """
    if support.n == 0:
        return 1.0
    laws = np.stack([compute_size_distribution(support.bits, float(own)) for own in support.bits.own])
    chances = np.concatenate([laws, laws.cumsum(axis=1)[:, :-1]], axis=1)
    counts = np.concatenate([support.sizes, support.sizes.cumsum()[:-1]])
    surprise = support.n * _divergence(counts / support.n, chances.min(axis=0), chances.max(axis=0))
    return union_bound(2 * len(counts), float(surprise.max()))


def _divergence(share: FloatArray, low: FloatArray, high: FloatArray) -> FloatArray:
    """Return KL(share || the nearest chance in [low, high]); 0 within."""
    chance = np.clip(share, low, high)
    # chances far out underflow, and their sums round past 1; taking them nearer errs on the safe side
    chance = np.clip(chance, 1e-300, 1 - 1e-15)
    rest = 1 - share
    with np.errstate(divide="ignore", invalid="ignore"):
        up = np.where(share > 0, share * np.log(share / chance), 0.0)
        down = np.where(rest > 0, rest * (np.log(rest) - np.log1p(-chance)), 0.0)
    return np.where((share >= low) & (share <= high), 0.0, np.maximum(up + down, 0.0))
