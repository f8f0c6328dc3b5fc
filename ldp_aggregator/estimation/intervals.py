"""Figures for people: an estimate with its standard error and 95% intervals, of each and of all at once.

Of many intervals that hold 19 times in 20 each, some miss. So everything has two: its own, and a wider one.
The wider ones of all that is shown together - a prior, a feature's table, a number's means, variances and
missing shares - hold all at once, 19 times in 20, however they depend on each other (Bonferroni).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from statistics import NormalDist
from typing import Any

import numpy as np

from ldp_aggregator.arrays import FloatArray
from ldp_aggregator.estimation.discrete.frequencies import Frequencies

Z95 = 1.959963984540054
"""Half the width of a 95% interval, in standard errors."""
ERROR = 0.05
"""How often, at most, some of the intervals that are to hold together miss."""


Bounds = tuple[float, float]
Ends = tuple[FloatArray, FloatArray]
FourEnds = tuple[FloatArray, FloatArray, FloatArray, FloatArray]
PROBABILITY: Bounds = (0.0, 1.0)


@dataclass(frozen=True)
class IntervalEstimate:
    """Estimates, each with its standard error and 95% interval; arrays of one shape.

    Attributes
    ----------
    value : array
        Nearly unbiased, so possibly outside what is possible; NaN where nothing is known.
    stderr : array
        Infinite where nothing is known.
    low, high : array
        The 95% interval, cut to what is possible: [0, 1] for probabilities. Where nothing is known it is
        all of that.
    simultaneous_low, simultaneous_high : array
        Intervals that hold for all that is shown together at once, in 95% of surveys.
    """

    value: FloatArray
    stderr: FloatArray
    low: FloatArray
    high: FloatArray
    simultaneous_low: FloatArray
    simultaneous_high: FloatArray

    @classmethod
    def from_stderr(
        cls, value: FloatArray, stderr: FloatArray, bounds: Bounds = PROBABILITY
    ) -> IntervalEstimate:
        """Return the figure whose intervals are value +- as many standard errors, cut to `bounds`."""
        known = np.isfinite(value) & np.isfinite(stderr)
        middle = np.where(known, value, (bounds[0] + bounds[1]) / 2)

        def within(far: float) -> Ends:
            half = np.where(known, far * stderr, bounds[1] - bounds[0])
            return np.clip(middle - half, *bounds), np.clip(middle + half, *bounds)

        return cls(value, stderr, *within(Z95), *within(reach(value.size)))

    def as_dict(self) -> dict[str, Any]:
        """Return nested lists for JSON; what is unknown or infinite becomes None."""
        fields = {"value": self.value, "stderr": self.stderr, "low": self.low, "high": self.high}
        together = {"low": jsonable(self.simultaneous_low), "high": jsonable(self.simultaneous_high)}
        return {name: jsonable(array) for name, array in fields.items()} | {"together": together}


def reach(intervals: int) -> float:
    """Return how many standard errors intervals need on either side to hold all at once, 19 times in 20."""
    return NormalDist().inv_cdf(1 - ERROR / (2 * max(intervals, 1)))


def jsonable(array: FloatArray) -> Any:
    """Return an array as nested lists, one of shape () as a number; None for whatever is not finite."""
    plain = np.asarray(array).astype(object)
    plain[~np.isfinite(array)] = None
    return plain.tolist()


def unknown(shape: tuple[int, ...], bounds: Bounds = PROBABILITY) -> IntervalEstimate:
    """Return the figure of something nobody was asked."""
    return IntervalEstimate.from_stderr(np.full(shape, math.nan), np.full(shape, math.inf), bounds)


def frequency_figure(estimated: Frequencies, k: int) -> IntervalEstimate:
    """Return the frequencies of a coupled question as an (A, k) figure: P(value, label).

    The interval is Wilson's, with a mechanism in between: all f for which F is within 1.96 of the standard
    errors that it would have if f were the truth. It holds for rare values too, whose counters are skewed.
    """
    value = estimated.raw.reshape(-1, k)
    if estimated.n == 0:
        return unknown(value.shape)
    constant, linear, quadratic = (np.full_like(value, each) for each in estimated.noise.if_cell_is())
    ends = ratios(value, np.ones_like(value), constant, linear, quadratic, value.size)
    return IntervalEstimate(value, estimated.stderr.reshape(-1, k), *ends)


def conditional_figure(estimated: Frequencies, k: int) -> IntervalEstimate:
    """Return P(value | label) as an (A, k) figure.

    The value is the ratio R = F[a, c] / G[c] of Yilmaz et al. 2019, section 3.1.2, before any repair of
    negatives; its standard error follows by the delta method, Var(F - R G) / G^2. The interval is Fieller's:
    all r for which F - r G is within 1.96 of the standard errors of 0 that it would have if r were the truth.
    It holds where the class is so rare that the ratio itself says nothing (then it is [0, 1]), and agrees
    with the delta method elsewhere.
    """
    joint = estimated.raw.reshape(-1, k)
    if estimated.n == 0:
        return unknown(joint.shape)
    mass = np.broadcast_to(joint.sum(axis=0), joint.shape)
    variance = estimated.noise.variance.reshape(-1, k)
    with_class, of_class = estimated.noise.against_classes(k)
    known = mass > 0
    ratio = np.divide(joint, mass, out=np.full(joint.shape, math.nan), where=known)
    spread = np.maximum(variance - 2 * ratio * with_class + ratio**2 * of_class, 0.0)
    stderr = np.where(known, np.sqrt(spread) / np.where(known, mass, 1.0), math.inf)
    laws = estimated.noise.if_ratio_is(np.clip(mass, 0.0, 1.0), len(joint))
    return IntervalEstimate(ratio, stderr, *ratios(joint, mass, *laws, joint.size))


def fieller(
    top: FloatArray,
    bottom: FloatArray,
    top_var: FloatArray,
    covariance: FloatArray,
    bottom_var: FloatArray,
    together: int,
    bounds: Bounds = PROBABILITY,
) -> FourEnds:
    """Return the ends of :func:`ratios` where the covariances do not depend on the ratio."""
    return ratios(top, bottom, top_var, -2 * covariance, bottom_var, together, bounds)


def ratios(
    top: FloatArray,
    bottom: FloatArray,
    constant: FloatArray,
    linear: FloatArray,
    quadratic: FloatArray,
    together: int,
    bounds: Bounds = PROBABILITY,
) -> FourEnds:
    """Return the ends, cut to `bounds`, of {r : (top - r bottom)^2 <= far^2 Var(top - r bottom)}.

    The variance is constant + linear r + quadratic r^2. First the ends of single intervals, then of so many
    that hold together. Where the bottom is not distinguishable from zero the set is unbounded, and the ends
    are the bounds.
    """

    def within(far: float) -> Ends:
        square = bottom**2 - far**2 * quadratic
        middle = top * bottom + far**2 * linear / 2
        rest = top**2 - far**2 * constant
        bounded = (square > 0) & (bottom > 0)
        root = np.sqrt(np.maximum(middle**2 - square * rest, 0.0))
        divisor = np.where(bounded, square, 1.0)
        low = np.where(bounded, (middle - root) / divisor, bounds[0])
        high = np.where(bounded, (middle + root) / divisor, bounds[1])
        return np.clip(low, *bounds), np.clip(high, *bounds)

    # near 1 rounding alone can put the estimate, or the inner interval, outside
    inside = np.clip(top / np.where(bottom > 0, bottom, np.inf), *bounds)
    low, high = within(Z95)
    low, high = np.minimum(low, inside), np.maximum(high, inside)
    simultaneous_low, simultaneous_high = within(reach(together))
    return low, high, np.minimum(simultaneous_low, low), np.maximum(simultaneous_high, high)
