"""Writes probabilities for people to read. Devices draw from the integers of the tables instead."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Sequence
from decimal import Decimal
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


def round_up(number: Fraction, digits: int) -> str:
    """Write a number with this many decimals, rounded up."""
    return f"{Decimal(math.ceil(number * 10**digits)).scaleb(-digits):f}"


def choose_unit(shares: Collection[Fraction]) -> Callable[[Fraction], str]:
    """Return a function that writes probabilities above 0 in one unit, the least with 3 digits or more."""
    least = min(shares)
    if least < Fraction(1, 10_000):
        return _one_in
    digits = max(1, -math.floor(_log10(least)))
    return lambda share: f"{float(share):.{digits}%}"


def _one_in(share: Fraction) -> str:
    if share < Fraction(1, 10**9):
        exponent = -_log10(share)
        return f"1 in {10 ** (exponent % 1):.2f} x 10^{math.floor(exponent)}"
    number = float(f"{float(1 / share):.3g}")
    return f"1 in {number:,.0f}" if number >= 100 else f"1 in {number:g}"


def others_text(count: int) -> str:
    return "the other" if count == 1 else f"each of the {count} others"


def noise_text(law: Sequence[int], zero: int) -> str:
    """Describe noise by its probabilities, out of 2^64, on consecutive numbers; `zero` is the index of 0."""
    reach, inside = 0, law[zero]
    while 10 * inside < 9 * WORD:
        reach += 1
        inside = sum(law[max(zero - reach, 0) : zero + reach + 1])
    nothing = f"0 with probability {percent(Fraction(law[zero], WORD))}"
    near = f" and between -{reach} and {reach} with {percent(Fraction(inside, WORD))}" if reach else ""
    return nothing + near


def _log10(share: Fraction) -> float:
    return math.log10(share.numerator) - math.log10(share.denominator)
