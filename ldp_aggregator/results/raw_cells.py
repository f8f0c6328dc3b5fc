"""The raw estimates of a survey by quantity, with the margins in which two surveys compare them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np

from encoders.survey import NumericFeature
from ldp_aggregator.estimation.intervals import PROBABILITY, Bounds, simultaneous_z
from ldp_aggregator.results.survey_results import SurveyResults
from ldp_aggregator.results.table import CLASS_PRIOR, CONDITIONAL, MEAN, MISSING

VARIANCE = "variance"

Json = Mapping[str, Any]


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
    low: float | None
    high: float | None
    z: float
    is_informative: bool
    bounds: Bounds

    def compute_margins(self, z: float) -> tuple[float, float]:
        """Return how far the true value may be below and above the raw one, at z standard errors.

        What the simultaneous interval has beyond its own z standard errors grows with the square of z.
        """
        assert self.value is not None
        assert self.stderr is not None
        assert self.low is not None
        assert self.high is not None
        growth = (z / self.z) ** 2
        below, above = (
            z * self.stderr + growth * max(distance - self.z * self.stderr, 0.0)
            for distance in (self.value - self.low, self.high - self.value)
        )
        return below, above


def list_cells(results: SurveyResults) -> dict[EstimateName, Cell]:
    """Return the raw estimates of a survey by quantity."""
    estimates = results.estimates
    label, classes = estimates["label"], estimates["label"]["values"]
    prior, z = (label["name"], CLASS_PRIOR), simultaneous_z(len(classes))
    cells = dict(_cells(label["prior"], prior, [""], classes, PROBABILITY, z))
    for feature, entry in zip(results.plan.features, estimates["features"], strict=True):
        if isinstance(feature, NumericFeature):
            width = feature.width
            parts = (
                (MEAN, "means", feature.bounds),
                (VARIANCE, "variances", (0.0, width**2)),
                (MISSING, "missing", PROBABILITY),
            )
            estimated = [part for part in parts if entry[part[1]] is not None]
            z = simultaneous_z(len(estimated) * len(classes))
            for statistic, key, bounds in estimated:
                cells |= _cells(entry[key], (feature.name, statistic), [""], classes, bounds, z)
        else:
            name = (feature.name, CONDITIONAL)
            values, z = entry["values"], simultaneous_z(len(entry["values"]) * len(classes))
            cells |= _cells(entry["conditionals"], name, values, classes, PROBABILITY, z)
    return cells


def _cells(
    estimate: Json, name: tuple[str, str], values: list[str], classes: list[str], bounds: Bounds, z: float
) -> Iterator[tuple[EstimateName, Cell]]:
    """Yield the cells of an estimate of shape (values, classes) or (classes,)."""
    shape = (len(values), len(classes))
    simultaneous = estimate["simultaneous"]
    parts = (estimate["value"], estimate["stderr"], simultaneous["low"], simultaneous["high"])
    value, stderr, low, high = (np.array(each, dtype=object).reshape(shape) for each in parts)
    for row, value_name in enumerate(values):
        for column, class_name in enumerate(classes):
            place = row, column
            is_known = low[place] is not None and high[place] is not None
            is_informative = is_known and (low[place] > bounds[0] or high[place] < bounds[1])
            cell = Cell(
                value=value[place],
                stderr=stderr[place],
                low=low[place],
                high=high[place],
                z=z,
                is_informative=is_informative,
                bounds=bounds,
            )
            yield EstimateName(*name, value_name, class_name), cell
