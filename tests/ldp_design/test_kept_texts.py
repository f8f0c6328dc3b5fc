"""A validation round and a projected survey keep [about] and the texts of a survey."""

import pytest

from encoders.survey import Survey, read_survey
from encoders.survey.display_texts import display_texts
from ldp_design.authoring.project import write_projection
from ldp_design.model_validation import write_validation_round
from tests.ldp_design import test_validation_round_file as validate
from tests.ldp_design.authoring import test_project as project

TEXTS = """
# What people read.
[about]
purpose = \"\"\"
To learn about tea.
[This line is no table.]

id = "and this one is no entry"
\"\"\"

[texts.en]
title = "Tea"

[texts.en.label]
title = "Are you tired?"
values = {{ yes = "Yes", no = "No" }}

[texts.en.features.{feature}]
title = "A question?"
"""


def with_texts(survey: str, feature: str) -> str:
    return survey + TEXTS.format(feature=feature)


def require_kept(text: str, old: str, new: str) -> Survey:
    """Check that a new round has the texts of the old survey, which stay as they were written."""
    assert text in new
    survey = read_survey(new)
    assert survey.texts
    assert survey.texts == read_survey(old).texts
    assert survey.texts.about["purpose"].startswith("To learn about tea.\n[This line is no table.]")
    assert display_texts(survey.compile()).label.title == "Are you tired?"
    return survey


@pytest.mark.slow
def test_validation_round_keeps_the_texts_of_the_row():
    survey = with_texts(validate.SURVEY, "echo")
    written = write_validation_round(
        survey, validate.make_model(validate.make_snapshot(survey, 1)), "model.json"
    )
    plan = require_kept(TEXTS.format(feature="echo"), survey, written).compile()
    assert plan.validation
    assert display_texts(plan).features["echo"].title == "A question?"
    assert list(display_texts(plan).features) == [feature.name for feature in plan.entries]


def test_projected_survey_keeps_the_texts_of_numbers_that_become_inputs():
    survey = with_texts(project.SURVEY, "hours")
    written = write_projection(survey, project.TABLE, "rows.csv")
    plan = require_kept(TEXTS.format(feature="hours"), survey, written).compile()
    assert display_texts(plan).features["hours"].title == "A question?"
    assert "dca1" not in display_texts(plan).features
