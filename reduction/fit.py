"""Fits the components of a projection on public rows, and publishes decimal weights, offsets and bounds.

Directions are principal components, or those of discriminant component analysis (DCA; Kung 2014), which
separate the classes best.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal

import numpy as np
from numpy.typing import NDArray

from encoders.canonical import decimal_text
from encoders.errors import LdpError
from encoders.survey.features import NumericFeature
from encoders.survey.projection import MAX_SUM, UNIT, Component, Projection

_MAX_WEIGHT_SUM = 0.48 * MAX_SUM  # the offset is at most the weights' sum; the rest is room for rounding
_TIE_TOLERANCE = 1 + 1e-9
DEFAULT_RIDGE = 0.01
"""In units of the mean within-class variance of an input. It makes the problem solvable if inputs depend on
each other, and hardly changes the directions of independent inputs."""
_NOISE_ORDER_WEIGHT = 1e-6
_MIN_EIGENVALUE_RATIO = 1e-12
METHODS = ("dca", "pca")
_MIN_SPREAD = 1e-9
Floats = NDArray[np.float64]


class FitError(LdpError):
    """Rows from which no projection can be fitted; the message names the column, never a value."""


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
    classes, only the first k - 1 components of DCA carry signal; see :mod:`reduction.fit`. Its ridge is in
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


def discriminant_components(
    rows: Floats, labels: NDArray[np.int64], components: int, ridge: float = DEFAULT_RIDGE
) -> tuple[Floats, Floats]:
    """Return the top eigenvectors of the between-class scatter against the within-class scatter.

    Solves (S_B + rho' S_W) w = lambda (S_W + rho I) w with rho = ridge trace(S_W) / n. The inputs are first
    scaled to unit variance, so the ridge acts equally on each, for any bounds. With k classes, S_B has rank k
    - 1 at most: so many components carry the signal. The others are the noise subspace, whose order S_B does
    not determine; rho', a millionth of the signal, orders it by decreasing variance. A ridge of 0 is for
    components of the signal only.

    No column of `rows`, (m, n), is constant; `labels` are (m,). Returns directions, (components, n), in units
    of the rows, by decreasing discriminant power, and the powers: variance between the classes over (ridged)
    variance within them. Raises FitError if there is only one class, the classes have equal means, or the
    ridge is too small.
    """
    spread = rows.std(axis=0)
    between, within = scatters(rows / spread, labels)
    if np.trace(between) < _MIN_EIGENVALUE_RATIO * len(between):
        raise FitError(
            "the classes have the same mean in every input, so no direction separates them: choose "
            'other inputs, or method "pca"'
        )
    signals = len(np.unique(labels)) - 1
    if components > signals and not ridge:
        raise FitError(
            f"without a ridge, {signals + 1} classes have at most {signals} components: choose fewer, or a "
            "ridge"
        )
    ridged = within + ridge * np.trace(within) / len(within) * np.eye(len(within))
    whitening = _whitening(ridged)
    signal = whitening.T @ between @ whitening
    noise = whitening.T @ within @ whitening
    _, vectors = np.linalg.eigh(signal + _NOISE_ORDER_WEIGHT * np.trace(signal) * noise)  # ascending
    chosen = vectors.T[::-1][:components]
    powers = np.einsum("ci,ij,cj->c", chosen, signal, chosen)
    return chosen @ whitening.T / spread, np.maximum(powers, 0)


def scatters(rows: Floats, labels: NDArray[np.int64]) -> tuple[Floats, Floats]:
    """Return the scatter per row between and within classes, (n, n) each; FitError if there is one class."""
    classes, members, counts = np.unique(labels, return_inverse=True, return_counts=True)
    if len(classes) < 2:
        raise FitError('all rows are of one class: add rows of another class, or use method "pca"')
    means = np.stack([rows[members == index].mean(axis=0) for index in range(len(classes))])
    within = rows - means[members]
    between = (means - rows.mean(axis=0)) * np.sqrt(counts / len(rows))[:, None]
    return between.T @ between, within.T @ within / len(rows)


def _whitening(scatter: Floats) -> Floats:
    """Return a square matrix T with T' scatter T = I."""
    variances, vectors = np.linalg.eigh(scatter)
    if variances[0] <= _MIN_EIGENVALUE_RATIO * variances[-1] or variances[-1] <= _MIN_EIGENVALUE_RATIO:
        raise FitError(
            "within the classes, the inputs depend on each other or do not vary: "
            "give a larger ridge, or leave out an input"
        )
    whitening: Floats = vectors / np.sqrt(variances)
    return whitening


def principal_components(rows: Floats, components: int) -> tuple[Floats, Floats]:
    """Return the top eigenvectors of the covariance of rows, (m, n), and their shares of the total variance.

    The directions, (components, n), are orthonormal, by decreasing variance.
    """
    centred = rows - rows.mean(axis=0)
    variances, vectors = np.linalg.eigh(centred.T @ centred / len(rows))  # ascending
    variances = np.maximum(variances, 0)
    return vectors.T[::-1][:components], variances[::-1][:components] / variances.sum()


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
