"""Writes probabilities for people to read. Devices draw from the integers of the tables instead."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction

from encoders.probability_tables import WORD

_RARE = Fraction(1, 1000)


def percent(share: Fraction) -> str:
    """Write a probability as 65.8%, with enough digits to distinguish it from 0 and from 1."""
    margin = min(share, 1 - share)
    if not 0 < margin < _RARE:
        return f"{float(share):.1%}"
    digits = math.ceil(-_log10(margin)) - 1
    if digits > 12:
        return "nearly 0%" if share < _RARE else "nearly 100%"
    return f"{float(share):.{digits}%}"


def odds(share: Fraction) -> str:
    """Write a probability above 0, however small, as 65.8% or as 1 in 52,600."""
    if share >= _RARE:
        return percent(share)
    if share > Fraction(1, 10**9):
        return f"1 in {float(f'{float(1 / share):.3g}'):,.0f}"
    return f"1 in 10^{-_log10(share):.1f}"


def others_text(count: int) -> str:
    """Return `count` others in words: "the other", "each of the 11 others"."""
    return "the other" if count == 1 else f"each of the {count} others"


def noise_text(law: Sequence[int], zero: int) -> str:
    """Describe noise: the probability of 0, and the smallest range around 0 that has probability 90%.

    Parameters
    ----------
    law : sequence of int
        Distribution on consecutive whole numbers, out of 2^64.
    zero : int
        Index of the number 0.
    """
    reach, inside = 0, law[zero]
    while 10 * inside < 9 * WORD:
        reach += 1
        inside = sum(law[max(zero - reach, 0) : zero + reach + 1])
    nothing = f"0 with probability {percent(Fraction(law[zero], WORD))}"
    near = f" and between -{reach} and {reach} with {percent(Fraction(inside, WORD))}" if reach else ""
    return nothing + near


def _log10(share: Fraction) -> float:
    """Return the logarithm of a fraction that may be too small for a float."""
    return math.log10(share.numerator) - math.log10(share.denominator)
