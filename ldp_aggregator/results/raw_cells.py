"""The raw estimates of a survey by quantity, with the margins in which two surveys compare them."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from encoders.survey import NumericFeature
from ldp_aggregator.estimation import IntervalEstimate, NumberResult
from ldp_aggregator.estimation.intervals import PROBABILITY, Bounds, simultaneous_z
from ldp_aggregator.results.survey_results import SurveyResults
from ldp_aggregator.results.table import CLASS_PRIOR, CONDITIONAL, MEAN, MISSING

VARIANCE = "variance"


class EstimateName(NamedTuple):
    """The name of an estimated quantity: `value` is empty except for P(value | class)."""

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
        """Return the distances from the raw value to the ends of the interval, at z standard errors.

        What the simultaneous interval has beyond its own z standard errors grows with the square of z.
        """
        assert self.value is not None
        assert self.stderr is not None
        growth = (z / self.z) ** 2
        below, above = (
            z * self.stderr + growth * max(distance - self.z * self.stderr, 0.0)
            for distance in (self.value - self.low, self.high - self.value)
        )
        return below, above


def list_cells(results: SurveyResults) -> dict[EstimateName, Cell]:
    """Return the raw estimates of a survey by quantity."""
    estimates = results.estimates
    classes = estimates.classes
    prior, z = (estimates.label, CLASS_PRIOR), simultaneous_z(len(classes))
    cells = dict(_cells(estimates.raw_prior, prior, [""], classes, PROBABILITY, z))
    for feature, result in zip(results.plan.features, estimates.features, strict=True):
        if isinstance(result, NumberResult):
            assert isinstance(feature, NumericFeature)
            parts = [
                (MEAN, result.by_class.means, feature.bounds),
                (VARIANCE, result.by_class.variances, (0.0, feature.width**2)),
            ]
            parts += [(MISSING, result.by_class.missing, PROBABILITY)] if result.by_class.missing else []
            z = simultaneous_z(len(parts) * len(classes))
            for statistic, estimate, bounds in parts:
                cells |= _cells(estimate, (feature.name, statistic), [""], classes, bounds, z)
        else:
            values, z = result.values, simultaneous_z(len(result.values) * len(classes))
            name = (feature.name, CONDITIONAL)
            cells |= _cells(result.conditionals, name, values, classes, PROBABILITY, z)
    return cells


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
