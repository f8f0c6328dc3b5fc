"""Designs the integer probability tables of mechanisms; only authors' programs need it.

The ideal probabilities contain e^epsilon. This module rounds it once, in the direction that loses accuracy
and not privacy.
"""

from __future__ import annotations

import math
from decimal import Context, Decimal, localcontext
from fractions import Fraction
from itertools import pairwise

from encoders.epsilon_proof import exp_bounds
from encoders.errors import SurveyError
from encoders.probability_tables import WORD, bit_ratio

MAX_EPSILON_LOSS = 1e-4
"""The share of epsilon that rounding bit probabilities may cost."""

DESIGN_CONTEXT = Context(prec=60)
_TAIL_PROBABILITY = Decimal(1) / (1 << 32)
_SCALE_MARGIN = Decimal(1) / (1 << 14)
_MAX_LAPLACE_SCALE = 512
"""Largest scale of a Laplace table, in steps. Above it, rounding the tail's weights, of 2^32/scale, costs
more than the margin of 2^-14/scale covers."""


def keep_threshold(domain: int, epsilon: Decimal, size: int = 1) -> int:
    """Return the threshold T: a reported set of `size` values contains the true value if a draw is below T.

    The draw has 64 bits; `size` 1 is direct encoding. T is the largest integer with
    ``T * most <= e^epsilon (2^64 - T) * least``. Here multiply-shift maps at most `most` 64-bit draws to a
    combination of size - 1 of the other values, and at least `least` draws to a combination of `size`. The
    ideal is T = 2^64 size e^eps / (size e^eps + d - size) (Yilmaz et al. 2019, section 2.2.1; Ye and Barg
    2018).
    """
    most, least = -(-WORD // math.comb(domain - 1, size - 1)), WORD // math.comb(domain - 1, size)
    limit = exp_bounds(epsilon)[0] * Fraction(least, most)
    return math.floor(WORD * limit / (1 + limit))


def bit_thresholds(p: Fraction, q: Fraction) -> tuple[int, int, int]:
    """Return (bits, P, Q): a 1 stays 1 with probability P / 2^bits, a 0 becomes 1 with Q / 2^bits.

    P is rounded down and Q up, so that the likelihood ratio can only shrink. `bits` is the smallest
    number that loses at most 1e-4 of the ideal epsilon, because each bit costs random bytes.
    """
    ideal = math.log(p * (1 - q) / (q * (1 - p)))
    for bits in range(1, 65):
        big, small = math.floor(p * (1 << bits)), math.ceil(q * (1 << bits))
        if small < big and ideal - math.log(bit_ratio(bits, big, small)) <= MAX_EPSILON_LOSS * ideal:
            break
    return bits, big, small


def laplace_weights(scale: Decimal) -> list[int]:
    """Return the discrete Laplace table: weights of the magnitudes 0, 1, ..., K, out of 2^64.

    P[z] is proportional to e^(-|z|/scale) on the integers. The last weight is that of all |z| >= K, so
    that every clamped output remains possible. The weights of z = 1..K count once for each sign.
    `scale` is widened by 2^-14 to cover the rounding of the weights.
    Raises SurveyError if the scale is above 512 steps.
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
