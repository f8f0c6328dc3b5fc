"""The bounds of e^epsilon enclose an exact series, and the proof refuses tables that spend more."""

import decimal
from decimal import Decimal
from fractions import Fraction

import pytest

from encoders.epsilon_proof import exp_bounds, realised_epsilon, require_private
from encoders.errors import PrivacyError
from tests.support.reference import e_to_the

EPSILONS = ("0.001", "0.1", "0.5", "1", "2", "3.3", "4", "8", "31.999", "32")


@pytest.mark.parametrize("x", [*EPSILONS, "0", "0.25", "12.3456789"])
def test_the_bounds_enclose_the_exponential(x):
    low, high = exp_bounds(Decimal(x))
    below, above = e_to_the(Fraction(x))
    assert low < above
    assert below < high
    assert (high - low) / low < Fraction(1, 10**58)
    lower, upper = exp_bounds(-Decimal(x))
    assert lower < 1 / below
    assert 1 / above < upper


def test_the_bounds_do_not_depend_on_the_application_s_decimal_context():
    expected = exp_bounds(Decimal("1.25"))
    exp_bounds.cache_clear()
    with decimal.localcontext() as context:
        context.prec, context.rounding = 3, decimal.ROUND_UP
        assert exp_bounds(Decimal("1.25")) == expected


def ln_at_most(ratio: Fraction, x: Decimal) -> bool:
    return ratio <= e_to_the(Fraction(x))[1]


@pytest.mark.parametrize(
    "ratio",
    [
        Fraction(10**12 + 1, 10**12),
        Fraction(11, 10),
        Fraction(27182818284590452353602874713526625, 10**34),  # e, just below
        Fraction(27182818284590452353602874713526625 + 1, 10**34),
        Fraction(2),
        Fraction(7**100, 3**150),
        Fraction(10**13),
    ],
)
def test_realised_epsilon_is_never_understated(ratio):
    realised = realised_epsilon(ratio)
    assert ln_at_most(ratio, realised)
    step = Decimal((0, (1,), realised.adjusted() - 11))  # one unit of its last digit
    assert not ln_at_most(ratio, realised - 2 * step)


@pytest.mark.parametrize("epsilon", EPSILONS)
def test_a_ratio_is_private_up_to_e_to_the_epsilon_and_not_beyond(epsilon):
    below, above = e_to_the(Fraction(epsilon))
    nudge = Fraction(1, 10**30)
    require_private(below - nudge, Decimal(epsilon))
    with pytest.raises(PrivacyError, match="above epsilon"):
        require_private(above + nudge, Decimal(epsilon))
