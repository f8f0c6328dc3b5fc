"""A test of which ones occur in the same report."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from encoders.mechanisms.support_counters import SupportCounters
from ldp_aggregator.arrays import FloatArray
from ldp_aggregator.estimation.poisoning.support_counts import SupportCounts, group_sizes, union_bound

SLACK_PROBABILITY = 1e-12
"""Probability that the bound on the number of owners of each value, on which the noise depends, is wrong."""


@dataclass(frozen=True)
class CentredProduct:
    """The product of two bits without its expectation: x_i x_j - a (x_i + x_j) - b has mean zero.

    Of any two positions at least one is not the owner's. So there are two laws of the two bits, one of
    them or none the owner's; their means of x_i x_j and of x_i + x_j determine a and b, and nothing needs
    to be estimated. Where bits are independent it is (x_i - q)(x_j - q).

    Attributes
    ----------
    slope, level : float
        a and b.
    unowned, owned : float
        Its variance, if none and if one of the positions is the owner's.
    maximum : float
        Its largest absolute value.
    """

    slope: float
    level: float
    unowned: float
    owned: float
    maximum: float

    @classmethod
    def from_bits(cls, bits: SupportCounters) -> CentredProduct:
        """Compute it for any two positions."""
        (none, one), q, p = bits.pairs, bits.off, bits.own[1]
        slope = (one - none) / (p - q)
        level = none - 2 * slope * q
        left = (-level, -slope - level, 1 - 2 * slope - level)  # of no bit, of one, of two
        laws = (1 - 2 * q + none, 2 * (q - none), none), (1 - p - q + one, p + q - 2 * one, one)
        unowned, owned = (sum(a * x * x for a, x in zip(law, left, strict=True)) for law in laws)
        possible = [abs(x) for x, *chances in zip(left, *laws, strict=True) if any(chances)]
        return cls(
            slope=float(slope),
            level=float(level),
            unowned=float(unowned),
            owned=float(owned),
            maximum=float(max(possible)),
        )


@dataclass(frozen=True)
class PairDeviations:
    """Deviations of the numbers of pairs of ones from their expectations; arrays of shape (groups, groups).

    Attributes
    ----------
    excess : array
        Sum over reports, and over pairs of positions i in g, j in h, of their `CentredProduct`.
    surprise : array
        A bound on the probability of such an excess is 2 e^-surprise.
    """

    excess: FloatArray
    surprise: FloatArray


def compute_pair_excess(support: SupportCounts) -> FloatArray:
    """Return the sums of products over reports and pairs i in g, j in h; on the diagonal i < j.

    An honest report's has mean zero, whatever the answer. With c the sums, |g| positions in a group and N
    the sums of x_i x_j, N - a |h| c_g - a |g| c_h - n b |g| |h|; within a group half of that, less
    what i = j adds, c (1 - 2a) - n |g| b.
    """
    n, ones, product = support.n, support.sums.astype(np.float64), CentredProduct.from_bits(support.bits)
    size = group_sizes(support.bits)
    mixed = np.outer(ones, size)
    expected = product.slope * (mixed + mixed.T) + n * product.level * np.outer(size, size)
    excess: FloatArray = support.pairs - expected
    own = np.arange(len(ones))
    alike = ones * (1 - 2 * product.slope) - n * size * product.level
    excess[own, own] = (excess[own, own] - alike) / 2
    return excess


def compute_pair_noise(support: SupportCounts) -> tuple[FloatArray, FloatArray]:
    """Return upper bounds on the variances of the excess, and on what one report can add to it.

    The products of different pairs do not covary where bits are independent; where they are not, each
    group is one position. The number of owners of a group is bounded from above by the sums, wrongly with
    `SLACK_PROBABILITY` in all (Hoeffding 1963).
    """
    bits, n, size, product = (
        support.bits,
        support.n,
        group_sizes(support.bits),
        CentredProduct.from_bits(support.bits),
    )
    q, p, more = float(bits.off), float(bits.own[1]), product.owned - product.unowned
    share = np.ones(len(size))
    if more > 0:
        margin = size * math.sqrt(math.log(len(size) / SLACK_PROBABILITY) / (2 * n))
        share = np.clip((support.sums / n - size * q + margin) / (p - q), 0.0, 1.0)
    alike = np.diag(size * (size - 1) / 2)
    pairs = np.where(np.eye(len(size)) > 0, alike, np.outer(size, size))
    owned = np.outer(share, size) + np.outer(size, share)
    owned = np.minimum(owned, np.maximum.outer(size, size))
    own = np.arange(len(size))
    owned[own, own] = share * (size - 1)
    return n * (pairs * product.unowned + owned * max(more, 0.0)), pairs * product.maximum


def compute_pair_deviations(support: SupportCounts) -> PairDeviations:
    """Return the deviation of each pair of groups, with Bernstein's bound: t^2 / (2 (V + b t / 3))."""
    excess = compute_pair_excess(support)
    variance, maximum = compute_pair_noise(support)
    deviation = np.abs(excess)
    possible = variance > 0  # a group of one position has no pairs within
    bound = np.where(possible, 2 * (variance + maximum * deviation / 3), 1.0)
    return PairDeviations(excess, np.where(possible, deviation**2 / bound, 0.0))


def compute_pair_p_value(support: SupportCounts, pairs: PairDeviations) -> float:
    """Return a bound on the probability that any two groups of honest reports deviate as much."""
    groups = support.bits.groups
    tests = groups * (groups + 1)  # two-sided
    return min(1.0, union_bound(tests, float(pairs.surprise.max())) + SLACK_PROBABILITY)
