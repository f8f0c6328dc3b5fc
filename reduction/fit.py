"""Fits the components of a projection on public rows, by DCA (:mod:`reduction.dca`) or PCA."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from encoders.survey.features import NumericFeature
from reduction.dca import DEFAULT_RIDGE, discriminant_components
from reduction.errors import FitError
from reduction.publish import Fit, publish, round_outward, scale_to_unit_variance

METHODS = ("dca", "pca")
_MIN_SPREAD = 1e-9

Floats = NDArray[np.float64]


def fit(
    method: str,
    inputs: Sequence[NumericFeature],
    rows: Floats,
    labels: NDArray[np.int64] | None = None,
    components: int = 1,
    ridge: float = DEFAULT_RIDGE,
) -> Fit:
    """Fit a projection on PUBLIC rows; fitting on private rows is not covered by any epsilon.

    Each component is scaled to standard deviation 1 over the rows, as far as the device's fixed point allows,
    shifted to mean 0, and has its weights rounded to 6 decimals. Its sign is such that the largest weight is
    positive. Components are named dca1, dca2, ... or pca1, pca2, ...

    The method is "pca", directions of the largest variance, or "dca", directions that separate the classes
    best, which needs labels, (m,). Rows, (m, n), are normalised by the n inputs' bounds to [-1, 1]. With k
    classes, only the first k - 1 components of DCA carry signal; see :mod:`reduction.dca`. Its ridge is in
    units of the mean within-class variance of an input.

    Raises FitError if no such projection can be fitted on the rows; the message names the column, never a
    value.
    """
    _check(inputs, rows, components)
    if method == "pca":
        directions, powers = principal_components(rows, components)
    elif method == "dca":
        directions, powers = _discriminant(rows, labels, components, ridge)
    else:
        raise FitError(f"unknown method; choose one of {', '.join(METHODS)}")
    spreads = [_spread(rows, direction, index) for index, direction in enumerate(directions, 1)]
    weights = np.array([scale_to_unit_variance(*each) for each in zip(directions, spreads, strict=True)])
    projection = publish(inputs, method, weights, rows.mean(axis=0))
    offsets = [float(component.offset) for component in projection.components]
    projected = rows @ weights.T + offsets
    middle = np.quantile(projected, [0.01, 0.99], axis=0).T
    return Fit(
        projection,
        tuple(round_outward(column.min(), column.max()) for column in projected.T),
        tuple(map(float, powers)),
        tuple((float(low), float(high)) for low, high in middle),
    )


def _check(inputs: Sequence[NumericFeature], rows: Floats, components: int) -> None:
    if not inputs or rows.ndim != 2 or rows.shape[1] != len(inputs):
        raise FitError(f"the rows need one column for each of the {len(inputs)} inputs, and at least one")
    if not 1 <= components <= len(inputs):
        raise FitError(f"{len(inputs)} inputs make 1 to {len(inputs)} components, not {components}")
    if len(rows) < 2:
        raise FitError(f"needs at least 2 rows without missing values, not {len(rows)}")
    for feature, column in zip(inputs, rows.T, strict=True):
        _check_column(feature.name, column)


def _check_column(name: str, column: Floats) -> None:
    if not np.isfinite(column).all():
        raise FitError(f"{name}: is not a finite number in some row; leave out such rows")
    if np.abs(column).max() > 1:
        raise FitError(f"{name}: has values outside [-1, 1]; normalise it by its bounds")
    if np.ptp(column) == 0:
        raise FitError(
            f"{name}: is the same in every row, or clipped to one bound: widen its range or leave it out"
        )


def _discriminant(
    rows: Floats, labels: NDArray[np.int64] | None, components: int, ridge: float
) -> tuple[Floats, Floats]:
    if labels is None or len(labels) != len(rows):
        raise FitError("DCA needs a label for each row")
    if not (math.isfinite(ridge) and ridge >= 0):
        raise FitError("the ridge must be a finite number, 0 or more")
    return discriminant_components(rows, np.asarray(labels), components, ridge)


def _spread(rows: Floats, direction: Floats, index: int) -> float:
    size = float(np.abs(direction).sum())
    spread = float((rows @ (direction / size)).std())
    if spread < _MIN_SPREAD:
        raise FitError(
            f"component {index} is the same in every row: the inputs depend on each other; "
            f"choose fewer components or inputs"
        )
    return spread * size


def principal_components(rows: Floats, components: int) -> tuple[Floats, Floats]:
    """Return the top eigenvectors of the covariance of rows, (m, n), and their shares of the total variance.

    The directions, (components, n), are orthonormal, by decreasing variance.
    """
    centred = rows - rows.mean(axis=0)
    variances, vectors = np.linalg.eigh(centred.T @ centred / len(rows))  # ascending
    variances = np.maximum(variances, 0)
    return vectors.T[::-1][:components], variances[::-1][:components] / variances.sum()
