"""A size as text."""

from dataclasses import replace
from decimal import Decimal

import pytest

from ldp_aggregator.wording.values import count_people
from ldp_design.sizing.size_summary import format_comparison, format_size
from ldp_design.sizing.survey_size import compare_sizes, size_for_margin, size_for_users
from tests.ldp_design.sizing.surveys import SURVEY, make_forecast, make_pilot, make_rare_pilot, make_survey

SIZES = {
    "few-people": lambda: size_for_users(make_survey(users=300), 100, repeats=0),
    "many-people": lambda: size_for_users(SURVEY, 15_000, repeats=0, label_shares=(0.3, 0.7)),
    "margin": lambda: size_for_margin(SURVEY, 0.05),
    "pilot": lambda: size_for_users(SURVEY, 10**5, make_rare_pilot(), repeats=0),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", SIZES)
def test_the_words_of_a_size(name, compare_with_golden):
    size = SIZES[name]()
    forecasts = {
        each: make_forecast(size.users) for each in (["pilot"] if size.pilot else ["little", "much"])
    }
    compare_with_golden(name, format_size(replace(size, forecasts=forecasts)) + "\n")


@pytest.mark.slow
def test_the_words_of_comparisons(compare_with_golden):
    compare_with_golden("comparison", format_comparison(compare_sizes(SURVEY)) + "\n")
    surveys = [replace(SURVEY, epsilon=Decimal(each)) for each in ("0.5", "2")]
    sizes = [size_for_margin(each, 0.1) for each in surveys]
    compare_with_golden("epsilons", format_comparison(sizes, by_epsilon=True) + "\n")


@pytest.mark.slow
def test_with_a_pilot_no_uniform_share_is_shown():
    text = format_size(size_for_users(SURVEY, 10**5, make_rare_pilot(), repeats=0))
    assert "20.0% +-" not in text
    assert "20.0% +-" in format_size(size_for_users(SURVEY, 10**5, repeats=0))


def test_one_person_is_singular():
    assert (str(count_people(1)), str(count_people(2_000))) == ("1 person", "2,000 people")


@pytest.mark.slow
@pytest.mark.parametrize("users", [100, 5_000, 10**6])
def test_every_line_fits_a_hundred_columns(users):
    for size in (size_for_users(SURVEY, users, repeats=1), size_for_users(SURVEY, users, make_pilot(), 1)):
        assert max(map(len, format_size(size).splitlines())) <= 100
    assert max(map(len, format_comparison(compare_sizes(SURVEY)).splitlines())) <= 100
