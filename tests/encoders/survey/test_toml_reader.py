"""Authored surveys: what is accepted, and the field and line of every mistake."""

import dataclasses
import decimal
from decimal import Decimal

import pytest

from encoders.errors import PrivacyError, SurveyError
from encoders.survey import BinnedFeature, CategoricalFeature, Label, Survey, read_survey
from encoders.survey.plan_files import PEOPLE_PLANS
from tests.support.mistakes import refuse
from tests.support.surveys import GOOD


def test_a_survey_is_read_as_written():
    assert read_survey(GOOD) == Survey(
        id="sleep-2026",
        epsilon=Decimal("1.5"),
        label=Label("rested", ("yes", "no")),
        features=(
            CategoricalFeature("age", ("young", "old"), "category"),
            BinnedFeature("hours", ("0", "2.5", "5", "7.5", "10"), "error"),
        ),
        weights=(None, 1, 3),
        frequency="OUE",
    )


SAME = {
    "inline tables": """\
survey = {id = "sleep-2026", epsilon = 1.5}
label = {name = "rested", values = ["yes", "no"]}
mechanism.frequency = "OUE"
[features]
age = {values = ["young", "old"], missing = "category"}
hours = {range = [0, 10], bins = 4, weight = 3}
""",
    "dotted keys": """\
survey.id = "sleep-2026"
survey.epsilon = 1.5
label.name = "rested"
label.values = ["yes", "no"]
features.age.values = ["young", "old"]
features.age.missing = "category"
features.hours.range = [0, 10.0]
features.hours.bins = 4
features.hours.weight = 3
mechanism.frequency = "OUE"
""",
    "quoted keys and lists over lines": """\
["survey"]
"id" = 'sleep-2026'
epsilon = 1.50
['label']
name = "rested"
values = [
    "yes",  # = well
    "no",
]
[features."age"]
values = [
    "young", "old",
]
missing = "category"
[ features . hours ]
edges = [0, 2.5,
  5, 7.5, 1e1]
weight = 3
[mechanism]
frequency = "OUE"
""",
    "windows": "\ufeff" + GOOD.replace("\n", "\r\n"),
}


@pytest.mark.parametrize("name", SAME)
def test_every_way_to_write_toml_gives_the_same_plan(name):
    assert read_survey(SAME[name]) == read_survey(GOOD)
    assert read_survey(SAME[name]).compile().digest == read_survey(GOOD).compile().digest


@pytest.mark.parametrize(
    ("name", "old", "new", "field", "line"),
    [
        ("inline tables", "1.5", "0", "survey.epsilon", 1),
        ("inline tables", "bins = 4", "bins = 0", "features.hours.bins", 6),
        ("dotted keys", "1.5", "0", "survey.epsilon", 2),
        ("dotted keys", "= 3", "= -3", "features.hours.weight", 9),
        ("quoted keys and lists over lines", "1.50", "0", "survey.epsilon", 3),
        ("quoted keys and lists over lines", '"no"', '"yes"', "label.values", 6),
        ("quoted keys and lists over lines", "7.5", "5", "features.hours.edges", 16),
        ("quoted keys and lists over lines", '"category"', '"x"', "features.age.missing", 14),
        ("windows", "1.5", "0", "survey.epsilon", 3),
    ],
)
def test_lines_are_found_in_every_way_to_write_toml(name, old, new, field, line):
    error = refuse(SAME[name].replace(old, new))
    assert (error.field, error.line) == (field, line)


def test_feature_names_may_be_anything_toml_can_quote():
    text = GOOD.replace("[features.age]", '[features."Age, in years [a]"]').replace("bins = 4", "bins = 0")
    error = refuse(text)
    assert (error.field, error.line) == ("features.hours.bins", 15)
    named = read_survey(text.replace("bins = 0", "bins = 4")).features[0]
    assert named.name == "Age, in years [a]"


def test_values_may_be_numbers_and_truths():
    survey = read_survey(GOOD.replace('["young", "old"]', '[1, 2, true, false, "x"]'))
    assert survey.features[0].texts == ("1", "2", "true", "false", "x", "(missing)")


def test_a_category_of_one_value_needs_missing_beside_it():
    assert read_survey(GOOD.replace('["young", "old"]', '["smokes"]')).features[0].size == 2
    assert "at least 2 values" in str(
        refuse(GOOD.replace('["young", "old"]\nmissing = "category"', '["smokes"]'))
    )


