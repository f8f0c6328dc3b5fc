"""The spread of a number: what an author states, and what `ldp-survey size` makes of it."""

import json
from dataclasses import replace
from math import sqrt

import pytest

from encoders.errors import SurveyError
from encoders.survey import read_survey
from encoders.survey.any_survey import read_any_survey
from encoders.survey.toml_reader import read_curator_survey
from ldp_design.sizing.silo_size import size_silos
from ldp_design.sizing.size_summary import format_size
from ldp_design.sizing.survey_size import size_for_users
from tests.ldp_design.sizing.surveys import make_pilot
from tests.support.surveys import survey_toml


def write(spread=None, **entry):
    number = {"range": [0, 60]} | ({} if spread is None else {"spread": spread}) | entry
    return survey_toml(features={"hours": number}, label=None)


def size(spread=None, users=10_000):
    return size_for_users(read_survey(write(spread)), users)


def test_plan_and_digest_do_not_depend_on_a_spread():
    plain, stated = (read_survey(write(each)).compile() for each in (None, 1.5))
    assert stated == plain
    assert (stated.json, stated.digest) == (plain.json, plain.digest)
    assert stated.features[0].spread == 1.5


@pytest.mark.parametrize("spread", [0, -1, 31, 1e-9, "2", True])
def test_a_spread_that_no_number_in_the_range_has_is_refused(spread):
    with pytest.raises(SurveyError, match=r"features.hours.spread.*a number from a millionth to a half"):
        read_survey(write(spread))


@pytest.mark.parametrize(
    "entry", [{"range": [0, 9], "bins": 4}, {"edges": [0, 1, 2]}, {"values": ["a", "b"]}]
)
def test_only_a_number_without_bins_has_a_spread(entry):
    with pytest.raises(SurveyError, match=r"features.hours.spread.*only for range = .* without bins"):
        read_survey(survey_toml(features={"hours": {"spread": 1} | entry}))


def test_the_largest_spread_is_half_of_the_range():
    assert size(30).margins[0].typical == pytest.approx(30)


@pytest.mark.slow
def test_the_mean_is_graded_by_the_spread():
    assumed, stated = size().margins[0], size(1.5).margins[0]
    assert (assumed.typical, stated.typical) == (pytest.approx(10), pytest.approx(1.5))
    assert (assumed.grade, stated.grade) == ("good", "noise")
    assert size().narrower_ranges == ()


@pytest.mark.slow
def test_a_narrower_range_is_proposed_with_its_margin():
    found = size(1.5)
    [narrower] = found.narrower_ranges
    assert narrower.unit == pytest.approx(9)
    measured = size_for_users(read_survey(write(1.5, range=[10, 19])), 10_000).margins[0]
    assert narrower.margin == pytest.approx(measured.margin)
    assert narrower.deviation == pytest.approx(measured.deviation)
    text = " ".join(format_size(found).split())
    assert "hours: the range is 60 wide, and the spread 1.5. With a range of width 9, the mean" in text
    assert "numbers outside the range are clipped" in text
    assert json.loads(json.dumps(found.as_dict()))["narrower_ranges"][0]["name"] == "hours"


@pytest.mark.parametrize(("spread", "proposed"), [(6.0, True), (6.7, False), (10.0, False)])
def test_a_range_that_is_hardly_too_wide_is_left(spread, proposed):
    assert bool(size(spread).narrower_ranges) == proposed


@pytest.mark.slow
def test_the_spread_is_part_of_the_assumptions():
    shown = [" ".join(format_size(each).split()) for each in (size(), size(1.5))]
    assert "standard deviation is a sixth of its range" in shown[0]
    assert "standard deviation is its spread in the survey, or a sixth of its range" in shown[1]


@pytest.mark.slow
def test_a_pilot_replaces_the_spread():
    survey = read_survey(write(1.5))
    pilot = replace(make_pilot(survey.compile()), reports=50_000)
    assert size_for_users(survey, 10_000, pilot).narrower_ranges == ()


def test_a_silo_survey_has_spreads():
    text = survey_toml(kind="silo", rows=5_000, features={"hours": {"range": [0, 60], "spread": 1.5}})
    found = size_silos(read_any_survey(text), 1_000, 2)
    assert found.features[0].typical == pytest.approx(1.5)


def test_a_central_survey_has_no_spread():
    features = {"hours": {"range": [0, 60], "spread": 1.5}}
    with pytest.raises(SurveyError, match=r"spread.*is not an entry here"):
        read_curator_survey(survey_toml(kind="central", epsilon=None, features=features))


def test_the_margin_of_the_mean_falls_with_the_width():
    found = size(1.5)
    assert found.narrower_ranges[0].margin < found.margins[0].margin / sqrt(9)
