"""Discriminant component analysis (DCA; Kung 2014): directions that separate the classes best."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from reduction.errors import FitError

DEFAULT_RIDGE = 0.01
"""In units of the mean within-class variance of an input. It makes the problem solvable if inputs depend on
each other, and hardly changes the directions of independent inputs."""

_NOISE_ORDER_WEIGHT = 1e-6
_MIN_EIGENVALUE_RATIO = 1e-12

Floats = NDArray[np.float64]


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
