"""The exact proof that a mechanism keeps epsilon.

A mechanism's probabilities are integers, so its worst likelihood ratio is an exact rational. It is compared
with e^epsilon, bracketed between two rationals; a mechanism that spends more than epsilon is refused.
"""

from __future__ import annotations

from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from fractions import Fraction
from functools import lru_cache

from encoders.errors import PrivacyError, SurveyError

MIN_EPSILON, MAX_EPSILON = Decimal("0.001"), Decimal(32)
_DIGITS = 60


def check_epsilon(epsilon: Decimal) -> None:
    """Raise SurveyError unless epsilon is one that a survey may spend."""
    if not (epsilon.is_finite() and MIN_EPSILON <= epsilon <= MAX_EPSILON):
        raise SurveyError(f"epsilon must be between {MIN_EPSILON} and {MAX_EPSILON}", "epsilon")


@lru_cache(maxsize=256)
def exp_bounds(x: Decimal) -> tuple[Fraction, Fraction]:
    """Bracket e^x between two rationals, 60 digits apart at most.

    The decimal module rounds `exp` to nearest, so the neighbours on both sides enclose the truth.
    """
    context = Context(prec=_DIGITS, Emin=-(10**6), Emax=10**6)
    nearest = context.exp(x)
    return Fraction(context.next_minus(nearest)), Fraction(context.next_plus(nearest))


def realised_epsilon(ratio: Fraction) -> Decimal:
    """Return ln(ratio) rounded up to 12 digits: what the tables spend, never understated."""
    up, down = (
        Context(prec=_DIGITS, rounding=ROUND_CEILING),
        Context(prec=_DIGITS, rounding=ROUND_FLOOR),
    )
    quotient = up.divide(Decimal(ratio.numerator), Decimal(ratio.denominator))
    logarithm = down.next_plus(up.ln(quotient))
    return Context(prec=12, rounding=ROUND_CEILING).plus(logarithm)


def require_private(ratio: Fraction, epsilon: Decimal) -> None:
    """Refuse tables whose exact likelihood ratio exceeds e^epsilon.

    Raises
    ------
    PrivacyError
        If ``ratio > e^epsilon``, or so close that 60 digits cannot decide.
    """
    if ratio > exp_bounds(epsilon)[0]:
        raise PrivacyError(f"these tables spend {realised_epsilon(ratio)}, more than epsilon = {epsilon}")
