"""Confidence intervals: estimates with standard errors and 95% intervals, single and simultaneous.

A single 95% interval contains the truth 19 times in 20, so of many intervals some miss it. Therefore every
estimate has two intervals: a single one, and a wider simultaneous one. The simultaneous intervals of one
prior, of one feature's table, or of one number's means, variances and missing shares all contain the truth
at once, 19 times in 20, however they depend on each other (Bonferroni).

An estimate outside the possible range has the interval of an estimate at the end of the range (Mandelkern and
Schultz 2000), and every interval is cut to the range. So the interval of a negative share shows how large the
share can still be. It contains what is possible of the interval around the estimate, so it is as valid.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from itertools import accumulate
from statistics import NormalDist

import numpy as np

from ldp_aggregator.arrays import BoolArray, FloatArray
from ldp_aggregator.codec import Infinite, require
from ldp_aggregator.estimation.discrete.covariance import LAPLACE_KURTOSIS, FrequencyCovariance, TableEstimate

Z95 = 1.959963984540054
"""Half the width of a 95% interval, in standard errors."""
SIMULTANEOUS_ERROR = 0.05
"""Probability, at most, that any of a set of simultaneous intervals misses."""
REPORT_GROWTHS = (1, 2, 10)
"""Factors on the number of reports for which margins are forecast."""

Bounds = tuple[float, float]
Interval = tuple[FloatArray, FloatArray]
Intervals = tuple[FloatArray, FloatArray, FloatArray, FloatArray]
"""Low and high ends of single intervals, then of simultaneous ones."""
PROBABILITY: Bounds = (0.0, 1.0)


@dataclass(frozen=True)
class IntervalEstimate:
    """Estimates, each with its standard error and 95% intervals; arrays of one shape."""

    value: FloatArray
    """Nearly unbiased, so it may be outside the possible range; NaN where nothing is known."""
    stderr: Infinite
    """Infinite where nothing is known."""
    low: FloatArray
    high: FloatArray
    """The 95% interval, cut to the possible range: [0, 1] for probabilities. Where nothing is known it is
    the whole range."""
    simultaneous_low: FloatArray
    simultaneous_high: FloatArray
    """Intervals that all contain the truth at once in 95% of surveys."""

    @classmethod
    def from_stderr(
        cls, value: FloatArray, stderr: FloatArray, bounds: Bounds = PROBABILITY
    ) -> IntervalEstimate:
        """Return estimates with the intervals value +- a multiple of the standard error, cut to `bounds`."""
        known = np.isfinite(value) & np.isfinite(stderr)
        middle = np.clip(np.where(known, value, (bounds[0] + bounds[1]) / 2), *bounds)

        def interval(z: float) -> Interval:
            half = np.where(known, z * stderr, bounds[1] - bounds[0])
            return np.clip(middle - half, *bounds), np.clip(middle + half, *bounds)

        return cls(value, stderr, *interval(Z95), *interval(simultaneous_z(value.size)))

    @classmethod
    def unknown(cls, shape: tuple[int, ...], bounds: Bounds = PROBABILITY) -> IntervalEstimate:
        """Return estimates of quantities on which there are no reports."""
        return cls.from_stderr(np.full(shape, math.nan), np.full(shape, math.inf), bounds)

    def stretch(self, single: float, simultaneous: float, bounds: Bounds = PROBABILITY) -> IntervalEstimate:
        """Return the estimates with the sides of their intervals multiplied, cut to `bounds`.

        The factors are at least 1; an interval that is the whole range stays.
        """
        # an unknown estimate has its whole range as interval
        value = np.clip(np.nan_to_num(self.value), *bounds)
        ends = []
        for low, high, factor in (
            (self.low, self.high, single),
            (self.simultaneous_low, self.simultaneous_high, simultaneous),
        ):
            ends += [
                np.clip(np.minimum(low, value - factor * (value - low)), *bounds),
                np.clip(np.maximum(high, value + factor * (high - value)), *bounds),
            ]
        return IntervalEstimate(self.value, self.stderr, *ends)

    def reshape(self, *shape: int) -> IntervalEstimate:
        """Return the same estimates as arrays of another shape."""
        return IntervalEstimate(*(each.reshape(shape) for each in vars(self).values()))

    def transpose(self) -> IntervalEstimate:
        """Return the same estimates with rows and columns exchanged."""
        return IntervalEstimate(*(each.T for each in vars(self).values()))

    def square_root(self) -> IntervalEstimate:
        """Return the square roots, with standard errors by the delta method; unknown unless above zero."""
        known = self.value > 0
        value = np.sqrt(np.where(known, self.value, np.nan))
        stderr = np.where(known, self.stderr / (2 * value), np.inf)
        ends = (self.low, self.high, self.simultaneous_low, self.simultaneous_high)
        return IntervalEstimate(value, stderr, *map(np.sqrt, ends))

    def check_entries(self) -> None:
        """Raise ValueError unless the arrays have one shape, and only estimates and errors are unknown."""
        shapes = {each.shape for each in vars(self).values()}
        require(len(shapes) == 1, "value, stderr, low and high: need one shape")
        require(bool((self.stderr >= 0).all()), "stderr: needs numbers of at least 0")
        ends = (self.low, self.high, self.simultaneous_low, self.simultaneous_high)
        require(bool(np.isfinite(ends).all()), "low and high: need numbers")


@lru_cache(maxsize=256)
def simultaneous_z(intervals: int) -> float:
    """Return the half-width, in standard errors, of this many simultaneous 95% intervals."""
    return NormalDist().inv_cdf(1 - SIMULTANEOUS_ERROR / (2 * max(intervals, 1)))


# -- intervals of frequencies and of ratios -------------------------------------------------------


def estimate_joint_intervals(frequencies: TableEstimate, k: int) -> IntervalEstimate:
    """Return P(value, label) of a coupled question, (A, k), with its intervals."""
    return _wilson(frequencies.raw.reshape(-1, k), frequencies.covariance)


def estimate_share_intervals(frequencies: TableEstimate, k: int) -> IntervalEstimate:
    """Return P(value) of a question, (A,), with its intervals: the sum over the k classes."""
    return _wilson(frequencies.raw.reshape(-1, k).sum(axis=1), frequencies.covariance.sum_classes(k))


def _wilson(value: FloatArray, covariance: FrequencyCovariance) -> IntervalEstimate:
    """Return frequencies with their intervals.

    The interval is Wilson's, with the noise of the mechanism: all f for which F is within 1.96 standard
    errors of f, computed as if f were the truth. It is valid for rare values too, whose counters are skewed.
    """
    if covariance.n == 0:
        return IntervalEstimate.unknown(value.shape)
    coefficients = covariance.cell_variance_coefficients()
    constant, linear, quadratic = (np.resize(each, value.shape) for each in coefficients)
    kurtosis = covariance.kurtosis.reshape(value.shape)
    intervals = ratio_intervals(
        value, np.ones_like(value), constant, linear, quadratic, value.size, kurtosis=kurtosis
    )
    return IntervalEstimate(value, np.sqrt(covariance.variance).reshape(value.shape), *intervals)


def estimate_conditional_intervals(frequencies: TableEstimate, k: int) -> IntervalEstimate:
    """Return P(value | label) of a coupled question, (A, k), with its intervals.

    The value is the ratio R = F[a, c] / G[c] of Yilmaz et al. 2019, section 3.1.2, before negatives are
    replaced; its standard error follows by the delta method, Var(F - R G) / G^2. The interval is Fieller's:
    all r for which F - r G is within 1.96 standard errors of 0, computed as if r were the truth. If a class
    is so rare that the ratio is not informative, the interval is [0, 1]; otherwise it agrees with the delta
    method.
    """
    joint = frequencies.raw.reshape(-1, k)
    if frequencies.n == 0:
        return IntervalEstimate.unknown(joint.shape)
    covariance = frequencies.covariance
    class_share = np.broadcast_to(joint.sum(axis=0), joint.shape)
    with_class, class_variance = covariance.class_covariances(k)
    known = class_share > 0
    ratio = np.divide(joint, class_share, out=np.full(joint.shape, math.nan), where=known)
    residual = covariance.variance.reshape(-1, k) - 2 * ratio * with_class + ratio**2 * class_variance
    stderr = np.sqrt(np.maximum(residual, 0.0)) / np.where(known, class_share, 1.0)
    coefficients = covariance.ratio_variance_coefficients(np.clip(class_share, 0.0, 1.0), len(joint))
    kurtosis = covariance.ratio_kurtosis(np.where(known, ratio, 0.0), coefficients, len(joint))
    intervals = ratio_intervals(joint, class_share, *coefficients, joint.size, kurtosis=kurtosis)
    return IntervalEstimate(ratio, np.where(known, stderr, math.inf), *intervals)


def ratio_intervals(
    top: FloatArray,
    bottom: FloatArray,
    constant: FloatArray,
    linear: FloatArray,
    quadratic: FloatArray,
    count: float,
    bounds: Bounds = PROBABILITY,
    kurtosis: FloatArray | float = 0.0,
) -> Intervals:
    """Return Fieller's intervals {r : (top - r bottom)^2 <= z^2 Var(top - r bottom)}, cut to `bounds`.

    The variance is constant + linear r + quadratic r^2. The simultaneous intervals are those of `count`
    ratios. Where the top is unknown (NaN), or the bottom is not distinguishable from zero, the set is
    unbounded and is cut to `bounds`. z follows from the excess kurtosis of top - r bottom, see
    :mod:`intervals`.
    """
    known, positive = np.isfinite(top), np.where(bottom > 0, bottom, 1.0)
    top = np.clip(top, bounds[0] * positive, bounds[1] * positive)
    # both intervals at once, along the first axis: the single one, then the simultaneous one
    errors = SIMULTANEOUS_ERROR, SIMULTANEOUS_ERROR / max(count, 1)
    z2 = np.stack([np.broadcast_to(find_quantiles(error, kurtosis), top.shape) for error in errors]) ** 2
    square = bottom**2 - z2 * quadratic
    middle = top * bottom + z2 * linear / 2
    rest = top**2 - z2 * constant
    bounded = (square > 0) & (bottom > 0) & known
    root = np.sqrt(np.maximum(middle**2 - square * rest, 0.0))
    divisor = np.where(bounded, square, 1.0)
    lows = np.where(bounded, np.clip((middle - root) / divisor, *bounds), bounds[0])
    highs = np.where(bounded, np.clip((middle + root) / divisor, *bounds), bounds[1])
    # near 1 rounding can put the estimate outside its interval, or that outside the simultaneous one
    inside = np.clip(np.where(known, top, bounds[0]) / np.where(bottom > 0, bottom, np.inf), *bounds)
    low, high = np.minimum(lows[0], inside), np.maximum(highs[0], inside)
    return low, high, np.minimum(lows[1], low), np.maximum(highs[1], high)


def detect_non_uniform_classes(prior: IntervalEstimate) -> BoolArray:
    """Return for which classes, (k,), the simultaneous interval of the prior does not contain 1/k."""
    k = len(prior.value)
    return (prior.simultaneous_low > 1 / k) | (prior.simultaneous_high < 1 / k)


# -- margins of error -----------------------------------------------------------------------------


def compute_typical_margins(estimate: IntervalEstimate) -> FloatArray:
    """Return half the width of a typical 95% interval, per class; infinite if an estimate is unknown.

    Parameters
    ----------
    estimate : IntervalEstimate
        (k,) or (A, k); of a table, the root mean square over the values of each class.
    """
    rows = estimate.stderr.reshape(-1, estimate.stderr.shape[-1])
    margins: FloatArray = Z95 * np.sqrt(np.mean(rows**2, axis=0))
    return margins


def forecast_margins(estimate: IntervalEstimate) -> dict[int, FloatArray]:
    """Return the margins per class with the reports so far, and with 2 and 10 times as many.

    Every standard error falls with the square root of the number of reports.
    """
    margins = compute_typical_margins(estimate)
    return {growth: margins / math.sqrt(growth) for growth in REPORT_GROWTHS}


# -- quantiles of noise with heavy tails ------------------------------------------------------------
# Quantiles of estimates whose noise has heavier tails than a normal distribution.
#
# The noise of a silo's count is discrete Laplace. Its excess kurtosis is 3, that of a sum of m such noises
# 3/m. So intervals from few silos need more standard errors than those from many reports. An estimate with
# excess kurtosis K has the quantiles of a sum of 3/K Laplace noises, interpolated between whole numbers of
# them; with K = 0 they are those of a normal distribution.


_TERMS = (32, 24, 16, 12, 8, 6, 5, 4, 3, 2, 1)
"""Numbers of noises whose quantiles are computed; below 3/32 the quantiles are nearly linear in K."""


def find_quantiles(error: float, kurtosis: FloatArray | float) -> FloatArray:
    """Return the z for which an estimate is more than z standard errors wrong with probability `error`.

    Parameters
    ----------
    error : float
        The probability, of both sides together.
    kurtosis : array or float
        Excess kurtosis; below 0 counts as 0, above 3 as 3.
    """
    if np.all(np.less_equal(kurtosis, 0)):  # reports of devices: no table is needed
        return np.full(np.shape(kurtosis), _normal_quantile(error))
    return np.asarray(np.interp(kurtosis, *_quantile_table(error)))


@lru_cache(maxsize=512)
def _quantile_table(error: float) -> tuple[FloatArray, FloatArray]:
    """Return values of the excess kurtosis from 0 to 3, and the quantile at each."""
    kurtosis = [0.0, *(LAPLACE_KURTOSIS / terms for terms in _TERMS)]
    quantiles = [_normal_quantile(error), *(_laplace_quantile(error, each) for each in _TERMS)]
    return np.array(kurtosis), np.array(quantiles)


@lru_cache(maxsize=512)
def _normal_quantile(error: float) -> float:
    return NormalDist().inv_cdf(1 - error / 2)


def _laplace_quantile(error: float, terms: int) -> float:
    """Return the quantile of a standardised sum of Laplace noises."""
    return invert_tail(lambda z: laplace_tail(z, terms), error)


def invert_tail(tail: Callable[[float], float], level: float) -> float:
    """Return the x above 0 at which a decreasing tail probability reaches `level`, by bisection."""
    low, high = 0.0, 1.0
    while tail(high) > level:
        low, high = high, 2 * high
    while high - low > 1e-12 * high:
        middle = (low + high) / 2
        low, high = (middle, high) if tail(middle) > level else (low, middle)
    return high


def laplace_tail(z: float, terms: int) -> float:
    """Return the probability that a standardised sum of Laplace noises exceeds z in absolute value.

    The density of a sum of m noises of scale 1 is e^-|x| times a polynomial of |x|, whose integral is a sum
    of incomplete gamma functions of whole order. All terms are positive.
    """
    x = z * math.sqrt(2 * terms)
    powers = (math.exp(i * math.log(x) - math.lgamma(i + 1)) if x > 0 else i == 0 for i in range(terms))
    total = 0.0
    for order, power_sum in enumerate(accumulate(powers), 1):
        j = terms - order
        log_weight = math.lgamma(terms + j) - math.lgamma(j + 1) - j * math.log(2)
        total += math.exp(log_weight - x) * power_sum
    return 2 * total * math.exp(-math.lgamma(terms) - terms * math.log(2))
