"""Goodness-of-fit tests: whether the counters of a question fit reports that devices randomised.

A report that is invented to raise t values at once (the maximal gain attack of Cao, Jia and Gong 2021) has
an improbable number of ones or, if it is padded to the right number, ones at the same positions as other
fake reports. Both distributions are known from the mechanism's tables, whatever people answered.

Every p-value is an upper bound for any number of reports, not an approximation for many. The tail bounds are
Chernoff's and Bernstein's, added up over all tests (Bonferroni).
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass

import numpy as np

from encoders.mechanisms.support_counters import SupportCounters
from ldp_aggregator.arrays import FloatArray, IntArray

_SLACK_PROBABILITY = 1e-12
"""Probability that the bounds on the numbers of people with each value, on which the noise depends, fail."""


@dataclass(frozen=True)
class SupportCounts:
    """Counts of the ones in n reports, see :meth:`SupportCounters.count`."""

    bits: SupportCounters
    sizes: IntArray
    """Number of reports with each number of ones. Shape (len(bits.sizes),)."""
    sums: IntArray
    """Number of ones in each group of positions. Shape (groups,)."""
    pairs: IntArray
    """Sums of the products of two groups' ones; symmetric. Shape (groups, groups)."""

    @classmethod
    def from_cells(cls, bits: SupportCounters, cells: IntArray) -> SupportCounts:
        sizes, sums, upper = np.split(cells, np.cumsum([len(bits.sizes), bits.groups]))
        pairs = np.zeros((bits.groups, bits.groups), dtype=np.int64)
        pairs[np.triu_indices(bits.groups)] = upper
        return cls(bits, sizes, sums, np.maximum(pairs, pairs.T))

    @property
    def joint_ones(self) -> FloatArray:
        """Numbers of pairs of ones at position i in group g and j in group h; on the diagonal i < j."""
        own = np.diag(self.sums)
        return np.asarray((self.pairs - own) / np.where(np.eye(len(own)) > 0, 2, 1), dtype=np.float64)

    @property
    def n(self) -> int:
        return int(self.sizes.sum())


# -- size test: the number of ones in a report ----------------------------------------------------


def compute_size_distribution(bits: SupportCounters, own: float) -> FloatArray:
    """Return P(number of ones) over `bits.sizes`: one bit is 1 with probability `own`, others with `off`."""
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

    Two-sided tests of how many reports have each number of ones, and of how many have at most that many.
    Each count is binomial, and its tail is at most e^(-n KL(share || probability)). Where the probability
    depends on the person's number (sign-vector), the count is a sum of bits of different probabilities, for
    which the bound at the nearest probability holds too (Hoeffding 1956).
    """
    if support.n == 0:
        return 1.0
    laws = np.stack([compute_size_distribution(support.bits, float(own)) for own in support.bits.own])
    chances = np.concatenate([laws, laws.cumsum(axis=1)[:, :-1]], axis=1)
    counts = np.concatenate([support.sizes, support.sizes.cumsum()[:-1]])
    surprise = support.n * _divergence(counts / support.n, chances.min(axis=0), chances.max(axis=0))
    return _union_bound(2 * len(counts), float(surprise.max()))


def _divergence(share: FloatArray, low: FloatArray, high: FloatArray) -> FloatArray:
    """Return KL(share || the nearest probability in [low, high]); 0 within these."""
    chance = np.clip(share, low, high)
    # extreme probabilities underflow, and sums of them round to more than 1; clipping only raises p-values
    chance = np.clip(chance, 1e-300, 1 - 1e-15)
    rest = 1 - share
    with np.errstate(divide="ignore", invalid="ignore"):
        up = np.where(share > 0, share * np.log(share / chance), 0.0)
        down = np.where(rest > 0, rest * (np.log(rest) - np.log1p(-chance)), 0.0)
    return np.where((share >= low) & (share <= high), 0.0, np.maximum(up + down, 0.0))


# -- pair test: ones that occur in the same report ------------------------------------------------


@dataclass(frozen=True)
class CentredProduct:
    """The product of two bits without its expectation: x_i x_j - a (x_i + x_j) - b has mean zero.

    At most one of two positions is the owner's, that of the person's own value. So the two bits have one of
    two distributions. The means of x_i x_j and of x_i + x_j under both determine a and b, and nothing needs
    to be estimated. Where bits are independent, the product is (x_i - q)(x_j - q).
    """

    slope: float
    level: float
    """a and b."""
    unowned: float
    owned: float
    """Variance of the product if none, and if one of the positions is the owner's."""
    maximum: float
    """Largest absolute value of the product."""

    @classmethod
    def from_bits(cls, bits: SupportCounters) -> CentredProduct:
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

    def sum_pairs(self, ones: int, size: int) -> float:
        """Return the sum over all pairs of `size` positions, of which so many are 1."""
        return (ones * (ones - 1) - self.level * size * (size - 1)) / 2 - self.slope * ones * (size - 1)


@dataclass(frozen=True)
class PairDeviations:
    excess: FloatArray
    """Sum over reports, and over pairs of positions i in g, j in h, of their `CentredProduct`."""
    surprise: FloatArray
    """The probability of an excess at least as large is at most 2 e^-surprise."""


