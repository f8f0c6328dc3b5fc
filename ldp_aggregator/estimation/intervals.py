"""Confidence intervals: estimates with standard errors and 95% intervals, single and simultaneous.

The simultaneous intervals of one prior, of one feature's table, or of one number's means, variances and
missing shares all contain the truth at once, 19 times in 20 (Bonferroni). An estimate outside the possible
range has the interval of one at its end (Mandelkern and Schultz 2000), and every interval is cut to the
range: that of a negative share shows how large the share can still be.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache, reduce
from statistics import NormalDist

import numpy as np

from ldp_aggregator.arrays import BoolArray, FloatArray
from ldp_aggregator.codec import Infinite, require
from ldp_aggregator.estimation.discrete.covariance import FrequencyCovariance
from ldp_aggregator.estimation.discrete.frequencies import TableEstimate
from ldp_aggregator.estimation.tail_quantiles import find_quantiles

Z95 = 1.959963984540054
"""Half the width of a 95% interval, in standard errors."""
SIMULTANEOUS_ERROR = 0.05
"""Probability, at most, that any of a set of simultaneous intervals misses."""
REPORT_GROWTHS = (1, 2, 10)
"""Factors on the number of reports for which margins are forecast."""

_NO_SKEWNESS, _MOST_SKEWNESS = 1e-6, 1e4
"""A smaller skewness counts as the first one, which is nearly a normal distribution; a larger one as the
second, where one supporting report is expected from 1e8 people."""
_LEAST_VARIANCE = 1e-40
"""A smaller variance counts as this one; rounding can make it negative."""
_NODES = np.linspace(0.0, 1.0, 5)
_TO_COEFFICIENTS = np.linalg.inv(np.vander(_NODES))
"""Converts a polynomial's values at the nodes to its coefficients."""
_STEPS, _PRECISION = 60, 1e-13
"""Steps of a search for the end of an interval, at most, and its precision."""

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
        """Multiply the sides of the intervals by factors of at least 1, and cut them to `bounds`."""
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
        return IntervalEstimate(*(each.reshape(shape) for each in vars(self).values()))

    def transpose(self) -> IntervalEstimate:
        return IntervalEstimate(*(each.T for each in vars(self).values()))

    def square_root(self) -> IntervalEstimate:
        """Return the square roots, with standard errors by the delta method; unknown unless above zero."""
        known = self.value > 0
        value = np.sqrt(np.where(known, self.value, np.nan))
        stderr = np.where(known, self.stderr / (2 * value), np.inf)
        ends = (self.low, self.high, self.simultaneous_low, self.simultaneous_high)
        return IntervalEstimate(value, stderr, *map(np.sqrt, ends))

    def check_entries(self) -> None:
        shapes = {each.shape for each in vars(self).values()}
        require(len(shapes) == 1, "value, stderr, low and high: need one shape")
        require(bool((self.stderr >= 0).all()), "stderr: needs numbers of at least 0")
        ends = (self.low, self.high, self.simultaneous_low, self.simultaneous_high)
        require(bool(np.isfinite(ends).all()), "low and high: need numbers")


@lru_cache(maxsize=256)
def simultaneous_z(intervals: int) -> float:
    return NormalDist().inv_cdf(1 - SIMULTANEOUS_ERROR / (2 * max(intervals, 1)))


# -- intervals of frequencies and of ratios -------------------------------------------------------
# The interval of a frequency contains every f at which the estimate F is not too far from f: Wilson's
# interval, with the noise of the mechanism. The interval of a ratio of two sums of frequencies contains every
# r at which top - r bottom is not too far from 0 (Fieller). Both use the variance and the third cumulant that
# the estimate has if f or r is the truth. So they hold for rare values, which few reports support.


def estimate_joint_intervals(
    frequencies: TableEstimate, k: int, count: int | None = None
) -> IntervalEstimate:
    """Return P(value, label), (A, k), with intervals, of which `count`, by default all, are simultaneous."""
    return estimate_cells(frequencies.raw.reshape(-1, k), frequencies.covariance, count)


def estimate_share_intervals(
    frequencies: TableEstimate, k: int, count: int | None = None
) -> IntervalEstimate:
    """Return P(value) of a question, (A,), with its intervals: the sum over the k classes."""
    shares = frequencies.raw.reshape(-1, k).sum(axis=1)
    return estimate_cells(shares, frequencies.covariance.sum_cells(k, axis=1), count)


