"""Tests the warnings of surveys that some people cannot answer."""

import re

import pytest

from encoders.explain.nonresponse import is_complete, nonresponse_warnings
from encoders.survey import read_survey
from tests.support.surveys import survey_toml

SURVEY = survey_toml(
    id="silence",
    epsilon=1,
    label={"name": "paid", "values": ["yes", "no", "unknown"]},
    features={
        "city": {"values": ["Graz", "Linz", "Wels", "other"], "missing": "category"},
        "size": {"range": [0, 10], "missing": "category"},
        "rooms": {"edges": [0, 1, 3], "missing": "category"},
    },
)


def warnings(old: str = "", new: str = "") -> list[str]:
    assert old in SURVEY
    return nonresponse_warnings(read_survey(SURVEY.replace(old, new)).compile())


@pytest.mark.parametrize(
    "values",
    [
        ["yes", "no"],
        ["true", "false"],
        ["only"],
        ["a", "b", "other"],
        ["a", "b", "Other, or none"],
        ["a", "b", "None of these"],
        ["a", "b", "prefer not to say"],
        ["a", "b", "Don\u2019t know"],
        ["9", "11", "10", "12"],
        ["-1", "0", "1"],
    ],
)
def test_a_complete_list_is_recognised(values):
    assert is_complete(values)


@pytest.mark.parametrize(
    "values",
    [
        ["a", "b", "c"],
        ["1", "2", "4"],
        ["1", "2", "3.5"],
        ["mother", "nonesuch", "another"],
        ["\u0661", "2", "3"],
    ],
)
def test_an_incomplete_list_is_recognised(values):
    assert not is_complete(values)


def test_a_survey_that_everybody_can_answer_is_not_warned_about():
    assert warnings() == []


def test_a_list_without_a_value_for_other_answers_is_named_with_the_remedy():
    warning, _ = warnings('other"]\nmissing = "category"', 'another"]')
    assert warning.startswith(
        "city: a person whose answer is not listed cannot report, and their silence reveals"
    )
    assert 'add "other" to values' in warning
    assert "\n" not in warning
    assert re.search(r" \(nothing to do if [a-z ]+\)$", warning)


def test_a_list_that_may_be_left_out_is_not_warned_about():
    assert warnings(', "other"]', "]") == []


def test_a_warning_quotes_the_question_of_the_texts():
    text = '[texts.en.features.size]\ntitle = "How tall are you?"\n'
    survey = SURVEY.replace('[0, 10]\nmissing = "category"', "[0, 10]") + text
    (warning,) = nonresponse_warnings(read_survey(survey).compile())
    assert warning.startswith("“How tall are you?”: a person without an answer")


def test_a_label_of_several_classes_is_named_too():
    (warning,) = warnings('["yes", "no", "unknown"]', '["yes", "no", "later"]')
    assert warning.startswith("paid (the label): a person whose answer is not listed")


@pytest.mark.parametrize("values", ['["yes", "no"]', "[0, 1, 2, 3]"])
def test_a_label_without_a_value_for_people_without_a_label_is_named_with_the_remedy(values):
    (warning,) = warnings('["yes", "no", "unknown"]', values)
    assert warning.startswith("paid (the label): a person without a label cannot report")
    assert 'add a value such as "unknown", which becomes a class' in warning


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('other"]\nmissing = "category"', 'other"]'),
        ('["yes", "no", "unknown"]', '["yes", "no"]'),
    ],
    ids=["a missing answer", "a missing label"],
)
def test_every_warning_ends_with_the_case_in_which_nothing_is_to_do(old, new):
    (warning,) = warnings(old, new)
    assert re.search(r" \(nothing to do if [a-z ]+\)$", warning)


@pytest.mark.parametrize("feature", ['other"]', "range = [0, 10]", "edges = [0, 1, 3]"])
def test_a_feature_that_refuses_a_missing_answer_is_named_with_the_remedy(feature):
    (warning,) = warnings(f'{feature}\nmissing = "category"', feature)
    assert warning.split(": ")[0] in ("city", "size", "rooms")
    assert "a person without an answer cannot report, and their silence reveals that" in warning
    assert 'add missing = "category"' in warning


def test_all_features_with_one_problem_share_a_line():
    found = warnings('missing = "category"', "")
    assert len(found) == 1
    assert found[0].startswith("city, size, rooms: ")


def test_the_inputs_of_a_projection_are_what_a_person_answers():
    text = (
        "[projection.inputs.a]\nrange = [0, 1]\n"
        '[projection.inputs.b]\nrange = [0, 1]\nmissing = "category"\n'
        '[features.sum]\nweights = [1, 1]\nrange = [-1, 1]\nmissing = "category"\n'
    )
    (warning,) = nonresponse_warnings(read_survey(SURVEY + text).compile())
    assert warning.startswith("a: a person without an answer")
