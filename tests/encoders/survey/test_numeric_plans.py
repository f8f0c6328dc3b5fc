"""Plans with numbers: canonical JSON, keys of questions, rows, and use without numpy."""

import dataclasses
import math
import subprocess
import sys
from typing import Any

import pytest

from encoders.mechanisms import NUMERIC_MECHANISMS
from encoders.survey import Plan
from encoders.survey.features import GRID
from tests.support.numeric_plans import NAMES, PLANS, SURVEY, compiled, survey
from tests.support.surveys import PROJECTED
from tests.support.tampering import document

every_name = pytest.mark.parametrize("numeric", NAMES)


# -- canonical JSON -----------------------------------------------------------------------------


@every_name
def test_a_question_about_numbers_names_its_moment_and_no_domain(numeric):
    for entry, question in zip(
        document(compiled(numeric=numeric))["questions"], compiled(numeric=numeric).questions, strict=True
    ):
        assert ("moment" in entry) != ("domain" in entry)
        assert entry.get("moment") == question.moment
        assert isinstance(entry["feature"], list) == (question.mechanism.name == "laplace")


def test_what_must_be_in_a_row_is_the_inputs_and_what_is_not_projected():
    assert [entry.name for entry in compiled().entries] == ["age", "income", "city", "hours"]
    assert [entry.name for entry in SURVEY.entries] == ["age", "income", "city", "hours"]


def test_questions_without_numbers_do_not_contain_the_projection():
    plan = compiled(features=SURVEY.features[:1], weights=(None, 1), projection=None)
    assert set(document(plan)) == {"epsilon", "features", "format", "id", "label", "questions", "tables"}
    assert "moment" not in document(plan)["questions"][0]


# -- values and keys ----------------------------------------------------------------------------


def test_value_combines_code_and_label_and_has_the_right_meaning():
    plan = survey("laplace", 1, 1, 1).compile()
    _, mean, square = plan.questions
    codes = (1, GRID + GRID // 2, 2 * GRID + 1)
    assert mean.value(codes, 1) == (2 * codes[1] + 1, 2 * codes[2] + 1)
    assert square.value(codes, 0) == (2 * (GRID + GRID // 4), 2 * codes[2])
    assert mean.meaning(mean.value(codes, 1)) == {"hours": "9", "nap": "(missing)", "rested": "no"}
    assert square.meaning(square.value(codes, 0)) == {
        "hours": "0.25 (squared distance)",
        "nap": "(missing)",
        "rested": "yes",
    }
    single = survey("onebit", 1, 1, 1).compile().questions[1]
    assert single.value(codes, 1) == 2 * codes[1] + 1
    assert single.meaning(single.value(codes, 1)) == {"hours": "9", "rested": "no"}


def keys(plan: Plan) -> dict[str, str]:
    return {question.name: question.key for question in plan.questions}


def with_component(place: int, **changes: Any) -> Plan:
    assert SURVEY.projection
    changed = list(SURVEY.projection.components)
    changed[place] = dataclasses.replace(changed[place], **changes)
    return compiled(projection=dataclasses.replace(SURVEY.projection, components=tuple(changed)))


def with_input(**changes: Any) -> Plan:
    assert SURVEY.projection
    age, income = SURVEY.projection.inputs
    inputs = (age, dataclasses.replace(income, **changes))
    return compiled(projection=dataclasses.replace(SURVEY.projection, inputs=inputs))


@pytest.mark.parametrize(
    ("change", "moved"),
    [
        (lambda: with_component(0, weights=("0.25", "-0.7")), {"first"}),
        (lambda: with_component(0, offset="0.000001"), {"first"}),
        (lambda: with_component(1, weights=("-3", "0")), {"second"}),
        (lambda: with_input(high="200001"), {"first", "second"}),
        (lambda: with_input(name="pay"), {"first", "second"}),
        (lambda: with_input(missing="category"), {"first", "second"}),
        (lambda: compiled(id="another-round"), set()),
        (lambda: compiled(weights=(1, 1, 2, 3, 4)), set()),
    ],
)
def test_a_key_moves_with_the_projection_that_its_number_comes_from(change, moved):
    before, after = keys(compiled()), keys(change())
    assert {name.split()[0] for name in before if before[name] != after[name]} == moved
    assert len(set(before.values())) == len(before)


def test_mean_and_square_and_each_mechanism_have_keys_of_their_own():
    found = [
        question.key
        for numeric in NUMERIC_MECHANISMS
        for question in compiled(numeric=numeric).questions
        if question.moment
    ]
    assert len(set(found)) == len(found)


# -- rows ---------------------------------------------------------------------------------------

ROW = {"city": "north", "hours": 1, "age": 33, "income": 21_000}


@pytest.mark.parametrize(
    ("changes", "clipped"),
    [
        ({}, ()),
        ({"hours": 13}, ("hours",)),
        ({"hours": -(10**400)}, ("hours",)),
        ({"age": 101}, ("age", "second")),
        ({"income": 200_000.5}, ("income",)),
        ({"age": 0}, ("second",)),
        ({"age": -1, "income": 1e9}, ("age", "income", "second")),
        ({"age": None}, ()),
        ({"age": math.nan, "income": 1e9}, ("income",)),
        ({"city": "south"}, ()),
    ],
)
def test_clipped_names_lists_entries_outside_their_bounds(changes, clipped):
    assert compiled().clipped_names(ROW | changes) == clipped


def test_a_missing_input_makes_its_components_missing():
    assert compiled().encode(ROW | {"age": None}, "yes")[0][2:] == (4, 2 * GRID + 1)


# -- without numpy ------------------------------------------------------------------------------

WITHOUT_NUMPY = """
import sys
sys.modules["numpy"] = None
from encoders.randomness import SystemEntropy
from encoders.survey import Plan, read_survey
from ldp_client import make_report
text = sys.stdin.read()
for numeric in {names}:
    plan = read_survey(text + f'numeric = "{{numeric}}"\\n').compile()
    again = Plan.from_json(plan.json)
    for age in (33, None):
        row = {{"city": "north", "hours": 7.5, "age": age, "income": 21_000}}
        print(numeric, plan.digest, len(make_report(again, row, "yes")), again.clipped_names(row))
    for question in again.questions:
        value = question.value(*again.encode(row, "no"))
        payload = question.mechanism.perturb(value, SystemEntropy())
        question.mechanism.check(payload)
        question.meaning(value)
assert sys.modules["numpy"] is None
"""


@pytest.mark.slow
def test_surveys_compile_load_and_report_where_numpy_is_not_installed():
    run = subprocess.run(
        [sys.executable, "-c", WITHOUT_NUMPY.format(names=NAMES)],
        input=PROJECTED,
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 0, run.stderr
    found = dict(line.split()[:2] for line in run.stdout.splitlines())
    assert found == {numeric: PLANS[numeric].digest for numeric in NAMES}
