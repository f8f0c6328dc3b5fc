"""Continuous noise of density proportional to e^(-rate ||b||), and the cover noise for its float arithmetic.

The norm has the gamma distribution of m exponential summands, the direction is uniform. Uniforms have 192
bits and are converted so that logarithms keep their relative precision. What is left out of their tail has a
probability below 2^-119 per coordinate.
"""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np

from encoders.randomness import RandomSource
from ldp_aggregator.arrays import FloatArray
from ldp_aggregator.central.coded_rows import CentralError
from ldp_aggregator.central.noise import draw_laplace_array

_BYTES = 24
_WHOLE = 1 << 8 * _BYTES
TAIL_PER_NUMBER = Fraction(1, 1 << 119)
"""The delta of each coordinate, for the tail of the exact density that no draw reaches."""


def draw_ball_noise(size: int, rate: float, source: RandomSource) -> FloatArray:
    """Return b in R^size with density proportional to e^(-rate ||b||), as doubles."""
    norm = sum(_draw_exponential(source) for _ in range(size)) / rate
    pairs = [
        (math.sqrt(2 * _draw_exponential(source)), 2 * math.pi * _draw_uniform(source) / _WHOLE)
        for _ in range((size + 1) // 2)
    ]
    normals = np.array([part for r, angle in pairs for part in (r * math.cos(angle), r * math.sin(angle))])
    direction = normals[:size]
    return direction * (norm / float(np.linalg.norm(direction)))


def _draw_uniform(source: RandomSource) -> int:
    return int.from_bytes(source.take(_BYTES), "little")


def _draw_exponential(source: RandomSource) -> float:
    """Return -ln U for U uniform in (0, 1], with a relative error of few units in the last place."""
    drawn = _draw_uniform(source) + 1
    if 2 * drawn > _WHOLE:
        return -math.log1p(-(_WHOLE - drawn) / _WHOLE)
    return -math.log(drawn / _WHOLE)


GRID_BITS = 40
"""Released numbers are multiples of 2^-40."""


def add_cover_noise(
    values: FloatArray, error: Fraction, epsilon: Fraction, source: RandomSource
) -> FloatArray:
    """Release numbers that a float solver computed within `error` of the ideal ones, in Euclidean norm.

    If the ideal numbers are e-differentially private, the result is (e + epsilon)-differentially private.
    The proof: with the ideal numbers fixed, the computed ones of two data sets differ by 2 (error + rounding)
    in Euclidean norm, so by sqrt(m) times that in L1 norm. The noise on the grid has that over epsilon as
    its scale. All of it is computed in integers.

    Parameters
    ----------
    values : (m,) array
    error, epsilon : Fraction
    source : RandomSource
    """
    size = values.size
    root = math.isqrt(size - 1) + 1  # at least sqrt(m)
    steps = 1 << GRID_BITS
    scale = 2 * root * (error * steps + Fraction(root, 2)) / epsilon
    noise = draw_laplace_array(Fraction(math.ceil(scale)), size, source)
    placed = np.rint(np.ldexp(values, GRID_BITS))
    if not (np.abs(placed) < 1 << 52).all():
        raise CentralError("a weight is too large for the grid; nothing is released")
    released: FloatArray = np.ldexp((placed.astype(np.int64) + noise).astype(np.float64), -GRID_BITS)
    return released
