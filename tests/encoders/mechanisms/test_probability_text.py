"""Probabilities in words."""

from fractions import Fraction

import pytest

from encoders.mechanisms.probability_text import choose_unit, noise_text, others_text, percent, round_up
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
def test_percentage_differs_from_zero_and_one_hundred(share, words):
    assert percent(share) == words


@pytest.mark.parametrize(
    ("shares", "words"),
    [
        ([Fraction(1, 3)], ["33.3%"]),
        ([Fraction(731, 1000), Fraction(269, 1000)], ["73.1%", "26.9%"]),
        ([Fraction(182, 10**5), Fraction(494, 10**5)], ["0.182%", "0.494%"]),
        ([Fraction(67, 10**5), Fraction(182, 10**5)], ["0.0670%", "0.1820%"]),
        ([Fraction(1, 10_000)], ["0.0100%"]),
        (
            [Fraction(3, 5), Fraction(1, 3078123), Fraction(1, 1490)],
            ["1 in 1.67", "1 in 3,080,000", "1 in 1,490"],
        ),
        ([Fraction(1, 10**12), Fraction(272, 10**14)], ["1 in 1.00 x 10^12", "1 in 3.68 x 10^11"]),
        ([Fraction(1, 10**400)], ["1 in 1.00 x 10^400"]),
    ],
)
def test_probabilities_of_one_table_are_in_one_unit_and_never_zero(shares, words):
    assert list(map(choose_unit(shares), shares)) == words


def test_one_other_is_the_other():
    assert (others_text(1), others_text(11)) == ("the other", "each of the 11 others")


def test_noise_text_without_a_range_if_zero_is_very_likely():
    assert noise_text([0, WORD], 1) == "0 with probability 100.0%"
    quarter = WORD // 4
    assert noise_text([quarter, 2 * quarter, quarter], 1) == (
        "0 with probability 50.0% and between -1 and 1 with 100.0%"
    )


# -- upper bounds ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("number", "text"),
    [(Fraction(2), "2.0000"), (Fraction(27182, 10**4), "2.7182"), (Fraction(271821, 10**5), "2.7183")],
)
def test_round_up_keeps_exact_decimals(number, text):
    assert round_up(number, 4) == text
