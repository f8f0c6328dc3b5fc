"""Upper bounds in words: rounded up, never to certainty."""

import math

import pytest

from ldp_aggregator.wording.values import factor_at_most, percent_at_most


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
def test_an_upper_bound_on_a_probability_is_rounded_up_but_not_to_certainty(share, text):
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
def test_an_upper_bound_on_a_factor_is_rounded_up(factor, text):
    assert factor_at_most(factor) == text


def test_no_bound_is_below_what_it_bounds():
    for step in range(1, 2000):
        number = 1.0037**step
        assert float(factor_at_most(number).replace(",", "")) >= number
        shown = percent_at_most(share := number / (1 + number))
        assert shown == "nearly 100%" or float(shown.rstrip("%")) / 100 >= share
