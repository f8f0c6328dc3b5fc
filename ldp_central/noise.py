"""Exact discrete Laplace and Gaussian noise for arrays of counts, and continuous noise for vectors.

All draws are integers from a source of random bytes. The distributions are those of
:mod:`encoders.exact_samplers`, and the same proof of epsilon applies to arrays.
"""

from __future__ import annotations

import math
from fractions import Fraction
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from encoders.exact_samplers import draw_bernoulli_exp, draw_laplace
from encoders.randomness import RandomSource
from ldp_aggregator.arrays import BoolArray, FloatArray, IntArray
from ldp_central.coded_rows import CentralError

_MAX_NUMERATOR = 1 << 50
"""A scale with a larger numerator is drawn number by number: its bounds could exceed 64 bits."""
_FEW_DRAWS = 64
"""So few numbers are drawn faster one by one than in lanes."""
_STEPS_OF_RHO = 1 << 20
_MAX_SECURITY_ORDER = 1e7
_DELTA_TOO_SMALL = (
    "the delta is too small for Gaussian noise at this epsilon: give a larger --delta, or leave it out, "
    "which gives Laplace noise"
)


def draw_laplace_array(scale: Fraction, count: int, source: RandomSource) -> IntArray:
    """Return `count` draws from the law of `draw_laplace`, in lanes that start again after a rejection."""
    if count <= _FEW_DRAWS or max(scale.numerator, scale.denominator) > _MAX_NUMERATOR:
        return np.array([draw_laplace(scale, source) for _ in range(count)], dtype=np.int64)
    noise = np.zeros(count, dtype=np.int64)
    lanes = np.arange(count)
    while len(lanes):
        drawn, accepted = _draw_laplace_once(scale, len(lanes), source)
        noise[lanes[accepted]] = drawn[accepted]
        lanes = lanes[~accepted]
    return noise


def _draw_laplace_once(scale: Fraction, count: int, source: RandomSource) -> tuple[IntArray, BoolArray]:
    t, u = scale.numerator, scale.denominator
    rest = _draw_below_array(t, count, source)
    accepted = _draw_short_exp_array(rest, t, source)
    drawn = (rest + t * _draw_geometric_array(count, source)) // u
    negative = _draw_below_array(2, count, source) == 1
    return np.where(negative, -drawn, drawn), accepted & ((drawn > 0) | ~negative)


def _draw_geometric_array(count: int, source: RandomSource) -> IntArray:
    """Return the number of successes, each of probability 1/e, before the first failure."""
    successes = np.zeros(count, dtype=np.int64)
    lanes = np.arange(count)
    while len(lanes):
        lanes = lanes[_draw_short_exp_array(np.ones(len(lanes), dtype=np.int64), 1, source)]
        successes[lanes] += 1
    return successes


def _draw_short_exp_array(top: IntArray, bottom: int, source: RandomSource) -> BoolArray:
    """Return True with probability e^(-top / bottom) in each lane, for 0 <= top <= bottom."""
    accepted = np.zeros(len(top), dtype=np.bool_)
    lanes = np.flatnonzero(top > 0)
    accepted[top == 0] = True
    count = 1
    while len(lanes):
        success = _draw_below_array(bottom * count, len(lanes), source) < top[lanes]
        accepted[lanes[~success]] = count % 2 == 1
        lanes = lanes[success]
        count += 1
    return accepted


def _draw_below_array(bound: int, count: int, source: RandomSource) -> IntArray:
    """Return `count` uniform integers below a bound, which is at least 1; rejection makes them exact."""
    drawn = _draw_words(count, source)
    # the words at or above the largest multiple of the bound are rejected
    limit = np.uint64((1 << 64) - 1 - (1 << 64) % bound)
    while len(rejected := np.flatnonzero(drawn > limit)):
        drawn[rejected] = _draw_words(len(rejected), source)
    return (drawn % np.uint64(bound)).astype(np.int64)


def _draw_words(count: int, source: RandomSource) -> NDArray[np.uint64]:
    return np.frombuffer(source.take(8 * count), dtype="<u8").astype(np.uint64)


def draw_gaussian(variance: Fraction, source: RandomSource) -> int:
    """Return z with P[z] proportional to e^(-z^2 / (2 variance)) (Canonne et al. 2020, algorithm 3)."""
    t = math.isqrt(math.floor(variance)) + 1
    while True:
        drawn = draw_laplace(Fraction(t), source)
        loss = (abs(drawn) - variance / t) ** 2 / (2 * variance)
        if draw_bernoulli_exp(loss.numerator, loss.denominator, source):
            return drawn


def draw_gaussian_array(variance: Fraction, count: int, source: RandomSource) -> IntArray:
    """Return `count` independent draws of discrete Gaussian noise, shape (count,)."""
    return np.array([draw_gaussian(variance, source) for _ in range(count)], dtype=np.int64)


@lru_cache(maxsize=16)
def find_rho(epsilon: Fraction, delta: Fraction) -> Fraction:
    """Return a rho for which rho-zCDP implies (epsilon, delta)-differential privacy.

    The bound is that of Canonne, Kamath and Steinke (2020), corollary 13; the result is the largest multiple
    of epsilon / 2^20 at which it holds.
    Raises CentralError if the delta is too small for floats, or for a multiple above zero.
    """
    if not float(delta):
        raise CentralError(_DELTA_TOO_SMALL)
    low, high = 0, _STEPS_OF_RHO  # rho < epsilon, or the bound never holds
    target = math.log(delta) - 1e-9  # margin for the rounding of floats
    while high - low > 1:
        middle = (low + high) // 2
        if _log_delta(float(epsilon) * middle / _STEPS_OF_RHO, float(epsilon)) <= target:
            low = middle
        else:
            high = middle
    if low == 0:
        raise CentralError(_DELTA_TOO_SMALL)
    return epsilon * low / _STEPS_OF_RHO


def _log_delta(rho: float, epsilon: float) -> float:
    """Return log delta, the least of the bound over its order alpha > 1; every alpha gives a valid bound."""

    def bound(alpha: float) -> float:
        return (alpha - 1) * (alpha * rho - epsilon) + alpha * math.log1p(-1 / alpha) - math.log(alpha - 1)

    low, high = 1.0 + 1e-9, min((epsilon + 1) / (2 * rho) + 2, _MAX_SECURITY_ORDER)
    for _ in range(200):
        left, right = low + (high - low) * 0.382, low + (high - low) * 0.618
        if bound(left) < bound(right):
            high = right
        else:
            low = left
    return bound((low + high) / 2)


# -- noise for vectors ------------------------------------------------------------------------------
# Continuous noise of density proportional to e^(-rate ||b||), and the cover noise for its float arithmetic.
#
# The norm has the gamma distribution of m exponential summands, the direction is uniform. Uniforms have 512
# bits. Each is converted so that logarithms, sines and cosines keep their relative precision, unless it is
# among the 2^53 smallest or largest values. So all coordinates of b have a small relative error, except with
# the probability that :func:`bound_tail_delta` takes into account.


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

    If the ideal numbers are e-differentially private, the result is (e + epsilon)-differentially private. The
    proof: with the ideal numbers fixed, the computed ones of two data sets differ by 2 (error + rounding) in
    Euclidean norm, so by sqrt(m) times that in L1 norm. The noise on the grid has that over epsilon as its
    scale. All of it is computed in integers. `values` has the shape (m,).
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
