"""Proves with exact arithmetic that a mechanism spends at most epsilon.

The probabilities of a mechanism are integers, so its worst likelihood ratio is an exact rational. The proof
compares it with e^epsilon, which is bracketed between two rationals.
"""

from __future__ import annotations

from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from fractions import Fraction
from functools import lru_cache

from encoders.errors import PrivacyError, SurveyError

MIN_EPSILON, MAX_EPSILON = Decimal("0.001"), Decimal(32)
_DIGITS = 60


def check_epsilon(epsilon: Decimal, most: Decimal = MAX_EPSILON) -> None:
    if not (epsilon.is_finite() and MIN_EPSILON <= epsilon <= most):
        raise SurveyError(f"epsilon must be between {MIN_EPSILON} and {most}", "epsilon")


@lru_cache(maxsize=256)
def exp_bounds(x: Decimal) -> tuple[Fraction, Fraction]:
    """Return two rationals that enclose e^x: the neighbours of its nearest decimal of 60 digits."""
    context = Context(prec=_DIGITS, Emin=-(10**6), Emax=10**6)
    nearest = context.exp(x)
    return Fraction(context.next_minus(nearest)), Fraction(context.next_plus(nearest))


def realised_epsilon(ratio: Fraction) -> Decimal:
    """Return ln(ratio), the epsilon that tables with this likelihood ratio spend, rounded up to 12 digits."""
    up, down = (Context(prec=_DIGITS, rounding=ROUND_CEILING), Context(prec=_DIGITS, rounding=ROUND_FLOOR))
    quotient = up.divide(Decimal(ratio.numerator), Decimal(ratio.denominator))
    logarithm = down.next_plus(up.ln(quotient))
    return Context(prec=12, rounding=ROUND_CEILING).plus(logarithm)


def require_private(ratio: Fraction, epsilon: Decimal) -> None:
    """Raise PrivacyError if ``ratio > e^epsilon``, or so close that 60 digits cannot decide."""
    if ratio > exp_bounds(epsilon)[0]:
        raise PrivacyError(
            f"tables spend {realised_epsilon(ratio)}, above epsilon {epsilon}: compile the survey again"
        )
