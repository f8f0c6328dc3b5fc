"""Integer probability tables: what mechanisms draw from, and what estimators compute from.

Floating-point noise leaks the input, so a mechanism is a finite table of integers out of a power of
two. The ideal probabilities contain e^epsilon; it enters once, here, rounded in the direction that
can only cost accuracy. What the integers spend is proved in :mod:`encoders.epsilon_proof`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from decimal import Context, Decimal, localcontext
from fractions import Fraction
from itertools import accumulate, pairwise

from encoders.epsilon_proof import exp_bounds
from encoders.errors import SurveyError

WORD = 1 << 64
"""One 64-bit draw: probabilities of whole words are integers out of this."""

MAX_EPSILON_LOSS = 1e-4
"""The share of epsilon that rounding bit probabilities may cost."""

DESIGN_CONTEXT = Context(prec=60)
"""The arithmetic that tables are designed in."""
_TAIL_PROBABILITY = Decimal(1) / (1 << 32)
_SCALE_MARGIN = Decimal(1) / (1 << 14)
_MAX_LAPLACE_SCALE = 512
"""Steps of a Laplace table's scale at most: from there on the tail's weights, of 2^32/scale, round by more
than the slack of 2^-14/scale pays for."""
MAX_LAPLACE_WEIGHTS = 1 << 14
"""Weights of a Laplace table at most; with a tail of 2^-32, the largest scale needs 11,000."""


def keep_threshold(domain: int, epsilon: Decimal, size: int = 1) -> int:
    """Return T: the truth is in a set of `size` values when a 64-bit draw is below T; direct encoding if 1.

    The largest T with ``T * most <= e^epsilon (2^64 - T) * least``, where multiply-shift maps at most `most`
    64-bit draws to a combination of size - 1 of the others, and at least `least` to one of `size`; the ideal
    is T = 2^64 size e^eps / (size e^eps + d - size) (Yilmaz et al. 2019, section 2.2.1; Ye and Barg 2018).
    """
    most, least = -(-WORD // math.comb(domain - 1, size - 1)), WORD // math.comb(domain - 1, size)
    limit = exp_bounds(epsilon)[0] * Fraction(least, most)
    return math.floor(WORD * limit / (1 + limit))


def bit_thresholds(p: Fraction, q: Fraction) -> tuple[int, int, int]:
    """Return (bits, P, Q): a one stays one with P, a zero turns one with Q, out of 2^bits.

    Rounded toward each other (P down, Q up), so that the likelihood ratio can only shrink; `bits` is
    the smallest that loses less than 1e-4 of the ideal epsilon, since each costs random bytes.
    """
    ideal = math.log(p * (1 - q) / (q * (1 - p)))
    for bits in range(1, 65):
        big, small = math.floor(p * (1 << bits)), math.ceil(q * (1 << bits))
        if small < big and ideal - math.log(bit_ratio(bits, big, small)) <= MAX_EPSILON_LOSS * ideal:
            break
    return bits, big, small


def bit_ratio(bits: int, p: int, q: int) -> Fraction:
    """Return the exact worst likelihood ratio of a unary report: one bit falls, another rises."""
    whole = 1 << bits
    return Fraction(p * (whole - q), q * (whole - p))


def laplace_weights(scale: Decimal) -> list[int]:
    """Return the discrete Laplace table: weights out of 2^64 of the magnitudes 0, 1, ..., K.

    P[z] is proportional to e^(-|z|/scale) on the integers; all |z| >= K share the last weight, so
    that clamping keeps every output reachable. The weights of z = 1..K count once for each sign.
    `scale` is widened by 2^-14, which pays for the rounding of the weights.

    Raises
    ------
    SurveyError
        If the scale is above 512 steps.
    """
    if scale > _MAX_LAPLACE_SCALE:
        raise SurveyError(f"a Laplace table of scale {scale:.6g} has too many steps: raise epsilon")
    with localcontext(DESIGN_CONTEXT):
        step = (-(1 - _SCALE_MARGIN) / scale).exp()
        reach = [1 / (1 + step)]  # P[z >= 0], P[z >= 1], ...: a geometric tail, step^j / (1 + step)
        while len(reach) < 2 or reach[-1] * step >= _TAIL_PROBABILITY:
            reach.append(reach[-1] * step)
        inner = [math.floor(WORD * (a - b)) for a, b in pairwise(reach[1:])]
        outer = [*inner, math.floor(WORD * reach[-1])]
    return [WORD - 2 * sum(outer), *outer]


def laplace_cells(weights: Sequence[int]) -> list[int]:
    """Spread magnitudes to the signed line: the cells of z = -K, ..., K, adding up to 2^64."""
    return [*reversed(weights[1:]), *weights]


def laplace_cumulative(weights: Sequence[int]) -> list[int]:
    """Return the upper ends of all cells but the last: z + K is the number of ends <= a 64-bit draw."""
    return list(accumulate(laplace_cells(weights)))[:-1]


def shifted_cells(weights: Sequence[int]) -> tuple[list[int], list[int]]:
    """Return the exact laws, out of 2^64, of clamp(0 + z) and clamp(1 + z) on -(K-1), ..., K."""
    cells = laplace_cells(weights)
    zero = [cells[0] + cells[1], *cells[2:]]
    one = [*cells[:-2], cells[-2] + cells[-1]]
    return zero, one
