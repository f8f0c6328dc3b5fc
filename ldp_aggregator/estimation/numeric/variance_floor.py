"""Bounds on the variance of a normalised number, which lies in [-1, 1]."""

from __future__ import annotations

import numpy as np

from ldp_aggregator.arrays import FloatArray

MIN_VARIANCE = 1e-6
"""A standard deviation of a two-thousandth of the number's range."""
MAX_VARIANCE = 1.0
"""That of a number that is -1 or 1, each for half of the people."""
UNIFORM_VARIANCE = 1 / 3
"""That of a uniform distribution."""


def clip_variance(variance: FloatArray) -> FloatArray:
    """Clip noisy variances, possibly negative, to the possible ones."""
    return np.clip(variance, MIN_VARIANCE, MAX_VARIANCE)