@pytest.mark.parametrize(
    ("span", "bins", "edges"),
    [
        ("[0, 1]", 3, "0 0.333333333333333 0.666666666666667 1"),
        ("[-1, 1]", 2, "-1 0 1"),
        ("[0, 200_000]", 8, "0 25000 50000 75000 100000 125000 150000 175000 200000"),
        ("[-0.0, 1e-3]", 2, "0 0.0005 0.001"),
        ("[1e20, 3e20]", 2, f"1{'0' * 20} 2{'0' * 20} 3{'0' * 20}"),
    ],
)
def test_bins_have_equal_width(span, bins, edges):
    text = GOOD.replace("[0, 10]", span).replace("bins = 4", f"bins = {bins}")
    feature = read_survey(text).features[1]
    assert isinstance(feature, BinnedFeature)
    assert feature.edges == tuple(edges.split())


def test_bins_too_narrow_for_doubles_are_refused():
    with pytest.raises(SurveyError, match="edges must increase"):
        read_survey(GOOD.replace("[0, 10]", "[1, 1.0000000000000002]")).compile()


def test_reports_too_long_for_the_wire_are_refused_with_a_way_out():
    many = GOOD.replace("bins = 4", "bins = 1000").replace('"no"]', '"no", "unsure"]')
    read_survey(many).compile()
    with pytest.raises(SurveyError, match="use fewer values, or another mechanism") as caught:
        read_survey(many.replace('"OUE"', '"SHE"')).compile()
    assert caught.value.field == "hours"


def test_more_values_than_subset_selection_asks_for_are_refused_with_a_way_out():
    many = GOOD.replace("bins = 4", "bins = 129").replace('"OUE"', '"SS"')
    read_survey(many.replace("129", "128")).compile()
    with pytest.raises(SurveyError, match='at most 256 values, not 258: choose "auto" or OUE') as caught:
        read_survey(many).compile()
    assert caught.value.field == "features.hours"


def test_a_survey_that_asks_nothing_is_refused():
    with pytest.raises(SurveyError, match="no question has a positive weight"):
        dataclasses.replace(read_survey(GOOD), weights=(0, 0, 0)).compile()


def test_a_survey_can_be_varied():
    survey = read_survey(GOOD)
    plan = dataclasses.replace(survey, epsilon=Decimal(4), frequency="DE", weights=(1, 1, 0)).compile()
    assert [question.kind for question in plan.questions] == ["label", "coupled"]
    assert {question.mechanism.name for question in plan.questions} == {"DE"}
    assert plan.epsilon == 4


@pytest.mark.parametrize("epsilon", ["0", "-1", "33", "NaN", "Infinity"])
def test_a_varied_epsilon_is_checked_again(epsilon):
    with pytest.raises(SurveyError):
        dataclasses.replace(read_survey(GOOD), epsilon=Decimal(epsilon)).compile()


def test_noise_that_cannot_be_tabulated_names_the_question():
    survey = dataclasses.replace(read_survey(GOOD), frequency="SHE", epsilon=Decimal("0.002"))
    with pytest.raises(SurveyError, match="raise epsilon") as caught:
        survey.compile()
    assert caught.value.field == "features.age"
    assert not isinstance(caught.value, PrivacyError)


def test_reading_and_compiling_do_not_depend_on_the_application_s_decimal_context():
    text = GOOD.replace("1.5", "1.2345678").replace("[0, 10]", "[0.001, 123456.789]")
    expected = read_survey(text).compile().json
    with decimal.localcontext() as context:
        context.prec, context.rounding = 2, decimal.ROUND_UP
        assert read_survey(text).compile().json == expected


def test_a_file_is_a_survey_or_a_plan_by_its_content(tmp_path):
    plan = read_survey(GOOD).compile()
    (tmp_path / "survey.toml").write_text(GOOD, encoding="utf-8")
    (tmp_path / "plan.json").write_bytes(plan.json)
    assert PEOPLE_PLANS.load(tmp_path / "survey.toml") == PEOPLE_PLANS.load(tmp_path / "plan.json") == plan
    (tmp_path / "broken.toml").write_text(GOOD.replace("1.5", "0"), encoding="utf-8")
    (tmp_path / "cut.json").write_bytes(plan.json[:-5])
    (tmp_path / "binary").write_bytes(b"\xff\xfe\x00")
    for name in ("broken.toml", "cut.json", "binary", "absent"):
        assert name in str(refuse(tmp_path / name, PEOPLE_PLANS.load))
