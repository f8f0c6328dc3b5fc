"""Writes upper bounds on factors and probabilities, rounded up."""

from __future__ import annotations

import math
from decimal import ROUND_CEILING, Context, Decimal
from fractions import Fraction

_ROUND_UP = Context(prec=3, rounding=ROUND_CEILING)
_MAX_DIGITS = 4
"""Largest number of decimals of a bound near 100%."""
_SHORT = Context(prec=4, rounding=ROUND_CEILING)
_LONG = Context(prec=60, rounding=ROUND_CEILING)
_LEAST_PLAIN = -4
_HUGE = 10**12
"""From this number on, a factor is written with an exponent."""


def percent_at_most(share: float) -> str:
    """Write an upper bound on a probability as a percentage with three digits, rounded up.

    A bound below 1 never becomes 100%: it has more digits instead, as 99.95%, and above 99.9999% it is
    "nearly 100%".
    """
    exact = 100 * Decimal(share)
    rounded = _ROUND_UP.plus(exact)
    digits = 2
    while rounded >= 100 and digits <= _MAX_DIGITS:
        rounded = exact.quantize(Decimal(1).scaleb(-digits), ROUND_CEILING)
        digits += 1
    return "nearly 100%" if rounded >= 100 else f"{rounded:f}%"


def factor_at_most(factor: float | Decimal) -> str:
    """Write an upper bound on a factor with three digits, rounded up; a huge one has an exponent."""
    rounded = _ROUND_UP.plus(Decimal(factor))
    return f"{rounded:.2e}" if rounded >= _HUGE else f"{rounded:,f}" if rounded < 100 else f"{int(rounded):,}"


def format_share(share: float) -> str:
    """Write a bound on a share with three digits after the point, rounded up."""
    return f"{min(math.ceil(share * 1000) / 1000, 1.0):.3f}"


def format_amount(amount: Fraction) -> str:
    """Return an exact fraction as a decimal of at most four digits, rounded up."""
    long = _LONG.divide(_LONG.create_decimal(amount.numerator), _LONG.create_decimal(amount.denominator))
    short = long.normalize(_SHORT)
    return format(short, "f" if not short or short.adjusted() >= _LEAST_PLAIN else "e")
