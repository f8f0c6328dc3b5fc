"""Surveys without a label: one class, which plans, errors and texts do not mention."""

import json

import pytest

from encoders.canonical import dump_canonical_json
from encoders.errors import RowError
from encoders.explain.preview import explain_report, preview
from encoders.randomness import SystemEntropy
from encoders.survey import Plan, read_survey
from encoders.survey.display_texts import display_texts
from encoders.survey.randomise import randomise
from encoders.survey.silo_plan import SiloPlan, read_silo_tables
from tests.support.mistakes import refuse
from tests.support.surveys import make_plan, survey_toml

FEATURES = {
    "tea": {"values": ["black", "green"], "missing": "category"},
    "hours": {"range": [0, 12], "missing": "category"},
    "naps": {"range": [0, 3]},
    "age": {"range": [0, 100], "bins": 4},
    "cups": {"choices": ["small", "large"], "missing": "category"},
}
ROW = {"tea": "green", "hours": 7, "naps": 1, "age": 30, "cups": ["large"]}
MECHANISMS = ("auto", "laplace", "sampled-laplace", "onebit", "sign", "sign-vector", "piecewise")


def without_label(numeric: str = "auto", **changes: object) -> Plan:
    """Return the plan of a survey without a label that asks for every kind of feature."""
    return make_plan(**{"label": None, "features": FEATURES, "mechanism": {"numeric": numeric}} | changes)


@pytest.mark.parametrize("epsilon", [0.5, 4.0])
@pytest.mark.parametrize("numeric", MECHANISMS)
def test_a_plan_is_proved_and_read_again_without_an_entry_for_the_label(numeric, epsilon):
    plan = without_label(numeric, epsilon=epsilon)
    assert "label" not in json.loads(plan.json)
    assert Plan.from_json(plan.json) == plan
    numbers = {"number"} if numeric == "auto" and epsilon > 2 else {"mean", "square"}
    assert {question.kind for question in plan.questions} == {"coupled", *numbers}
    for question in plan.questions:
        question.mechanism.prove(plan.epsilon)


def test_a_question_has_the_domain_of_its_feature_alone():
    plan = without_label()
    assert [question.domain for question in plan.questions if not question.moment] == [3, 4, 3, 3]
    assert plan.questions[0].value((2, 0, 0, 0, 0, 0), 0) == 2


def test_coding_ignores_nothing_and_needs_no_label():
    codes, label_code = without_label().encode(ROW, None)
    assert (codes[0], codes[3:], label_code) == (1, (1, 0, 1), 0)


def test_a_label_is_refused_before_anything_is_drawn():
    with pytest.raises(RowError, match="label: this survey has no label: pass only the row"):
        randomise(without_label(), ROW, "yes", SystemEntropy())


def test_a_survey_with_a_label_needs_one():
    with pytest.raises(RowError, match="tired: the label is missing: pass it after the row"):
        make_plan().encode({"tea": "black", "hours": 3}, None)


@pytest.mark.parametrize("numeric", MECHANISMS)
def test_previews_and_reports_do_not_mention_a_label(numeric):
    plan = without_label(numeric)
    for question in plan.questions:
        shown = preview(plan, ROW, None, SystemEntropy(), question.name)
        for text in (str(shown), explain_report(plan, shown.report), plan._repr_html_()):
            assert "label" not in text
            assert " = ," not in text
            assert "\n  = " not in text


def test_texts_have_no_entry_for_a_label():
    text = survey_toml(label=None, features=FEATURES) + '[texts.en]\ntitle = "Tea"\n'
    assert display_texts(read_survey(text).compile()).label is None


@pytest.mark.parametrize(
    ("features", "more", "why"),
    [
        (FEATURES, '[texts.en.label]\ntitle = "?"\n', "the survey has no label: delete this table"),
        (FEATURES, "[validation]\norder = []\n", "no model to validate"),
        ({}, "", "add at least one table"),
        ({"tea": {"values": ["a", "b"], "weight": 0}}, "", "no question has a positive weight"),
    ],
    ids=["a text of the label", "a validation", "no features", "no question"],
)
def test_a_survey_that_needs_a_label_or_asks_nothing_is_refused(features, more, why):
    text = survey_toml(label=None, features=features) + more
    assert why in str(refuse(text, lambda text: read_survey(text).compile()))


def test_a_label_in_a_plan_needs_two_values_and_a_name():
    document = json.loads(without_label().json)
    for label in ({"name": "", "values": [""]}, {"name": "x", "values": ["y"]}):
        refuse(dump_canonical_json(document | {"label": label}), Plan.from_json)


def test_silos_count_every_value_once():
    tables = {
        "survey": {"id": "tea", "kind": "silo", "epsilon": 1, "rows": 100},
        "features": {"tea": {"values": ["a", "b"]}, "cups": {"choices": ["s", "l"]}},
    }
    survey, mistakes = read_silo_tables(tables)
    plan = survey.compile()
    assert not mistakes
    assert "label" not in json.loads(plan.json)
    assert SiloPlan.from_json(plan.json) == plan
    assert plan.mechanism.cells == 6
    assert list(plan.question.row_parts((1, 0, 1), 0)) == [(1, 1), (2, 1), (5, 1)]
