"""A size as text."""

from __future__ import annotations

import pytest

from ldp_design.sizing.size import (
    compare_sizes,
    size_for_users,
)
from ldp_design.sizing.summary import format_comparison, format_size
from tests.ldp_design.sizing.surveys import SURVEY, make_pilot, make_rare_pilot


@pytest.mark.slow
def test_with_a_pilot_no_uniform_share_is_shown_and_the_least_precise_class_is_named() -> None:
    text = format_size(size_for_users(SURVEY, 10**5, make_rare_pilot(), 1))
    assert "20.0% +-" not in text
    assert "Here that is 'yes'." in " ".join(text.split())
    assert "20.0% +-" in format_size(size_for_users(SURVEY, 10**5, repeats=0))


@pytest.mark.slow
def test_one_person_is_singular() -> None:
    assert "what to expect from 1 person at" in format_size(size_for_users(SURVEY, 1, repeats=1))


@pytest.mark.slow
@pytest.mark.parametrize("users", [100, 5_000, 10**6])
def test_every_line_fits_a_hundred_columns(users: int) -> None:
    for size in (size_for_users(SURVEY, users, repeats=1), size_for_users(SURVEY, users, make_pilot(), 1)):
        assert max(map(len, format_size(size).splitlines())) <= 100
    assert max(map(len, format_comparison(compare_sizes(SURVEY)).splitlines())) <= 100
