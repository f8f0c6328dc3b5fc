"""Continuous noise of density proportional to e^(-rate ||b||), and the cover noise for its float arithmetic.

The norm has the gamma distribution of m exponential summands, the direction is uniform. Uniforms have 512
bits. Each is converted so that logarithms, sines and cosines keep their relative precision, unless it is
among the 2^53 smallest or largest values. So all coordinates of b have a small relative error, except with
the probability that :func:`bound_tail_delta` takes into account.
"""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np

from encoders.randomness import RandomSource
from ldp_aggregator.arrays import FloatArray
from ldp_central.coded_rows import CentralError
from ldp_central.noise import draw_laplace_array

_BYTES = 64
_WHOLE = 1 << 8 * _BYTES
_OCTANT = _WHOLE >> 3
_TAIL_PER_NUMBER = Fraction(4 << 53, _OCTANT)
"""Above the probability, per coordinate, that a draw has no small relative error. A coordinate needs one
exponential for the norm, and at most one exponential and one angle for the direction."""
_LOG2_E = Fraction(1443, 1000)
"""Above log2(e)."""


def bound_tail_delta(size: int, epsilon: Fraction) -> Fraction:
    """Return the delta of a model with the noise of `size` coordinates, whose ideal is epsilon-private.

    With probability t, a draw is not the rounded draw of the ideal density. So each probability of the model
    differs from that of an epsilon-differentially private one by at most t, and
    P[S] <= Q[S] + t <= e^epsilon Q'[S] + t <= e^epsilon (P'[S] + t) + t: delta is (1 + e^epsilon) t.
    """
    growth = 1 + (1 << math.ceil(epsilon * _LOG2_E))
    return min(growth * size * _TAIL_PER_NUMBER, Fraction(1))


def draw_ball_noise(size: int, rate: float, source: RandomSource) -> FloatArray:
    """Return b in R^size with density proportional to e^(-rate ||b||), as doubles."""
    norm = sum(_draw_exponential(source) for _ in range(size)) / rate
    normals = [part for _ in range((size + 1) // 2) for part in _draw_normal_pair(source)]
    direction = np.array(normals[:size])
    return direction * (norm / float(np.linalg.norm(direction)))


def _draw_normal_pair(source: RandomSource) -> tuple[float, float]:
    """Return two independent normal numbers (Box and Muller 1958).

    The octant of the angle decides signs and order exactly, because a cosine near zero would lose precision.
    """
    radius = math.sqrt(2 * _draw_exponential(source))
    octant, rest = divmod(_draw_uniform(source), _OCTANT)
    angle = math.pi / 4 * ((rest + 1) / _OCTANT)
    one, other = radius * math.cos(angle), radius * math.sin(angle)
    if octant & 1:
        one, other = other, one
    return (-one if octant & 2 else one), (-other if octant & 4 else other)


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
        raise CentralError(
            "a weight is too large for the grid of the noise; nothing is released. Use the learner tree or nb"
        )
    released: FloatArray = np.ldexp((placed.astype(np.int64) + noise).astype(np.float64), -GRID_BITS)
    return released
