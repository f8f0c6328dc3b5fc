"""Too few people, and how often the label is asked alone."""

import pytest

from encoders.survey import read_survey
from ldp_design.sizing.size_summary import format_size
from ldp_design.sizing.survey_size import (
    compare_sizes,
    size_for_users,
)
from tests.ldp_design.sizing.surveys import SURVEY, make_survey


@pytest.mark.slow
def test_a_survey_with_too_few_people_is_reported():
    found = size_for_users(SURVEY, 200)
    assert found.white_noise
    assert "Too few people: with 200 people at epsilon 1 every feature is noise" in format_size(found)


@pytest.mark.slow
def test_no_feature_is_noise_with_enough_people():
    found = size_for_users(SURVEY, 200_000, repeats=3)
    assert (found.white_noise, found.noise, found.remedies) == (False, (), None)
    assert found.beats_majority
    assert "No feature is noise." in format_size(found)


@pytest.mark.slow
def test_every_feature_may_be_noise_while_a_model_of_all_beats_the_majority():
    wide = read_survey(
        '[survey]\nid="w"\nepsilon=1\n[label]\nname="l"\nvalues=["a","b"]\n'
        + "".join(f'[features.f{i}]\nvalues=["1","2","3","4"]\n' for i in range(20))
    )
    found = size_for_users(wide, 3_000)
    assert len(found.noise) == 20
    assert found.beats_majority
    assert not found.white_noise
    assert "may still beat guessing" in " ".join(format_size(found).split())


@pytest.mark.slow
def test_white_noise_is_unknown_without_a_simulation():
    assert [each.white_noise for each in compare_sizes(SURVEY, users=(200, 10**6))] == [None, False]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("survey", "users", "words"),
    [
        (SURVEY, 100_000, None),
        (
            make_survey(label={"weight": 1}),
            100_000,
            "alone in 20.0% of the reports: [label] weight sets this.",
        ),
        (make_survey(users=300), 300, "P(tired) would be above 0.1 with 300 users in [survey]."),
        (SURVEY, 300, "With 300 users in [survey] the label would be asked alone in"),
    ],
)
def test_the_reason_for_the_label_question_is_explained(survey, users, words):
    text = " ".join(format_size(size_for_users(survey, users, repeats=0)).split())
    assert ("asked alone in" in text) == bool(words)
    assert (words or "") in text
