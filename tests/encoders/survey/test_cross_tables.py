"""Tables of several features: what the survey file may say, and which questions follow."""

import json

import pytest

from encoders.survey import Plan, read_survey
from encoders.survey.features import NO_LABEL
from tests.support.mistakes import assert_explained, refuse

HEAD = '[survey]\nid = "t"\nepsilon = 1\n'
LABEL = '[label]\nname = "ill"\nvalues = ["yes", "no"]\n'
FEATURES = """
[features.age]
values = ["young", "middle", "old"]
missing = "category"
[features.uses]
values = ["yes", "no"]
[features.hours]
range = [0, 10]
bins = 5
[features.mean]
range = [0, 10]
[features.drinks]
choices = ["tea", "milk"]
"""
TABLE = '[tables.t]\nfeatures = ["age", "uses"]\n'
MANY = "[features.{}]\nrange = [0, 1]\nbins = 300\n"


def compile_tables(tables=TABLE, label=LABEL, features=FEATURES):
    return read_survey(f"{HEAD}{label}{features}{tables}").compile()


def names(plan):
    return [question.name for question in plan.questions]


def test_features_of_a_table_are_asked_in_it_alone():
    plan = compile_tables()
    assert names(plan) == [
        "age, uses",
        "hours",
        "mean (mean)",
        "mean (square)",
        "drinks: tea",
        "drinks: milk",
    ]
    assert plan.questions[0].shape == (4, 2, 1)
    assert plan.questions[0].label is NO_LABEL
    assert {plan.question_probability(each) for each in plan.questions} == {0.2, 0.1}


def test_a_table_may_contain_the_label():
    plan = compile_tables(f"{TABLE}label = true\n")
    assert plan.questions[0].shape == (4, 2, 2)
    assert plan.questions[0].label == plan.label


def test_a_feature_of_a_table_is_also_asked_alone_if_it_says_so():
    features = FEATURES.replace('values = ["yes", "no"]\n', 'values = ["yes", "no"]\nalone = true\n')
    plan = compile_tables(features=features)
    assert names(plan)[:2] == ["age, uses", "uses"]
    assert plan.questions[1].label == plan.label


def test_a_feature_may_be_in_several_tables_and_one_choice_in_a_table():
    more = '[tables.u]\nfeatures = ["uses", "drinks: milk", "hours"]\nweight = 3\n'
    plan = compile_tables(TABLE + more, label="")
    assert names(plan) == [
        "age, uses",
        "uses, hours, drinks: milk",
        "mean (mean)",
        "mean (square)",
        "drinks: tea",
    ]
    assert plan.question_probability(plan.questions[1]) == 3 / 6


def test_features_of_tables_are_not_grouped():
    pair = '[features.{}]\nvalues = ["x", "y"]\n'
    features = "".join(map(pair.format, "abcd"))
    text = HEAD.replace("= 1", "= 5") + LABEL + features
    grouped = read_survey(text).compile()
    assert any(len(each.feature_indices) > 1 for each in grouped.questions)
    plan = read_survey(text + '[tables.t]\nfeatures = ["a", "b"]\n').compile()
    assert [each.feature_indices for each in plan.questions if {0, 1} & {*each.feature_indices}] == [(0, 1)]


@pytest.mark.parametrize("label", ["", LABEL])
def test_a_plan_with_tables_is_read_back(label):
    plan = compile_tables(TABLE + '[tables.u]\nfeatures = ["uses", "hours"]\n', label=label)
    again = Plan.from_json(plan.json)
    assert again.json == plan.json
    assert [each.key for each in again.questions] == [each.key for each in plan.questions]
    assert [each.label.exists for each in again.questions] == [each.label.exists for each in plan.questions]


def test_a_table_without_the_label_has_the_counters_of_a_survey_without_one():
    with_label, without = (compile_tables(label=label).questions[0] for label in (LABEL, ""))
    assert with_label.key == without.key


def test_the_label_of_a_row_does_not_change_the_answer_to_a_table_without_it():
    question = compile_tables().questions[0]
    codes = [3, 1, 0, 0, 0, 0]
    assert {question.value(codes, label) for label in (0, 1)} == {3 * 2 + 1}
    assert question.meaning(7) == {"age": "(missing)", "uses": "no"}


