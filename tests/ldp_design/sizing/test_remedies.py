"""Each remedy is enough by itself, and is the smallest of its kind."""

import re
from dataclasses import replace
from decimal import Decimal

import pytest

from encoders.survey import read_survey
from ldp_design.sizing.size_summary import format_size
from ldp_design.sizing.survey_size import (
    Size,
    size_for_users,
)
from tests.ldp_design.sizing.surveys import SURVEY, make_survey, make_text


@pytest.fixture(scope="module")
def partly() -> Size:
    """Return the size of a survey whose feature with the most values is noise."""
    found = size_for_users(SURVEY, 8_000, repeats=0)
    assert "hours" in found.noise
    assert "sugar" not in found.noise
    return found


@pytest.mark.slow
def test_with_each_remedy_by_itself_no_feature_is_noise(partly):
    found = partly.remedies
    users = size_for_users(SURVEY, found.users, repeats=0)
    epsilon = size_for_users(replace(SURVEY, epsilon=found.epsilon), 8_000, repeats=0)
    weights = (None, *(1 if each.name in found.features else 0 for each in SURVEY.features))
    fewer = size_for_users(replace(SURVEY, weights=weights), 8_000, repeats=0)
    assert users.noise == epsilon.noise == fewer.noise == ()


@pytest.mark.slow
def test_each_remedy_is_the_smallest_of_its_kind(partly):
    found = partly.remedies
    assert size_for_users(SURVEY, round(0.97 * found.users), repeats=0).noise
    assert size_for_users(replace(SURVEY, epsilon=found.epsilon - Decimal("0.01")), 8_000, repeats=0).noise
    assert 0 < len(found.features) < len(SURVEY.features)
    assert "hours" not in found.features


@pytest.mark.slow
def test_fewer_values_are_a_remedy_where_a_feature_has_too_many():
    few = replace(SURVEY, weights=(None, 1, 1, 0, 1))
    found = size_for_users(few, 15_000, repeats=0)
    assert found.noise == ("hours",)
    assert 2 <= found.remedies.values < 8
    text = make_text().replace("bins = 8", f"bins = {found.remedies.values}")
    coarser = replace(read_survey(text), weights=(None, 1, 1, 0, 1))
    assert size_for_users(coarser, 15_000, repeats=0).noise == ()


@pytest.mark.slow
def test_changes_that_are_never_enough_are_named():
    text = format_size(size_for_users(SURVEY, 100, repeats=0))
    assert "With any one of these changes no feature is noise:" in text
    assert "more people" in text
    (insufficient,) = re.findall(r"Not enough by themselves: ([^.]*)\.", " ".join(text.split()))
    assert insufficient == (
        "an epsilon up to 2 (the maximum that clients accept by default), fewer features, fewer values or "
        "bins"
    )


@pytest.mark.slow
@pytest.mark.usefixtures("only_users_as_remedy")
def test_users_in_the_survey_are_a_remedy_if_too_few_make_the_label_question_frequent():
    crowded = make_survey(users=100)
    users = next(
        each
        for each in range(5_000, 60_000, 5_000)
        if not size_for_users(replace(crowded, users=each), each, repeats=0).noise
    )
    found = size_for_users(crowded, users, repeats=0)
    assert found.noise
    assert found.remedies.survey_users == users
    assert f"{users:,} instead of 100" in format_size(found)
    few = size_for_users(crowded, 1_000, repeats=0)
    assert few.remedies.survey_users is None
