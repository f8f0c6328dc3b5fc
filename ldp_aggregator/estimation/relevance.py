"""Relevance: how much of the label a feature explains, between 0 and 1.

For a table it is based on Pearson's mean square contingency, phi^2 = sum (P(x, c) - P(x) P(c))^2 /
(P(x) P(c)), for a number on eta^2, the share of its variance that lies between the classes. Both are sums
of squared canonical correlations with the label, of which there are at most k - 1. Relevance is this sum
divided by k - 1. With two classes it is the R^2 of the label given the feature.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from ldp_aggregator.arrays import FloatArray
from ldp_aggregator.codec import InfiniteNumber, require
from ldp_aggregator.estimation.bayes.posterior import estimate_value_shares
from ldp_aggregator.estimation.discrete.frequencies import TableEstimate
from ldp_aggregator.estimation.estimators import Gaussian
from ldp_aggregator.estimation.intervals import Z95, IntervalEstimate, ratio_intervals

MAX_NOISE_MARGIN = 1 / 4
"""An interval is the whole range if noise alone would have a larger margin, as a share of the range.

The margin is 1.96 standard errors at a relevance of 0. It depends on the noise and hardly on the estimate.
Otherwise, only the few estimates that noise made far too large would have an informative interval.
"""


@dataclass(frozen=True)
class Relevance:
    estimate: IntervalEstimate
    """Shape (). The mean contribution of noise is subtracted, so the value may be below 0."""
    noise: InfiniteNumber
    """The mean relevance of pure noise, which was subtracted from the value. Infinite without reports."""
    maximum: float = 1.0
    """The largest possible relevance: below 1 for a number, and for a feature with fewer values than
    classes."""

    def check_entries(self) -> None:
        require(self.estimate.value.shape == (), "estimate: needs numbers")


UNKNOWN = Relevance(IntervalEstimate.unknown(()), math.inf)


def compute_relevance(conditional: FloatArray | Gaussian, prior: FloatArray) -> float:
    """Return the relevance of a feature, computed from the classifier's smoothed probabilities.

    For a number that can be missing, the relevance of whether it is missing is added. `conditional` has the
    shape (A, k), `prior` (k,).
    """
    if not isinstance(conditional, Gaussian):
        return _phi_square(conditional, prior) / (len(prior) - 1)
    within = float(prior @ conditional.variance)
    between = float(prior @ (conditional.mean - prior @ conditional.mean) ** 2)
    missing = conditional.missing
    absent = 0.0 if missing is None else _phi_square(np.stack([missing, 1 - missing]), prior)
    return min(between / (between + within) + absent, 1.0) / (len(prior) - 1)


def _phi_square(table: FloatArray, prior: FloatArray) -> float:
    shares = (table @ prior)[:, None]
    squares = np.divide((table - shares) ** 2, shares, out=np.zeros_like(table), where=shares > 0)
    return float((squares * prior).sum())


def estimate_table_relevance(frequencies: TableEstimate | None, prior: FloatArray) -> Relevance:
    """Return a discrete feature's relevance, computed from its raw estimates.

    The value may be below 0; it is unbiased except for its estimated divisors P(x) and P(c). The interval is
    of Wilson's kind: all r within 1.96 standard errors of the value, computed as if r were the truth.
    """
    k = len(prior)
    if frequencies is None or k == 1:
        return UNKNOWN
    table = frequencies.raw.reshape(-1, k)
    size = len(table)
    if frequencies.n == 0 or size < 2:
        return UNKNOWN
    # f is centred in both directions, then squared over P(x) P(c): along x by P'UP with P = 1 - 11'/A
    weights = 1 / estimate_value_shares([frequencies], k)[0]
    shared = (weights.mean() / 2 - weights) / size
    across = (np.eye(k) - prior[:, None]).T / np.sqrt(prior)
    variance = frequencies.covariance.independent_variance.reshape(-1, k)
    fourth = frequencies.covariance.fourth
    square = _unbiased_square(table, variance, weights, shared, across @ across.T, fourth)
    maximum = (min(size, k) - 1) / (k - 1)
    estimate = _ratio_estimate(square, 1.0, 0.0, maximum=maximum, scale=k - 1)
    return Relevance(estimate, square.expected_noise / (k - 1), maximum)


def estimate_number_relevance(
    means: IntervalEstimate, variances: IntervalEstimate, missing: IntervalEstimate | None, prior: FloatArray
) -> Relevance:
    """Return a number's relevance, computed from its raw estimates.

    The interval is that of the ratio of two noisy variances: between the classes, and within them. For a
    number that can be missing, the relevance of whether it is missing is added. `means`, `variances` and
    `missing` are of each class, (k,); `missing` is P(missing | label), None if the number cannot be missing.
    `prior` is P(label), (k,), above zero.
    """
    k = len(prior)
    if k == 1 or not (np.isfinite(means.stderr).all() and np.isfinite(variances.stderr).all()):
        return UNKNOWN
    zero = np.zeros(1)
    centring = np.diag(prior) - np.outer(prior, prior)
    between = _unbiased_square(means.value[None], means.stderr[None] ** 2, zero + 1, zero, centring)
    within, within_variance = float(prior @ variances.value), float(prior**2 @ variances.stderr**2)
    ratio = _ratio_estimate(between, within, within_variance, maximum=math.inf, scale=1)

    def to_share(odds: FloatArray) -> FloatArray:
        return np.asarray((1 - 1 / (1 + np.maximum(odds, 0)) + np.minimum(odds, 0)) / (k - 1))

    stderr = np.asarray(ratio.stderr / (1 + np.maximum(ratio.value, 0)) ** 2 / (k - 1))
    ends = (ratio.low, ratio.high, ratio.simultaneous_low, ratio.simultaneous_high)
    estimate = IntervalEstimate(to_share(ratio.value), stderr, *map(to_share, ends))
    noise = between.expected_noise / max(within, math.sqrt(within_variance)) / (k - 1)
    present = Relevance(estimate, noise, 1 / (k - 1))
    return present if missing is None else _add(present, _missing_relevance(missing, prior))


def _missing_relevance(missing: IntervalEstimate, prior: FloatArray) -> Relevance:
    k = len(prior)
    if not np.isfinite(missing.stderr).all():
        return UNKNOWN
    error = float(np.sqrt(prior**2 @ missing.stderr**2))
    share = float(np.clip(prior @ missing.value, min(error, 0.5), 1 - min(error, 0.5)))
    columns = (np.diag(prior) - np.outer(prior, prior)) / (share * (1 - share))
    square = _unbiased_square(
        missing.value[None], missing.stderr[None] ** 2, np.ones(1), np.zeros(1), columns
    )
    estimate = _ratio_estimate(square, 1.0, 0.0, maximum=1 / (k - 1), scale=k - 1)
    return Relevance(estimate, square.expected_noise / (k - 1), 1 / (k - 1))


def _add(one: Relevance, other: Relevance) -> Relevance:
    """Return the sum of two relevances; distances to the ends of their intervals add up in squares."""
    if not (math.isfinite(one.noise) and math.isfinite(other.noise)):
        return UNKNOWN
    estimates, maximum = (one.estimate, other.estimate), one.maximum
    inside = [np.clip(each.value, each.low, each.high) for each in estimates]
    below = np.hypot(*(value - each.low for value, each in zip(inside, estimates, strict=True)))
    above = np.hypot(*(each.high - value for value, each in zip(inside, estimates, strict=True)))
    low = np.asarray(np.clip(sum(inside) - below, 0.0, maximum))
    high = np.asarray(np.clip(sum(inside) + above, 0.0, maximum))
    if any(each.estimate.low <= 0 and each.estimate.high >= each.maximum for each in (one, other)):
        low, high = np.zeros(()), np.asarray(maximum)
    value = np.asarray(one.estimate.value + other.estimate.value)
    stderr = np.asarray(np.hypot(one.estimate.stderr, other.estimate.stderr))
    total = IntervalEstimate(value, stderr, low, high, low, high)
    return Relevance(total, one.noise + other.noise, maximum)


class _UnbiasedSquare(NamedTuple):
    """A quadratic form of noisy cells; `expected_noise`, the mean of its noise, is subtracted.

    The variance is `noise` plus `slope` times the true value.
    """

    value: float
    expected_noise: float
    noise: InfiniteNumber
    slope: float


def _unbiased_square(
    value: FloatArray,
    variance: FloatArray,
    weights: FloatArray,
    shared: FloatArray,
    columns: FloatArray,
    fourth: float = 0.0,
) -> _UnbiasedSquare:
    """Estimate v'(rows x columns)v at the true v, where rows = diag(weights) + shared 1' + 1 shared'.

    The cells of v, (A, k), are unbiased and independent with the given variances; the mean of their noise is
    subtracted. The slope is computed from the gradient at v. `fourth` is the fourth cumulant of each cell's
    noise, which is 0 if the noise is normal.
    """
    applied = (weights[:, None] * value + np.outer(shared, value.sum(axis=0)) + shared @ value) @ columns
    total = float((value * applied).sum())
    diagonal = weights + 2 * shared
    expected_noise = float(diagonal @ variance @ np.diag(columns))
    # the squares of the rows' entries: (s_i + s_j)^2, but on the diagonal (w_i + 2 s_i)^2
    squared = np.outer(shared**2, variance.sum(axis=0)) + 2 * np.outer(shared, shared @ variance)
    squared = squared + shared**2 @ variance
    squared += (diagonal**2 - 4 * shared**2)[:, None] * variance
    noise = 2 * float((variance * (squared @ columns**2)).sum())
    noise += fourth * float((np.outer(diagonal, np.diag(columns)) ** 2).sum())
    slope = 4 * float((variance * applied**2).sum()) / total if total > 0 else 0.0
    return _UnbiasedSquare(total - expected_noise, expected_noise, noise, slope)


def _ratio_estimate(
    square: _UnbiasedSquare, total: float, total_variance: float, *, maximum: float, scale: int
) -> IntervalEstimate:
    """Return square / (total * scale); an infinite maximum means odds, with shares odds / (1 + odds)."""
    top = square.value / scale
    intervals = ratio_intervals(
        np.asarray(top),
        np.asarray(total),
        constant=np.asarray(square.noise / scale**2),
        linear=np.asarray(square.slope * total / scale),
        quadratic=np.asarray(0.0 + total_variance),
        count=1,
        bounds=(0.0, maximum),
    )
    total = max(total, math.sqrt(total_variance))  # a smaller total is not distinguishable from this
    value = top / total
    variance = square.noise / scale**2 + square.slope / scale * max(top, 0.0) + value**2 * total_variance
    noise_margin = Z95 * math.sqrt(square.noise) / scale / total
    share = noise_margin / maximum if math.isfinite(maximum) else noise_margin / (1 + noise_margin)
    if share > MAX_NOISE_MARGIN:
        whole = np.zeros(()), np.asarray(maximum)
        intervals = (*whole, *whole)
    return IntervalEstimate(np.asarray(value), np.asarray(math.sqrt(variance) / total), *intervals)
