"""Compares a value's share in two classes: risk difference, risk ratio and odds ratio with intervals.

MOVER (Zou and Donner 2008; Donner and Zou 2012) combines the two shares' own intervals and the correlation of
their estimates. The estimates compare the shown shares, and are cut to these intervals. The ratios are
differences of logarithms and of logits; they are unknown where an interval touches 0 or, for odds, 1, and
their simultaneous intervals where a simultaneous one does.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from ldp_aggregator.arrays import FloatArray
from ldp_aggregator.estimation.discrete.frequencies import TableEstimate
from ldp_aggregator.estimation.intervals import IntervalEstimate

Transform = Callable[[FloatArray], FloatArray]


@dataclass(frozen=True)
class Comparison:
    """Compares P(value | class) in the first class with the second; arrays (values,), NaN where unknown."""

    value: FloatArray
    low: FloatArray
    high: FloatArray
    """The 95% interval."""
    simultaneous_low: FloatArray
    simultaneous_high: FloatArray
    """Intervals that all hold at once, for all values of the feature."""


def compare_two_classes(
    conditionals: IntervalEstimate, correlation: FloatArray, consistent: FloatArray
) -> Mapping[str, Comparison]:
    """Return the risk difference, risk ratio and odds ratio of each value.

    `conditionals`, (values, 2), are P(value | class), `consistent`, (values, 2), the shares to compare, and
    `correlation`, (values,), that of the estimates in the two classes, see `estimate_class_correlation`. The
    intervals follow from `conditionals`.
    """
    transforms: dict[str, tuple[Transform, Transform]] = {
        "risk difference": (np.asarray, np.asarray),
        "risk ratio": (np.log, np.exp),
        "odds ratio": (lambda share: np.log(share) - np.log1p(-share), np.exp),
    }
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        return {
            name: _compare(conditionals, correlation, consistent, to_scale, from_scale)
            for name, (to_scale, from_scale) in transforms.items()
        }


def _compare(
    shares: IntervalEstimate,
    correlation: FloatArray,
    consistent: FloatArray,
    to_scale: Transform,
    from_scale: Transform,
) -> Comparison:
    value = np.clip(shares.value, shares.low, shares.high)
    first, second = to_scale(value).T
    center = first - second
    found = []
    for low, high in ((shares.low, shares.high), (shares.simultaneous_low, shares.simultaneous_high)):
        below, above = (to_scale(value) - to_scale(low)).T, (to_scale(high) - to_scale(value)).T
        down, up = (
            np.sqrt(np.maximum(one**2 - 2 * correlation * one * other + other**2, 0.0))
            for one, other in ((below[0], above[1]), (above[0], below[1]))
        )
        ends = np.stack([from_scale(center), from_scale(center - down), from_scale(center + up)])
        found.append(np.where(np.isfinite(ends).all(axis=0), ends, np.nan))
    (value, low, high), (_, *simultaneous) = found
    shown = from_scale(np.subtract(*to_scale(consistent).T))
    value = np.clip(np.where(np.isnan(shown), value, shown), low, high)  # two shares of 0 have no ratio
    return Comparison(value, low, high, *simultaneous)


def estimate_class_correlation(frequencies: TableEstimate | None) -> FloatArray | None:
    """Return the correlation, (values,), of the estimates of P(value | class) in two classes.

    Only what cells share (`shared` of :class:`FrequencyCovariance`) correlates them: their covariance is
    shared (1 - A r) (1 - A s) / (P(c) P(d)) at the ratios r and s. It is 0 where a class is unknown.
    """
    if frequencies is None or frequencies.n == 0:
        return None
    covariance, likely = frequencies.covariance, frequencies.covariance.distribution.reshape(-1, 2)
    mass, size = likely.sum(axis=0), len(likely)
    ratio = likely / mass
    constant, linear, quadratic = covariance.ratio_variance_coefficients(mass, size)
    variance = constant + linear * ratio + quadratic * ratio**2
    shared = covariance.shared * (1 - size * ratio).prod(axis=1)
    scale = np.sqrt(np.maximum(variance, np.finfo(np.float64).tiny)).prod(axis=1)
    correlation: FloatArray = np.clip(shared / scale, -1.0, 1.0)
    return correlation
