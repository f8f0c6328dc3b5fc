"""Decimal numbers as an author writes them."""

from __future__ import annotations

from decimal import Context, Decimal
from fractions import Fraction

from encoders.survey.canonical import decimal_text

_FIFTEEN = Context(prec=15)
MAX_DIGITS = 20


def number(value: object) -> Decimal | None:
    """Return a number as a Decimal if it is finite, also as a double, and of at most 20 digits; else None."""
    if isinstance(value, bool) or not isinstance(value, int | Decimal):
        return None
    exact = Decimal(value)
    sober = exact.is_finite() and -300 < exact.adjusted() < 300
    return exact if sober and len(exact.as_tuple().digits) <= MAX_DIGITS else None


def equal_width(low: Decimal, high: Decimal, bins: int) -> tuple[str, ...]:
    """Return the bins + 1 edges of equal-width bins, to 15 digits (Yilmaz et al. 2019, section 3.2)."""
    exact = (Fraction(low) + (Fraction(high) - Fraction(low)) * j / bins for j in range(1, bins))
    inner = [_FIFTEEN.divide(Decimal(edge.numerator), Decimal(edge.denominator)) for edge in exact]
    return tuple(decimal_text(edge) for edge in [low, *inner, high])
