"""Principal component analysis (PCA): the directions along which the rows differ most."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


def principal_components(rows: Floats, components: int) -> tuple[Floats, Floats]:
    """Return the top eigenvectors of the rows' covariance.

    Parameters
    ----------
    rows : float array, shape (m, n)
    components : int
        1 to n.

    Returns
    -------
    directions : float array, shape (components, n)
        Orthonormal, by decreasing variance.
    shares : float array, shape (components,)
        Share of the total variance along each direction.
    """
    centred = rows - rows.mean(axis=0)
    variances, vectors = np.linalg.eigh(centred.T @ centred / len(rows))  # ascending
    variances = np.maximum(variances, 0)
    return vectors.T[::-1][:components], variances[::-1][:components] / variances.sum()
