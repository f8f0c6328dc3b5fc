"""Codes for missing answers in a survey file: what is refused, and that plans do not contain them."""

import pytest

from encoders.errors import LdpError, RowError
from encoders.survey import read_survey
from encoders.survey.any_survey import read_any_survey
from encoders.survey.row_cells import (
    MAX_CODES,
    MIN_SHOWN_CELLS,
    describe_outside,
    parse_missing_codes,
    set_missing_codes,
)
from tests.support.mistakes import assert_explained, refuse
from tests.support.surveys import survey_toml

AGE = {"range": [0, 60], "missing": "category"}
BINS = {"edges": [0, 10, 20, 60]}
TEA = {"values": ["black", "green"], "missing": "category"}
FLAG = {"values": [True, False]}
ANY = {"choices": ["a", "b"], "missing": "category"}
FEATURES = {"age": AGE, "bins": BINS, "tea": TEA, "flag": FLAG, "any": ANY}


def text(**codes: object) -> str:
    features = {
        name: each | ({"missing_codes": codes[name]} if name in codes else {})
        for name, each in FEATURES.items()
    }
    return survey_toml(features=features)


def test_codes_are_no_part_of_the_plan_and_devices_do_not_read_them():
    plain = read_survey(text()).compile()
    plan = read_survey(text(age=[-99, 999], bins=[-9.5], tea=["NA", -9], flag=[9], any=[-9])).compile()
    assert [each.missing_codes for each in plan.entries] == [
        (-99.0, 999.0),
        (-9.5,),
        ("NA", "-9"),
        ("9",),
        ("-9",),
    ]
    assert (plan.json, plan.digest, plan) == (plain.json, plain.digest, plain)
    assert repr(plan) == repr(plain)
    row = {"age": 999, "bins": -9.5, "tea": None, "flag": True, "any": ["a"]}
    assert plan.encode(row, "yes") == plain.encode(row, "yes")
    assert plan.clipped_names(row) == ("age", "bins")
    assert all(not each.missing_codes for each in type(plan).from_json(plan.json).entries)


@pytest.mark.parametrize(
    ("feature", "codes", "why"),
    [
        ("age", [-99, 60], "the missing code 60 is in the range, so it is an answer"),
        ("age", [0], "the missing code 0 is in the range"),
        ("bins", [20], "the missing code 20 is in the range"),
        ("tea", ["NA", "green"], "the missing code green is one of the values, so it is an answer"),
        ("any", ["a"], "the missing code a is one of the values"),
        ("flag", [1], "the missing code 1 is one of the values"),
        ("flag", ["FALSE"], "the missing code FALSE is one of the values"),
        ("age", [-99, -99.0], "has repeated missing codes"),
        ("tea", [9, "9"], "has repeated missing codes"),
        ("age", ["NA"], "needs a list of 1 to 100 missing codes, numbers"),
        ("age", [True], "needs a list"),
        ("tea", [True], "needs a list of 1 to 100 missing codes, whole numbers or texts"),
        ("tea", [""], "needs a list"),
        ("tea", [1.5], "needs a list"),
        ("age", -99, "needs a list"),
        ("age", [], "needs a list"),
        ("age", [[-99]], "needs a list"),
        ("age", list(range(-MAX_CODES - 1, 0)), "needs a list"),
    ],
)
def test_wrong_codes_name_the_field_its_line_and_the_fix(feature, codes, why):
    wrong = text(**{feature: codes})
    line = wrong[: wrong.index("missing_codes")].count("\n") + 1
    assert_explained(wrong, f"features.{feature}.missing_codes", line, why)


@pytest.mark.parametrize("code", ["nan", "inf", "-inf"])
def test_codes_are_finite(code):
    assert "features.age.missing_codes: needs a list" in str(refuse(text(age=[-99]).replace("-99", code)))


@pytest.mark.parametrize("kind", ["central", "silo"])
def test_surveys_of_curators_and_silos_have_codes(kind):
    size = {"rows": 100} if kind == "silo" else {"epsilon": None}
    survey = survey_toml(kind=kind, features={"age": AGE | {"missing_codes": [-99]}}, **size)
    assert [each.missing_codes for each in read_any_survey(survey).features] == [(-99.0,)]
    assert "the missing code 9 is in the range" in str(refuse(survey.replace("[-99]", "[9]")))


def test_codes_of_a_projection_belong_to_its_inputs():
    features = {"sum": {"weights": [1], "range": [-1, 1]}, "tea": ["a", "b"]}
    projection = {"inputs": {"age": AGE | {"missing_codes": [-99]}}}
    survey = read_survey(survey_toml(features=features, projection=projection))
    assert [each.missing_codes for each in survey.entries] == [(-99.0,), ()]
    features["sum"]["missing_codes"] = [-99]
    error = refuse(survey_toml(features=features, projection=projection))
    assert "features.sum.missing_codes: belongs to the inputs" in str(error)


def test_options_add_codes_to_the_features_that_they_name():
    entries = read_survey(text(age=[-99])).entries
    options = ["age=999", "tea=NA, -9", "age=-8.5", "any=09"]
    coded = set_missing_codes(entries, parse_missing_codes(options))
    assert {each.name: each.missing_codes for each in coded if each.missing_codes} == {
        "age": (-99.0, 999.0, -8.5),
        "tea": ("NA", "-9"),
        "any": ("09",),
    }
    assert [each.missing_codes for each in entries] == [(-99.0,), (), (), (), ()]


@pytest.mark.parametrize("option", ["age", "-99", "=-99", ""])
def test_an_option_without_a_name_is_refused(option):
    with pytest.raises(LdpError, match="--missing-codes needs FEATURE=CODE"):
        parse_missing_codes([option])


@pytest.mark.parametrize(
    ("option", "why"),
    [
        ("agee=-99", "agee: is no feature, so it has no missing codes; known: age, bins, tea, flag, any"),
        ("age=", "age: needs a list"),
        ("age=NA", "age: must be a number"),
        ("age=nan", "age: needs a list"),
        ("age=-99,50", "age: the missing code 50 is in the range"),
        ("tea=-9,", "tea: needs a list"),
    ],
)
def test_an_option_that_does_not_fit_names_the_feature(option, why):
    with pytest.raises(RowError) as caught:
        set_missing_codes(read_survey(text()).entries, parse_missing_codes([option]))
    assert str(caught.value).startswith(why)


def test_a_number_is_shown_only_if_enough_cells_contain_it():
    [age, *_] = read_survey(text()).entries
    few, enough = ({999.0: count, -1.0: 3} for count in (MIN_SHOWN_CELLS - 1, MIN_SHOWN_CELLS))
    shown = (
        f"age: 13 of 1,000 cells are outside of 0 to 60, and are clipped. {MIN_SHOWN_CELLS} of them are 999:"
    )
    assert (
        describe_outside(age, few, 1000) == "age: 12 of 1,000 cells are outside of 0 to 60, and are clipped."
    )
    assert describe_outside(age, enough, 1000).startswith(shown)
