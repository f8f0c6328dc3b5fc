"""A decimal number has one canonical text."""

from decimal import Decimal
from fractions import Fraction

import pytest

from encoders.canonical import decimal_text
from ldp_aggregator.codec import parse_amount


@pytest.mark.parametrize(
    ("value", "text"),
    [
        *(
            ("1", "1"),
            ("1.0", "1"),
            ("-0.0", "0"),
            ("1E+3", "1000"),
            ("1e-7", "0.0000001"),
            ("-2.50", "-2.5"),
        ),
        ("1.00000000000000000000000000000000000000001", "1.00000000000000000000000000000000000000001"),
    ],
)
def test_a_decimal_has_one_spelling(value, text):
    assert decimal_text(Decimal(value)) == text


@pytest.mark.parametrize("amount", ["0", "3", "1/3", "1e-999", "0.99999999999999999999", "1/1000000"])
def test_an_amount_is_read_as_a_fraction_is_written(amount):
    assert parse_amount(str(Fraction(amount))) == Fraction(amount)


@pytest.mark.parametrize(
    "text",
    [
        *("", "1e99999999", "1E2", "-1", "+1", "0.5", " 1", "1/0", "1/-3", "1_000", "nan", "٣", 1, None),
        *("9" * 1201, f"1/{'9' * 1201}"),
    ],
)
def test_another_text_is_no_amount(text):
    with pytest.raises(ValueError, match="an amount needs a text such as 1/3"):
        parse_amount(text)
