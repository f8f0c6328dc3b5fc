"""Converts noisy estimates, which may be negative, to distributions or positive counts.

Raw frequencies are unbiased, but noise makes some of them negative, and they do not add up to one.
"""

from __future__ import annotations

import math

import numpy as np

from ldp_aggregator.arrays import FloatArray


def project_simplex(raw: FloatArray) -> FloatArray:
    """Return the nearest distribution in Euclidean distance, along the last axis.

    Sort-and-threshold (Duchi et al. 2008, see docs/references.md). If a row sums to less than one, a slightly
    negative entry may rise above zero.
    """
    falling = np.sort(raw, axis=-1)[..., ::-1]
    ranks = np.arange(1, raw.shape[-1] + 1)
    shifts = (1.0 - np.cumsum(falling, axis=-1)) / ranks
    support = np.count_nonzero(falling + shifts > 0, axis=-1, keepdims=True)
    return np.maximum(raw + np.take_along_axis(shifts, support - 1, axis=-1), 0.0)


def project_columns(raw: FloatArray) -> FloatArray:
    """Return the nearest distribution to each column of (A, k) estimates; a column with NaN stays NaN."""
    consistent = np.full_like(raw, math.nan)
    known = np.isfinite(raw).all(axis=0)
    consistent[:, known] = project_simplex(raw[:, known].T).T
    return consistent


def replace_negatives(counts: FloatArray) -> FloatArray:
    """Set negative estimated counts to 1, as Yilmaz et al. 2019 (end of section 3.1.2) does.

    An estimate of exactly zero, which the paper does not mention, would rule out a class forever; it is
    set to 1 too.
    """
    return np.where(counts > 0, counts, 1.0)
