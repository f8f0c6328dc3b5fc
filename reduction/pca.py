"""Principal component analysis (PCA): the directions along which the rows differ most."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


def principal_components(rows: Floats, components: int) -> tuple[Floats, Floats]:
    """Return the top eigenvectors of the covariance of rows, (m, n), and their shares of the total variance.

    The directions, (components, n), are orthonormal, by decreasing variance.
    """
    centred = rows - rows.mean(axis=0)
    variances, vectors = np.linalg.eigh(centred.T @ centred / len(rows))  # ascending
    variances = np.maximum(variances, 0)
    return vectors.T[::-1][:components], variances[::-1][:components] / variances.sum()
