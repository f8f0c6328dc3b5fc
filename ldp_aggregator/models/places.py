"""Where the values of rows stand among a feature's codes: on one, or between the centres of two bins.

A device must say in which bin a number is; whoever predicts holds the number itself. Reading the
estimated log-probabilities as a line through the bins' centres, in place of a staircase, costs no report
and gains a point of accuracy on average (docs/learned-projection.md, "interpolated").
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from encoders.errors import RowError
from encoders.survey import BinnedFeature, Plan
from encoders.survey.columns import encode_table
from encoders.survey.values import number_of
from ldp_aggregator.models.rows import Columns
from ldp_aggregator.models.scoring import FloatArray


def place_table(plan: Plan, columns: Columns) -> FloatArray:
    """Return codes, and of numbers in bins the place between the centres of bins.

    A number in the middle of bin 2 stands at 2.0, half way to the middle of bin 3 at 2.5; before the
    first middle and behind the last it stands at that. A missing number stands at its own code.

    Parameters
    ----------
    plan : Plan
    columns : dict of columns
        One sequence of m values for each of ``plan.entries``.

    Returns
    -------
    float array, shape (m, n)

    Raises
    ------
    RowError
        If a row does not fit the survey.
    """
    places = encode_table(plan, columns).astype(np.float64)
    projected = plan.projection.columns(columns) if plan.projection else {}
    for index, feature in enumerate(plan.features):
        if isinstance(feature, BinnedFeature):
            numbers = projected.get(feature.name)
            numbers = doubles(columns[feature.name], feature.name) if numbers is None else numbers
            known = np.isfinite(numbers)
            places[known, index] = _between(feature, numbers[known])
    return places


def _between(feature: BinnedFeature, numbers: FloatArray) -> FloatArray:
    edges = np.array(feature.edges, dtype=np.float64)
    centres = edges[:-1] / 2 + edges[1:] / 2
    return np.interp(numbers, centres, np.arange(len(centres)))


def doubles(column: Iterable[Any], name: str) -> FloatArray:
    """Return numbers as one array of doubles, NaN where one is missing."""
    if type(column) is np.ndarray and column.dtype.kind in "fiu":
        numbers = column.astype(np.float64, copy=False)
        return np.where(np.isfinite(numbers), numbers, math.nan)
    return np.array([math.nan if number is None else number for number in _read(column, name)])


def _read(column: Iterable[Any], name: str) -> Sequence[float | None]:
    numbers = []
    for row, value in enumerate(column, 1):
        try:
            numbers.append(number_of(value, name))
        except RowError as error:
            raise RowError(name, f"row {row}: {error.why}") from error
    return numbers
