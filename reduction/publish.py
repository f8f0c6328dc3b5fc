"""Converts fitted components to what a survey publishes: decimal weights, offsets and bounds."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal

import numpy as np
from numpy.typing import NDArray

from encoders.canonical import decimal_text
from encoders.survey.features import NumericFeature
from encoders.survey.projection import MAX_SUM, UNIT, Component, Projection

_MAX_WEIGHT_SUM = 0.48 * MAX_SUM  # the offset is at most the weights' sum; the rest is room for rounding
_TIE_TOLERANCE = 1 + 1e-9

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Fit:
    """A fitted projection, and what the survey's author should know about it."""

    projection: Projection
    bounds: tuple[tuple[str, str], ...]
    """The public range of each component."""
    powers: tuple[float, ...]
    """PCA: share of the inputs' variance. DCA: variance between the classes over variance within."""
    middle: tuple[tuple[float, float], ...]
    """For each component the bounds of the middle 98 % of the fitted rows."""


def scale_to_unit_variance(direction: Floats, spread: float) -> Floats:
    """Return weights (n,) with standard deviation 1, as far as the device's fixed-point numbers allow.

    `direction`, (n,), is not all zero; its sign is set such that the largest weight is positive. `spread` is
    the standard deviation of the rows along it.
    """
    size = float(np.abs(direction).sum())
    # of several largest weights, equal up to rounding, the first decides the sign
    largest = np.abs(direction) * _TIE_TOLERANCE >= np.abs(direction).max()
    sign = np.sign(direction[int(np.argmax(largest))])
    weights: Floats = direction / size * sign * min(size / spread, _MAX_WEIGHT_SUM)
    return np.round(weights, 6)


def publish(inputs: Sequence[NumericFeature], stem: str, weights: Floats, centre: Floats) -> Projection:
    """Return the projection with weights (c, n), rounded to 6 decimals, that maps `centre` (n,) to 0.

    Its components are named by the stem and a number: dca1, dca2, ...
    """
    offsets = np.round(-(weights @ centre), 6)
    components = (
        Component(f"{stem}{index}", tuple(map(_text, row)), _text(offset))
        for index, (row, offset) in enumerate(zip(weights, offsets, strict=True), 1)
    )
    projection = Projection(tuple(inputs), tuple(components))
    projection.check()
    return projection


def _text(number: float) -> str:
    return decimal_text(Decimal(round(number * UNIT)) / UNIT)


def round_outward(low: float, high: float) -> tuple[str, str]:
    """Return low < high as decimal texts, rounded away from each other to two digits of their distance."""
    step = Decimal(1).scaleb(math.floor(math.log10(high - low)) - 1)
    start = (Decimal(float(low)) / step).to_integral_value(ROUND_FLOOR) * step
    end = (Decimal(float(high)) / step).to_integral_value(ROUND_CEILING) * step
    return decimal_text(start), decimal_text(end)