def test_tables_are_part_of_the_weights():
    plan = compile_tables(f"{TABLE}weight = 4\n")
    assert plan.question_probability(plan.questions[0]) == 0.5
    assert json.loads(plan.json)["questions"][0]["feature"] == [0, 1]


MISTAKES = {
    "an unknown feature": ('["age", "sex"]', "tables.t.features", "'sex' is not a feature of this survey"),
    "a feature twice": ('["age", "age"]', "tables.t.features", "has the same feature twice"),
    "one feature": ('["age"]', "tables.t.features", "needs a list of the names of 2 to 3 features"),
    "four features": (
        '["age", "uses", "hours", "drinks: tea"]',
        "tables.t.features",
        "needs a list of the names of 2 to 3 features",
    ),
    "no list": ('"age"', "tables.t.features", "needs a list of the names"),
    "a number without bins": ('["age", "mean"]', "tables.t.features", "give it bins = N or edges = [...]"),
    "several answers": ('["age", "drinks"]', "tables.t.features", "name one of its choices"),
    "the label": ('["age", "ill"]', "tables.t.features", "write label = true instead"),
    "an unknown key": ('["age", "uses"]\nbins = 3', "tables.t.bins", "is not an entry here"),
    "weight 0": ('["age", "uses"]\nweight = 0', "tables.t.weight", "delete the table"),
    "a label that is a text": ('["age", "uses"]\nlabel = "ill"', "tables.t.label", "must be true or false"),
    "the same features": (
        '["age", "uses"]\n[tables.u]\nfeatures = ["uses", "age"]',
        "tables.u.features",
        "are the features of another table",
    ),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_a_mistake_in_a_table_is_explained_by_field_and_line(name):
    written, field, why = MISTAKES[name]
    text = f"{HEAD}{LABEL}{FEATURES}[tables.t]\nfeatures = {written}\n"
    start = field.rpartition(".")[2]
    line = max(number for number, each in enumerate(text.splitlines(), 1) if each.startswith(start))
    assert_explained(text, field, line, why)


def test_at_most_32_tables_are_allowed():
    pairs = [(one, other) for one in range(9) for other in range(one)][:33]
    features = "".join(f'[features.f{index}]\nvalues = ["x", "y"]\n' for index in range(9))
    tables = [f'[tables.t{i}]\nfeatures = ["f{a}", "f{b}"]\n' for i, (a, b) in enumerate(pairs)]
    assert len(read_survey(HEAD + features + "".join(tables[:32])).compile().questions) == 32
    assert "has 33 tables, more than 32" in str(refuse(HEAD + features + "".join(tables)))


@pytest.mark.parametrize(
    ("entry", "why"),
    [
        ('[features.x]\nvalues = ["a", "b"]\nalone = true\n', "is in no table, so it is asked alone anyway"),
        ('[features.x]\nchoices = ["a", "b"]\nordered = true\n', "is only for values"),
        ("[features.x]\nrange = [0, 1]\nordered = true\n", "is only for values"),
        ('[features.x]\nvalues = ["a", "b"]\nordered = 1\n', "must be true or false"),
        (f"{FEATURES}{TABLE}label = true\n", "the survey has no label: delete this entry"),
        (
            FEATURES.replace('"no"]\n', '"no"]\nweight = 2\n') + TABLE,
            "is not used, because a table asks for it: add alone = true",
        ),
        (
            f'{MANY.format("a")}{MANY.format("b")}[tables.t]\nfeatures = ["a", "b"]\n',
            "have 90,000 combinations, and one question asks for at most 65,536",
        ),
    ],
    ids=["alone", "choices", "number", "no truth", "no label", "weight", "combinations"],
)
def test_what_a_survey_cannot_use_is_refused_with_the_reason(entry, why):
    assert why in str(refuse(HEAD + entry))


@pytest.mark.parametrize("kind", ["silo", "central"])
def test_only_surveys_of_people_have_tables(kind):
    head = f'[survey]\nid = "t"\nkind = "{kind}"\n' + ("epsilon = 1\nrows = 10\n" if kind == "silo" else "")
    assert "tables" in str(refuse(f"{head}{LABEL}{FEATURES}{TABLE}"))
