"""The raw estimates of a survey by quantity, with the margins in which two surveys compare them."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from encoders.survey import NumericFeature
from ldp_aggregator.estimation import IntervalEstimate, NumberResult
from ldp_aggregator.estimation.choice_results import join_choices
from ldp_aggregator.estimation.intervals import PROBABILITY, Bounds, simultaneous_z
from ldp_aggregator.results import Results
from ldp_aggregator.views.estimate_rows import CLASS_PRIOR, CONDITIONAL, MEAN, MISSING, MISSING_SHARE, SHARE

VARIANCE = "variance"


class EstimateName(NamedTuple):
    """The name of an estimated quantity.

    `value` is empty except for shares of values, and `class_name` is empty for all people.
    """

    feature: str
    statistic: str
    value: str
    class_name: str


class Cell(NamedTuple):
    """One raw estimate with its simultaneous interval of z standard errors.

    `is_informative` if the interval is not the whole possible range, `bounds`.
    """

    value: float | None
    stderr: float | None
    low: float
    high: float
    z: float
    is_informative: bool
    bounds: Bounds

    def compute_margins(self, z: float) -> tuple[float, float]:
        """Return the distances from the value to the ends of the interval, at z standard errors.

        The value is cut to the range, as for the interval. What the simultaneous interval has beyond its own
        z standard errors grows with the square of z.
        """
        assert self.value is not None
        assert self.stderr is not None
        growth, value = (z / self.z) ** 2, min(max(self.value, self.bounds[0]), self.bounds[1])
        below, above = (
            z * self.stderr + growth * max(distance - self.z * self.stderr, 0.0)
            for distance in (value - self.low, self.high - value)
        )
        return below, above


def list_cells(results: Results) -> dict[EstimateName, Cell]:
    """Return the raw estimates of a survey by quantity: of all people, and of each class."""
    estimates, cells = results.estimates, dict(_list_features(results, [""]))
    if estimates.has_label:
        prior, classes = (estimates.label, CLASS_PRIOR), estimates.classes
        z = simultaneous_z(len(classes))
        cells |= _cells(estimates.raw_prior, prior, [""], classes, PROBABILITY, z)
        cells |= _list_features(results, classes)
    return cells


def _list_features(results: Results, classes: Sequence[str]) -> Iterator[tuple[EstimateName, Cell]]:
    """Yield the cells of all features; the only class is empty for all people."""
    is_of_all = not classes[0]
    for feature, result in join_choices(results.plan.features, results.estimates.features):
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
                yield from _cells(estimate, (feature.name, statistic), [""], classes, bounds, z)
        else:
            shares = result.shares if is_of_all else result.conditionals
            name, z = (feature.name, SHARE if is_of_all else CONDITIONAL), simultaneous_z(shares.value.size)
            yield from _cells(shares, name, result.values, classes, PROBABILITY, z)


def _cells(
    estimate: IntervalEstimate,
    name: tuple[str, str],
    values: Sequence[str],
    classes: Sequence[str],
    bounds: Bounds,
    z: float,
) -> Iterator[tuple[EstimateName, Cell]]:
    """Yield the cells of an estimate of shape (values, classes) or (classes,)."""
    shape = (len(values), len(classes))
    parts = (estimate.value, estimate.stderr, estimate.simultaneous_low, estimate.simultaneous_high)
    value, stderr, low, high = (each.reshape(shape).tolist() for each in parts)
    for row, value_name in enumerate(values):
        for column, class_name in enumerate(classes):
            ends = low[row][column], high[row][column]
            cell = Cell(
                value=_known(value[row][column]),
                stderr=_known(stderr[row][column]),
                low=ends[0],
                high=ends[1],
                z=z,
                is_informative=ends[0] > bounds[0] or ends[1] < bounds[1],
                bounds=bounds,
            )
            yield EstimateName(*name, value_name, class_name), cell


def _known(number: float) -> float | None:
    return number if math.isfinite(number) else None
