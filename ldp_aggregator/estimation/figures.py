"""The figures that results show: of each feature, one statistic of all people or of each class."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from encoders.survey import Feature, NumericFeature
from ldp_aggregator.arrays import FloatArray
from ldp_aggregator.estimation.estimates import Estimates
from ldp_aggregator.estimation.feature_result import join_choices
from ldp_aggregator.estimation.intervals import PROBABILITY, Bounds, IntervalEstimate, simultaneous_z
from ldp_aggregator.estimation.number_result import NumberResult

SHARE = "P(value)"
MEAN = "mean"
VARIANCE = "variance"
MISSING_SHARE = "P(missing)"
CLASS_PRIOR = "P(class)"
CONDITIONAL = "P(value | class)"
MISSING = "P(missing | class)"


class Figures(NamedTuple):
    """The estimates of one statistic of one feature, or of the label."""

    feature: str
    statistic: str
    values: tuple[str, ...]
    """One empty text for statistics of numbers and for P(class)."""
    classes: tuple[str, ...]
    """One empty text for all people."""
    bounds: Bounds
    z: float
    """The number of standard errors of the simultaneous intervals."""
    estimate: IntervalEstimate
    """Of each value and class. Shape (values, classes)."""


def list_figures(estimates: Estimates, features: Sequence[Feature]) -> Iterator[Figures]:
    yield from _list_features(estimates, features, ("",))
    if estimates.has_label:
        classes, prior = estimates.classes, estimates.raw_prior.reshape(1, -1)
        z = simultaneous_z(len(classes))
        yield Figures(estimates.label, CLASS_PRIOR, ("",), classes, PROBABILITY, z, prior)
        yield from _list_features(estimates, features, classes)


def _list_features(
    estimates: Estimates, features: Sequence[Feature], classes: tuple[str, ...]
) -> Iterator[Figures]:
    is_of_all = not classes[0]
    for feature, result in join_choices(features, estimates.features):
        if isinstance(result, NumberResult):
            assert isinstance(feature, NumericFeature)
            statistics = result.overall if is_of_all else result.by_class
            parts = [
                (MEAN, statistics.means, feature.bounds),
                (VARIANCE, statistics.variances, (0.0, feature.width**2)),
            ]
            if statistics.missing:
                parts.append((MISSING_SHARE if is_of_all else MISSING, statistics.missing, PROBABILITY))
            z = simultaneous_z(len(parts) * len(classes))
            for statistic, estimate, bounds in parts:
                yield Figures(feature.name, statistic, ("",), classes, bounds, z, estimate.reshape(1, -1))
        else:
            shares = result.shares.reshape(-1, 1) if is_of_all else result.conditionals
            name, z = SHARE if is_of_all else CONDITIONAL, simultaneous_z(shares.value.size)
            yield Figures(feature.name, name, tuple(result.values), classes, PROBABILITY, z, shares)


Numbers = FloatArray | float


def find_margins(
    value: Numbers, stderr: Numbers, ends: tuple[Numbers, Numbers], own_z: float, z: float, bounds: Bounds
) -> tuple[FloatArray, FloatArray]:
    """Return the distances from values to the low and high ends of their intervals at z standard errors.

    A value is cut to its range, `bounds`, as for its interval. What an interval of `own_z` standard errors
    with these `ends` has beyond them grows with the square of z.
    """
    growth, value = (z / own_z) ** 2, np.clip(value, *bounds)
    below, above = (
        z * np.asarray(stderr) + growth * np.maximum(distance - own_z * np.asarray(stderr), 0.0)
        for distance in (value - ends[0], ends[1] - value)
    )
    return below, above
