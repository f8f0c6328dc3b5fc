"""A decimal number has one canonical text."""

from __future__ import annotations

from decimal import Decimal

import pytest

from encoders.survey.decimals import decimal_text


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
def test_a_decimal_has_one_spelling(value: str, text: str) -> None:
    assert decimal_text(Decimal(value)) == text