def estimate_cells(
    value: FloatArray, covariance: FrequencyCovariance, count: int | None = None
) -> IntervalEstimate:
    if covariance.n == 0:
        return IntervalEstimate.unknown(value.shape)
    others = covariance.distribution.size - 1

    def find_moments(share: FloatArray) -> tuple[FloatArray, FloatArray]:
        masses = np.stack([share, 1 - share])
        return covariance.contrast_moments(_by_group(masses, 1, 0), _by_group(masses, 1, others), masses)

    kurtosis = covariance.kurtosis.reshape(value.shape)
    bottom = np.ones_like(value)
    intervals = invert_test(
        value, bottom, find_moments, count or value.size, kurtosis, covariance.step, is_count=True
    )
    return IntervalEstimate(value, np.sqrt(covariance.variance).reshape(value.shape), *intervals)


def estimate_conditional_intervals(
    frequencies: TableEstimate, k: int, count: int | None = None
) -> IntervalEstimate:
    """Return P(value | label) of a coupled question, (A, k), with its intervals.

    The value is the ratio R = F[a, c] / G[c] of Yilmaz et al. 2019, section 3.1.2, before negatives are
    replaced; its standard error follows by the delta method, Var(F - R G) / G^2. If a class is so rare that
    the ratio is not informative, the interval is [0, 1].
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
    mass, size = np.clip(class_share, 0.0, 1.0), len(joint)
    coefficients = covariance.ratio_variance_coefficients(mass, size)
    kurtosis = covariance.ratio_kurtosis(np.where(known, ratio, 0.0), coefficients, size)

    def find_moments(r: FloatArray) -> tuple[FloatArray, FloatArray]:
        masses = np.stack([r * mass, (1 - r) * mass, np.broadcast_to(1 - mass, r.shape)])
        members = _by_group(masses, 1, size - 1, joint.size - size)
        return covariance.contrast_moments(np.stack([1 - r, -r, np.zeros_like(r)]), members, masses)

    intervals = invert_test(joint, class_share, find_moments, count or joint.size, kurtosis, covariance.step)
    return IntervalEstimate(ratio, np.where(known, stderr, math.inf), *intervals)


def _by_group(masses: FloatArray, *numbers: float) -> FloatArray:
    """Return one number for each group of cells, with as many axes as their masses."""
    return np.reshape(np.array(numbers, dtype=np.float64), (-1, *[1] * (masses.ndim - 1)))


def invert_test(
    top: FloatArray,
    bottom: FloatArray,
    find_moments: Callable[[FloatArray], tuple[FloatArray, FloatArray]],
    count: float,
    kurtosis: FloatArray | float = 0.0,
    step: float = 0.0,
    is_count: bool = False,
) -> Intervals:
    """Return the intervals of top / bottom, between 0 and 1: the true ratios that a test does not reject.

    Where the top is unknown (NaN), or the bottom is not above 0, the interval is the whole range.

    `find_moments` takes possible true ratios, with one more axis at the front. It returns the variance and
    the third cumulant of top - ratio bottom, which must be polynomials of the ratio, of degree 4 at most.
    `count` is the number of simultaneous intervals, and `kurtosis` the excess kurtosis of top - ratio bottom.

    `step` is the change of the top by one supporting report. Half of it is the margin with which the test
    includes the whole probability of the estimate (Clopper and Pearson 1934); `is_count` says whether this is
    so for the single intervals too. A ratio of two sums has many more values than a count, so a quarter is
    enough, which includes about half of the probability (mid-P).
    """
    known = np.isfinite(top) & (bottom > 0)
    bottom = np.where(known, bottom, 1.0)
    estimate = np.clip(np.where(known, top, 0.5) / bottom, 0.0, 1.0)
    errors = SIMULTANEOUS_ERROR, SIMULTANEOUS_ERROR / max(count, 1)
    limits = np.stack([np.broadcast_to(find_quantiles(error, kurtosis), top.shape) for error in errors])
    margins = np.reshape([step / 2 if is_count else step / 4, step / 2], (2, *[1] * (top.ndim + 1)))
    nodes = np.broadcast_to(_NODES.reshape(-1, *[1] * top.ndim), (len(_NODES), *top.shape))
    polynomials = [np.tensordot(_TO_COEFFICIENTS, each, 1) for each in find_moments(nodes)]

    def find_excess(ratio: FloatArray) -> FloatArray:
        # along the first axis the single and the simultaneous interval, along the second the low and high end
        variance, third = (reduce(lambda sum_, each: sum_ * ratio + each, rows) for rows in polynomials)
        distance = (estimate - ratio) * bottom
        distance = np.sign(distance) * np.maximum(np.abs(distance) - margins, 0.0)
        return standardise(distance, variance, third) - limits[:, None]

    inside = np.broadcast_to(estimate, (2, 2, *top.shape))
    outside = np.stack([np.zeros_like(inside[:, 0]), np.ones_like(inside[:, 1])], axis=1)
    ends = np.where(known, find_crossing(find_excess, inside, outside), outside)
    (low, high), (lowest, highest) = ends
    return low, high, np.minimum(lowest, low), np.maximum(highest, high)


def standardise(distance: FloatArray, variance: FloatArray, third: FloatArray) -> FloatArray:
    """Return how many standard errors of a normal variable are as unlikely as a distance from the mean.

    The estimate is taken to be a shifted and scaled Poisson variable with the same variance and third
    cumulant. For the count of the supports of a rare value this is nearly exact. Without skewness it is a
    normal variable. The probabilities of the Poisson variable are those of a gamma variable, by its cube root
    (Wilson and Hilferty 1931).
    """
    scale = np.sqrt(np.maximum(variance, _LEAST_VARIANCE))
    skewness = np.clip(third / scale**3, -_MOST_SKEWNESS, _MOST_SKEWNESS)
    skewness = np.where(np.abs(skewness) > _NO_SKEWNESS, skewness, _NO_SKEWNESS)
    rate, jumps = skewness**-2, distance / (scale * skewness)
    more, least = jumps + 0.5, _NO_SKEWNESS
    events = np.maximum(rate + more, least)
    root = np.cbrt(rate / events)
    # 1 - root without its rounding, with which a search would not come closer than that to a crossing
    z: FloatArray = 3 / np.sqrt(events) * (np.maximum(more, least - rate) / (1 + root + root**2) - 1 / 9)
    return np.where(jumps > 0, z, -z)


def find_crossing(
    find_excess: Callable[[FloatArray], FloatArray], inside: FloatArray, outside: FloatArray
) -> FloatArray:
    """Return where a function that is at most 0 inside becomes greater than 0, elementwise.

    Where it is not greater than 0 outside, that is the result. The method is Chandrupatla's (1997): inverse
    quadratic interpolation where that is safe, and bisection elsewhere.
    """
    new, at_new, old, at_old = outside, find_excess(outside), inside, np.minimum(find_excess(inside), 0.0)
    crosses, fraction = at_new > 0, np.full_like(inside, 0.5)
    for _ in range(_STEPS):
        place = new + fraction * (old - new)
        found = find_excess(place)
        stays = (found > 0) == (at_new > 0)
        last, at_last = np.where(stays, new, old), np.where(stays, at_new, at_old)
        old, at_old = np.where(stays, old, new), np.where(stays, at_old, at_new)
        new, at_new = place, found
        span = np.abs(old - new)
        if not np.any(crosses & (span > _PRECISION)):
            break
        with np.errstate(all="ignore"):
            ratio, slope = (new - old) / (last - old), (at_new - at_old) / (at_last - at_old)
            fraction = at_new / (at_old - at_new) * at_last / (at_old - at_last)
            fraction += (last - new) / (old - new) * at_new / (at_last - at_new) * at_old / (at_last - at_old)
            is_safe = (slope**2 < ratio) & ((1 - slope) ** 2 < 1 - ratio)
            margin = np.minimum(_PRECISION / (2 * span), 0.5)
        fraction = np.clip(np.where(is_safe, fraction, 0.5), margin, 1 - margin)
    return np.where(crosses, np.where(at_new > 0, new, old), outside)


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
    k = len(prior.value)
    return (prior.simultaneous_low > 1 / k) | (prior.simultaneous_high < 1 / k)


# -- margins of error -----------------------------------------------------------------------------


def compute_typical_margins(estimate: IntervalEstimate) -> FloatArray:
    """Return half the width of a 95% interval, (k,); of a table the root mean square, infinite if unknown."""
    rows = estimate.stderr.reshape(-1, estimate.stderr.shape[-1])
    margins: FloatArray = Z95 * np.sqrt(np.mean(rows**2, axis=0))
    return margins


def forecast_margins(estimate: IntervalEstimate) -> dict[int, FloatArray]:
    """Return the margins per class with 1, 2 and 10 times the reports; they fall with the square root."""
    margins = compute_typical_margins(estimate)
    return {growth: margins / math.sqrt(growth) for growth in REPORT_GROWTHS}
