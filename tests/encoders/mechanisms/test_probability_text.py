"""Probabilities in words."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest

from encoders.mechanisms.probability_text import (
    choose_unit,
    factor_at_most,
    noise_text,
    others_text,
    percent,
    percent_at_most,
    round_up,
)
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
def test_probabilities_of_one_table_are_in_one_unit_and_never_zero(
    shares: list[Fraction], words: list[str]
) -> None:
    assert list(map(choose_unit(shares), shares)) == words


def test_one_other_is_the_other() -> None:
    assert (others_text(1), others_text(11)) == ("the other", "each of the 11 others")


def test_noise_text_without_a_range_if_zero_is_very_likely() -> None:
    assert noise_text([0, WORD], 1) == "0 with probability 100.0%"
    quarter = WORD // 4
    assert noise_text([quarter, 2 * quarter, quarter], 1) == (
        "0 with probability 50.0% and between -1 and 1 with 100.0%"
    )


# -- upper bounds ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("share", "text"),
    [
        (0.011040, "1.11%"),
        (0.06945, "6.95%"),
        (0.5, "50.0%"),
        (0.731058, "73.2%"),
        (0.99901, "99.91%"),
        (0.999938, "99.994%"),
        (0.9999447, "99.995%"),
        (0.9999991, "nearly 100%"),
        (1.0, "nearly 100%"),
    ],
)
def test_an_upper_bound_on_a_probability_is_rounded_up_but_not_to_certainty(share: float, text: str) -> None:
    assert percent_at_most(share) == text


@pytest.mark.parametrize(
    ("factor", "text"),
    [
        (math.exp(0.1), "1.11"),
        (math.exp(1.5), "4.49"),
        (math.exp(4), "54.6"),
        (100.0, "100"),
        (100.001, "101"),
        (math.exp(12), "163,000"),
        (math.exp(32), "7.90e+13"),
    ],
)
def test_an_upper_bound_on_a_factor_is_rounded_up(factor: float, text: str) -> None:
    assert factor_at_most(factor) == text


def test_no_bound_is_below_what_it_bounds() -> None:
    for step in range(1, 2000):
        number = 1.0037**step
        assert float(factor_at_most(number).replace(",", "")) >= number
        shown = percent_at_most(share := number / (1 + number))
        assert shown == "nearly 100%" or float(shown.rstrip("%")) / 100 >= share


@pytest.mark.parametrize(
    ("number", "text"),
    [(Fraction(2), "2.0000"), (Fraction(27182, 10**4), "2.7182"), (Fraction(271821, 10**5), "2.7183")],
)
def test_round_up_keeps_exact_decimals(number: Fraction, text: str) -> None:
    assert round_up(number, 4) == text
