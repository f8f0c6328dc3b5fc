"""A projection fitted on public rows: weights, offsets and bounds as the survey publishes them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal

import numpy as np
from numpy.typing import NDArray

from encoders.survey.canonical import decimal_text
from encoders.survey.numbers import NumericFeature
from encoders.survey.projection import MAX_SUM, UNIT, Component, Projection
from reduction.dca import DEFAULT_RIDGE, discriminant_components
from reduction.errors import FitError
from reduction.pca import principal_components

METHODS = ("dca", "pca")
_LARGEST = 0.48 * MAX_SUM  # the offset is at most the weights' sum; the rest is room for rounding
_CONSTANT = 1e-9
_TIE = 1 + 1e-9

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Fit:
    """A fitted projection, and what its author should know of it.

    Attributes
    ----------
    projection : Projection
    bounds : tuple of (str, str)
        For each component the least and the greatest of the fitted rows, rounded outward to two digits.
    middle : tuple of (float, float)
        For each component the bounds of the middle 98 % of the fitted rows.
    powers : tuple of float
        PCA: share of the inputs' variance. DCA: variance between the classes over variance within.
    """

    projection: Projection
    bounds: tuple[tuple[str, str], ...]
    middle: tuple[tuple[float, float], ...]
    powers: tuple[float, ...]


def fit(
    method: str,
    inputs: Sequence[NumericFeature],
    rows: Floats,
    labels: NDArray[np.int64] | None = None,
    components: int = 1,
    ridge: float = DEFAULT_RIDGE,
) -> Fit:
    """Fit a projection on PUBLIC rows; fitting on private rows is not covered by any epsilon.

    Each component is scaled to standard deviation 1 over the rows, as far as the device's fixed point
    allows, shifted to mean 0, and has its weights rounded to 6 decimals. Its sign is such that the largest
    weight is positive.

    Parameters
    ----------
    method : str
        "pca": the most variance. "dca": the most power to tell the classes apart.
    inputs : sequence of NumericFeature
        The n columns.
    rows : float array, shape (m, n)
        Normalised by the inputs' bounds, so in [-1, 1].
    labels : int array, shape (m,), optional
        The class of each row; DCA needs it.
    components : int
        1 to n. DCA has signal in the first k - 1 only, of k classes; see :mod:`reduction.dca`.
    ridge : float
        DCA's, in units of the mean within-class variance of an input.

    Returns
    -------
    Fit
        Its components are called dca1, dca2, ... or pca1, pca2, ...

    Raises
    ------
    FitError
        If the rows cannot carry such a projection; names the column, never a value.
    """
    _check(inputs, rows, components)
    if method == "pca":
        directions, powers = principal_components(rows, components)
    elif method == "dca":
        directions, powers = _discriminant(rows, labels, components, ridge)
    else:
        raise FitError(f"there is no such method; there are {', '.join(METHODS)}")
    scaled = [_scale(rows, direction, place) for place, direction in enumerate(directions, 1)]
    weights = np.round(np.array(scaled), 6)
    offsets = np.round(-(weights @ rows.mean(axis=0)), 6)
    named = (
        Component(f"{method}{place}", tuple(map(_text, row)), _text(offset))
        for place, (row, offset) in enumerate(zip(weights, offsets, strict=True), 1)
    )
    projection = Projection(tuple(inputs), tuple(named))
    projection.check()
    return _described(projection, rows @ weights.T + offsets, powers)


def _described(projection: Projection, projected: Floats, powers: Floats) -> Fit:
    middle = np.quantile(projected, [0.01, 0.99], axis=0).T
    return Fit(
        projection,
        tuple(outward(column.min(), column.max()) for column in projected.T),
        tuple((float(low), float(high)) for low, high in middle),
        tuple(map(float, powers)),
    )


def _check(inputs: Sequence[NumericFeature], rows: Floats, components: int) -> None:
    if not inputs or rows.ndim != 2 or rows.shape[1] != len(inputs):
        raise FitError(f"the rows need one column for each of the {len(inputs)} inputs, and at least one")
    if not 1 <= components <= len(inputs):
        raise FitError(f"{len(inputs)} inputs make 1 to {len(inputs)} components, not {components}")
    if len(rows) < 2:
        raise FitError(f"needs at least 2 rows without gaps, not {len(rows)}")
    for feature, column in zip(inputs, rows.T, strict=True):
        _check_column(feature.name, column)


def _check_column(name: str, column: Floats) -> None:
    if not np.isfinite(column).all():
        raise FitError(f"{name}: is no finite number in some row; leave such rows out")
    if np.abs(column).max() > 1:
        raise FitError(f"{name}: is not normalised to [-1, 1] by its bounds")
    if np.ptp(column) == 0:
        raise FitError(
            f"{name}: is the same in every row, or clipped to one bound: widen its range, or leave it out"
        )


def _discriminant(
    rows: Floats, labels: NDArray[np.int64] | None, components: int, ridge: float
) -> tuple[Floats, Floats]:
    if labels is None or len(labels) != len(rows):
        raise FitError("DCA needs a label for each row")
    if not (math.isfinite(ridge) and ridge >= 0):
        raise FitError("the ridge is a finite number, 0 or more")
    return discriminant_components(rows, np.asarray(labels), components, ridge)


def _scale(rows: Floats, direction: Floats, place: int) -> Floats:
    """Return the direction with its length and sign settled."""
    direction = direction / np.abs(direction).sum()
    spread = float((rows @ direction).std())
    if spread < _CONSTANT:
        raise FitError(
            f"component {place} is the same in every row: the inputs depend on each other; "
            f"ask for fewer components or inputs"
        )
    # of several weights as large, up to rounding, the first decides
    largest = np.abs(direction) * _TIE >= np.abs(direction).max()
    sign = np.sign(direction[int(np.argmax(largest))])
    scaled: Floats = direction * sign * min(1 / spread, _LARGEST)
    return scaled


def _text(number: float) -> str:
    return decimal_text(Decimal(round(number * UNIT)) / UNIT)


def outward(low: float, high: float) -> tuple[str, str]:
    """Return low < high as decimal texts, rounded outward to two digits of their distance."""
    step = Decimal(1).scaleb(math.floor(math.log10(high - low)) - 1)
    start = (Decimal(float(low)) / step).to_integral_value(ROUND_FLOOR) * step
    end = (Decimal(float(high)) / step).to_integral_value(ROUND_CEILING) * step
    return decimal_text(start), decimal_text(end)
