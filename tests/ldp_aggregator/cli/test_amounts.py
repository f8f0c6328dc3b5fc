"""Numbers of people, rows and reports as options."""

import click
import pytest

from ldp_aggregator.cli.file_options import Count


@pytest.mark.parametrize("text", ["3000", "3,000", "3_000", " 3000 ", "+3,000", "0003000"])
def test_separators_of_thousands_are_understood(text):
    assert Count(1)(text) == 3000
    assert Count(1)("1,234,567") == 1_234_567


@pytest.mark.parametrize(
    "text", ["3,00", "3.000", "3 000", "3_0", "3000,", ",300", "1,0000", "3e3", "\u0663", ""]
)
def test_other_forms_are_refused_with_the_right_ones(text):
    with pytest.raises(click.BadParameter, match="is not a whole number: write it as 3000 or 3,000"):
        Count(1)(text)


def test_the_range_holds_for_numbers_with_separators_and_numbers_from_files():
    for number in ("0", "-3,000", "5,001", 5001):
        with pytest.raises(click.BadParameter, match="is not in the range"):
            Count(1, 5000)(number)
    assert Count(1, 5000)(5000) == 5000
