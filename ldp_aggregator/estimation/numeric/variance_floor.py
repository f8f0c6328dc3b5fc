"""Lower bounds on the variance of a normalised number, which lies in [-1, 1]."""

from __future__ import annotations

import numpy as np

from ldp_aggregator.arrays import FloatArray

MIN_VARIANCE = 1e-6
"""The standard deviation is 1/2000 of the number's range."""
MAX_VARIANCE = 1.0
"""The variance of a number that is -1 for half of the people and 1 for the other half."""
UNIFORM_VARIANCE = 1 / 3
"""The variance of the uniform distribution on [-1, 1]."""


def clip_variance(variance: FloatArray) -> FloatArray:
    """Clip noisy variances, which may be negative, to the possible range."""
    return np.clip(variance, MIN_VARIANCE, MAX_VARIANCE)
