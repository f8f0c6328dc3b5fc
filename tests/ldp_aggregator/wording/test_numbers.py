"""Shares as percentages: none of a possible share looks impossible."""

import pytest

from ldp_aggregator.wording.values import format_percent


@pytest.mark.parametrize(
    ("share", "text"),
    [
        (0.0, "0.0%"),
        (-0.0, "0.0%"),
        (1e-17, "0.0%"),
        (1e-6, "<0.1%"),
        (0.0006, "0.1%"),
        (0.25, "25.0%"),
        (0.9994, "99.9%"),
        (0.99999, ">99.9%"),
        (1 - 1e-16, "100.0%"),
        (1.0, "100.0%"),
    ],
)
def test_only_shares_of_0_and_1_are_written_as_such(share, text):
    assert format_percent(share) == text