def compute_pair_excess(support: SupportCounts) -> FloatArray:
    """Return the sums of `CentredProduct` over reports and pairs i in g, j in h; on the diagonal i < j.

    For an honest report the mean is zero, whatever the answer. With c the sums, |g| the number of positions
    in a group, and N the sums of x_i x_j, it is N - a |h| c_g - a |g| c_h - n b |g| |h|. Within a group it is
    half of that, after subtracting the terms i = j, c (1 - 2a) - n |g| b.
    """
    n, ones, product = support.n, support.sums.astype(np.float64), CentredProduct.from_bits(support.bits)
    size = _group_sizes(support.bits)
    mixed = np.outer(ones, size)
    expected = product.slope * (mixed + mixed.T) + n * product.level * np.outer(size, size)
    excess: FloatArray = support.pairs - expected
    own = np.arange(len(ones))
    alike = ones * (1 - 2 * product.slope) - n * size * product.level
    excess[own, own] = (excess[own, own] - alike) / 2
    return excess


def compute_pair_noise(support: SupportCounts) -> tuple[FloatArray, FloatArray]:
    """Return upper bounds on the variances of the excess, and on what one report can add to it.

    Where bits are independent, the products of different pairs do not covary; for sets, `compute_set_noise`
    is used. The sums give an upper bound on the number of owners of each group. The probability that any of
    these bounds fails is at most `_SLACK_PROBABILITY` (Hoeffding 1963).
    """
    bits, n, size = support.bits, support.n, _group_sizes(support.bits)
    if bits.ones is None:
        product, own = CentredProduct.from_bits(bits), np.eye(len(size))
        pairs = size[:, None] * (size - own) / (1 + own)
        unowned, maximum = pairs * product.unowned, pairs * product.maximum
        more = (size - own) * max(product.owned - product.unowned, 0.0)
    else:
        each = list(enumerate(map(int, size)))
        table = [[(a,) if g == h else (a, b) for h, b in each] for g, a in each]
        noise = {sizes: compute_set_noise(bits, sizes) for sizes in {*itertools.chain(*table)}}
        found = np.array([[noise[sizes] for sizes in row] for row in table])
        unowned, more, maximum = np.moveaxis(found, -1, 0)
    q, p, share = float(bits.off), float(bits.own[1]), np.ones(len(size))
    if more.any():
        margin = size * math.sqrt(math.log(len(size) / _SLACK_PROBABILITY) / (2 * n))
        share = np.clip((support.sums / n - size * q + margin) / (p - q), 0.0, 1.0)
    owned = share[:, None] * more
    both = np.minimum(owned + owned.T, np.maximum(more, more.T))
    return n * (unowned + np.where(np.eye(len(size)) > 0, owned, both)), maximum


def compute_set_noise(bits: SupportCounters, sizes: tuple[int, ...]) -> tuple[float, float, float]:
    """Return what one set of a fixed size adds to the excess of one or two groups with so many positions.

    The numbers of ones in the groups are hypergeometric, because the other members are drawn at random.
    Returns the variance if no group is the owner's, by how much more it is if the first is, and the largest
    absolute value.
    """
    assert bits.ones is not None
    product, p, variances, maximum = CentredProduct.from_bits(bits), float(bits.own[1]), [0.0, 0.0], 0.0
    for owner, own in itertools.product((0, 1), repeat=2):
        others, left = (sizes[0] - owner, *sizes[1:]), bits.ones - own
        rest = bits.length - 1 - sum(others)
        for counts in itertools.product(*(range(each + 1) for each in others)):
            if 0 <= left - sum(counts) <= rest:
                ways = math.prod(map(math.comb, others, counts)) * math.comb(rest, left - sum(counts))
                ones = (counts[0] + owner * own, *counts[1:])
                excess = product.sum_pairs(sum(ones), sum(sizes))
                excess -= sum(map(product.sum_pairs, ones, sizes)) * (len(sizes) > 1)
                chance = (p if own else 1 - p) * ways / math.comb(bits.length - 1, left)
                variances[owner] += chance * excess**2
                maximum = max(maximum, abs(excess))
    return variances[0], max(variances[1] - variances[0], 0.0), maximum


def compute_pair_deviations(support: SupportCounts) -> PairDeviations:
    """Return the deviation of each pair of groups, with Bernstein's bound: t^2 / (2 (V + b t / 3))."""
    excess = compute_pair_excess(support)
    variance, maximum = compute_pair_noise(support)
    deviation = np.abs(excess)
    possible = variance > 0  # a group of one position contains no pairs
    bound = np.where(possible, 2 * (variance + maximum * deviation / 3), 1.0)
    return PairDeviations(excess, np.where(possible, deviation**2 / bound, 0.0))


def compute_pair_p_value(support: SupportCounts, pairs: PairDeviations) -> float:
    groups = support.bits.groups
    tests = groups * (groups + 1)  # two-sided
    return min(1.0, _union_bound(tests, float(pairs.surprise.max())) + _SLACK_PROBABILITY)


def _group_sizes(bits: SupportCounters) -> FloatArray:
    return np.bincount(np.arange(bits.length) % bits.groups).astype(np.float64)


def _union_bound(tests: int, surprise: float) -> float:
    """Return a bound on the p-value of the most extreme of several tests, each bounded by e^-surprise."""
    return min(1.0, tests * math.exp(-surprise))
