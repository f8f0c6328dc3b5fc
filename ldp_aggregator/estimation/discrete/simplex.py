"""From raw estimates to consistent ones: three ways to make noisy frequencies a distribution.

Raw frequencies are unbiased, but noise pushes some below zero and their sum off one. Each function
takes an array, treats its last axis as one distribution, and returns an array of the same shape.
Norm-Sub as in Wang et al. 2020, the projection as in Duchi et al. 2008; see docs/references.md.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ldp_aggregator.arrays import FloatArray


def clip_and_normalise(raw: FloatArray) -> FloatArray:
    """Raise negative entries to 0, then divide by the sum; all-zero rows become uniform."""
    clipped = np.maximum(raw, 0.0)
    total = clipped.sum(axis=-1, keepdims=True)
    uniform: FloatArray = np.full_like(clipped, 1.0 / clipped.shape[-1])
    np.divide(clipped, total, out=uniform, where=total > 0)
    return uniform


def norm_sub(raw: FloatArray) -> FloatArray:
    """Shift the positive entries by one common amount, zero the others, until the sum is one.

    The shift is spread over the entries still positive, again and again, until none turns negative.
    Rows without a positive entry become uniform.
    """
    return np.apply_along_axis(_norm_sub_row, -1, raw)


def _norm_sub_row(raw: FloatArray) -> FloatArray:
    kept = raw > 0
    if not kept.any():
        return np.full_like(raw, 1.0 / raw.size)
    while True:
        shifted = np.where(kept, raw + (1.0 - raw[kept].sum()) / kept.sum(), 0.0)
        if not (shifted < 0).any():
            return shifted
        kept &= shifted > 0


def project_simplex(raw: FloatArray) -> FloatArray:
    """Return the nearest distribution in Euclidean distance.

    Sort-and-threshold (Duchi et al. 2008). Unlike :func:`norm_sub` it starts from all entries, so a
    row summing to less than one may raise a slightly negative entry above zero.
    """
    falling = np.sort(raw, axis=-1)[..., ::-1]
    ranks = np.arange(1, raw.shape[-1] + 1)
    shifts = (1.0 - np.cumsum(falling, axis=-1)) / ranks
    support = np.count_nonzero(falling + shifts > 0, axis=-1, keepdims=True)
    return np.maximum(raw + np.take_along_axis(shifts, support - 1, axis=-1), 0.0)


CONSISTENCY: dict[str, Callable[[FloatArray], FloatArray]] = {
    "clip": clip_and_normalise,
    "norm-sub": norm_sub,
    "simplex": project_simplex,
}
