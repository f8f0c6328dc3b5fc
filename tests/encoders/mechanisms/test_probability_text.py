"""Probabilities in words."""

from __future__ import annotations

from fractions import Fraction

import pytest

from encoders.mechanisms.probability_text import noise_text, odds, others_text, percent
from encoders.probability_tables import WORD


@pytest.mark.parametrize(
    ("share", "words"),
    [
        (Fraction(0), "0.0%"),
        (Fraction(1), "100.0%"),
        (Fraction(1, 2), "50.0%"),
        (Fraction(1, 1000), "0.1%"),
        (Fraction(1, 3000), "0.033%"),
        (1 - Fraction(1, 3000), "99.967%"),
        (Fraction(1, 10**7), "0.000010%"),
        (Fraction(1, 10**20), "nearly 0%"),
        (1 - Fraction(1, 10**20), "nearly 100%"),
    ],
)
def test_percentage_differs_from_zero_and_one_hundred(share: Fraction, words: str) -> None:
    assert percent(share) == words


@pytest.mark.parametrize(
    ("share", "words"),
    [
        (Fraction(1, 3), "33.3%"),
        (Fraction(1, 3078123), "1 in 3,080,000"),
        (Fraction(1, 10**400), "1 in 10^400.0"),
    ],
)
def test_small_odds_are_never_shown_as_zero(share: Fraction, words: str) -> None:
    assert odds(share) == words


def test_one_other_is_the_other() -> None:
    assert (others_text(1), others_text(11)) == ("the other", "each of the 11 others")


def test_noise_text_without_a_range_if_zero_is_very_likely() -> None:
    assert noise_text([0, WORD], 1) == "0 with probability 100.0%"
    quarter = WORD // 4
    assert noise_text([quarter, 2 * quarter, quarter], 1) == (
        "0 with probability 50.0% and between -1 and 1 with 100.0%"
    )
