"""The plan: canonical form, exact limits of the draw of a question, coding of rows."""

import dataclasses
import decimal
import hashlib
import itertools
import json
from decimal import Decimal
from fractions import Fraction
from typing import Any

import pytest

from encoders import canonical
from encoders.errors import RowError, SurveyError
from encoders.probability_tables import WORD
from encoders.randomness import GivenBytes
from encoders.survey import Plan, Survey, read_survey
from tests.support.json_walk import leaves_of
from tests.support.mistakes import refuse
from tests.support.numeric_plans import PLANS as NUMERIC_PLANS
from tests.support.surveys import GOOD, PROJECTED, VALIDATED
from tests.support.tampering import document

FREQUENCIES = ("auto", "DE", "SUE", "OUE", "SHE", "THE", "THE(0.25)", "SS")
SURVEY = read_survey(GOOD)
PLAN = SURVEY.compile()


def compiled(**changes: Any) -> Plan:
    return dataclasses.replace(SURVEY, **changes).compile()


# -- canonical JSON ----------------------------------------------------------------------------


PLANS_OF_EACH_KIND = {
    **{name: compiled(frequency=name, weights=(1, 2, 3)) for name in FREQUENCIES},
    **{f"numbers, {name}": plan for name, plan in NUMERIC_PLANS.items()},
    "several features": compiled(epsilon=Decimal(8), frequency="auto", weights=(None, 1, 1)),
    "a validation": read_survey(VALIDATED).compile(),
}


@pytest.mark.parametrize("kind", PLANS_OF_EACH_KIND)
def test_plan_equals_itself_after_json(kind):
    plan = PLANS_OF_EACH_KIND[kind]
    again = Plan.from_json(plan.json)
    assert again == plan
    assert hash(again) == hash(plan)
    assert again.json == plan.json
    assert again.digest == plan.digest == hashlib.sha256(plan.json).hexdigest()
    assert (again.features, again.label, again.epsilon) == (plan.features, plan.label, plan.epsilon)
    assert (again.projection, again.entries) == (plan.projection, plan.entries)
    assert again.validation == plan.validation
    for ours, theirs in zip(plan.questions, again.questions, strict=True):
        assert (ours.key, ours.weight, ours.feature_indices) == (
            theirs.key,
            theirs.weight,
            theirs.feature_indices,
        )
        assert (ours.moment, ours.name) == (theirs.moment, theirs.name)
        assert ours.mechanism.parameters == theirs.mechanism.parameters
        assert ours.mechanism.ratio == theirs.mechanism.ratio


@pytest.mark.parametrize("kind", PLANS_OF_EACH_KIND)
def test_a_plan_is_canonical_json(kind):
    plan = PLANS_OF_EACH_KIND[kind]
    assert plan.json == json.dumps(
        document(plan), sort_keys=True, separators=(",", ":"), ensure_ascii=False
    ).encode("utf-8")
    leaves = [leaf for _, leaf in leaves_of(document(plan))]
    assert {type(leaf) for leaf in leaves} <= {str, int, type(None)}
    assert all(abs(leaf) <= 1 << 53 for leaf in leaves if isinstance(leaf, int))


def test_the_digest_is_pinned():
    # Devices in use have this plan: its content and encoding must not change.
    assert PLAN.digest == "d54b0e54b5d5add5a47c364e7cec7960ef9e9900d7abecf8aba347b6da87e476"


def test_texts_are_utf_8_as_they_are():
    label = dataclasses.replace(SURVEY.label, name="schlaf-ähnlich \U0001f634", values=('"', "\\"))
    plan = compiled(label=label)
    assert "schlaf-ähnlich \U0001f634".encode() in plan.json
    assert Plan.from_json(plan.json) == plan


# tests/vectors/bad-plans.json has more spellings that are refused
@pytest.mark.parametrize(
    "data",
    [
        *(b"", b"1", b'"x"', b"{}", b"[" * 100_000, b"9" * 5000, b"\xff", b'{"format":1}'),
        *(b" " + PLAN.json, PLAN.json.decode().encode("utf-16")),
    ],
)
def test_document_that_is_not_a_plan_is_refused(data):
    refuse(data, Plan.from_json)


def test_every_truncation_is_refused():
    for end in range(0, len(PLAN.json), 3):
        refuse(PLAN.json[:end], Plan.from_json)


def test_a_plan_does_not_depend_on_the_application_s_decimal_context():
    plan = compiled(epsilon=Decimal("1.23456789"))
    with decimal.localcontext() as context:
        context.prec, context.rounding = 2, decimal.ROUND_UP
        assert Plan.from_json(plan.json) == plan


# -- questions ---------------------------------------------------------------------------------


def test_the_questions_are_those_of_a_positive_weight():
    plan = compiled(weights=(5, 0, 2))
    assert [(q.index, q.kind, q.name, q.feature_indices, q.weight) for q in plan.questions] == [
        (0, "label", "rested", (), 5),
        (1, "coupled", "hours", (1,), 2),
    ]
    assert [question.shape for question in plan.questions] == [(2,), (4, 2)]
    assert [question.domain for question in plan.questions] == [2, 8]


def test_coupled_value_is_a_k_plus_c_and_has_the_right_meaning():
    plan = compiled(weights=(1, 1, 1))
    label, age, hours = plan.questions
    for (a, b), c in itertools.product(itertools.product(range(3), range(4)), range(2)):
        assert (label.value((a, b), c), age.value((a, b), c), hours.value((a, b), c)) == (
            c,
            2 * a + c,
            2 * b + c,
        )
    assert age.meaning(5) == {"age": "(missing)", "rested": "no"}
    assert hours.meaning(6) == {"hours": "7.5 and more", "rested": "yes"}
    assert label.meaning(1) == {"rested": "no"}


@pytest.mark.parametrize("weights", [(1, 1, 1), (0, 1, 3), (7, 1, 10**6), (3, 0, 0), (1, 1, 0)])
def test_a_draw_passes_from_question_to_question_exactly_at_its_limits(weights):
    plan, reached = compiled(weights=weights), 0
    total = sum(weights)
    for question in plan.questions:
        start, reached = WORD * reached // total, reached + question.weight
        end, cell = WORD * reached // total, Fraction(WORD * question.weight, total)
        assert abs(end - start - cell) < 1
        for draw in (start, (start + end) // 2, end - 1):
            assert plan.draw(GivenBytes(draw.to_bytes(8, "little"))) is question
    assert WORD * reached // total == WORD


def test_the_keys_are_pinned():
    # Collectors store counters under them; rounds of one survey in different years are added up by them.
    assert [question.key for question in PLAN.questions] == ["5e373fe586855719", "1300163109f3f9d2"]


def test_a_question_s_mechanism_is_of_its_domain():
    plan = compiled(frequency="OUE", weights=(1, 1, 1))
    label, age, hours = plan.questions
    wrong = dataclasses.replace(age, mechanism=hours.mechanism)
    with pytest.raises(SurveyError, match="does not fit this question"):
        dataclasses.replace(plan, questions=(label, wrong, hours))


def test_key_depends_only_on_the_question_and_its_mechanism():
    key = PLAN.questions[0].key
    assert len(key) == 16
    assert int(key, 16) >= 0
    same = [
        compiled(id="another-round"),
        compiled(weights=(1, 9, 1)),
        compiled(features=SURVEY.features[::-1], weights=(0, 1, 1)),
    ]
    assert all(key in {question.key for question in plan.questions} for plan in same)
    age, hours = SURVEY.features
    other: list[Survey] = [
        dataclasses.replace(SURVEY, epsilon=Decimal("1.6")),
        dataclasses.replace(SURVEY, frequency="SUE"),
        dataclasses.replace(SURVEY, label=dataclasses.replace(SURVEY.label, name="slept")),
        dataclasses.replace(SURVEY, label=dataclasses.replace(SURVEY.label, values=("no", "yes"))),
        dataclasses.replace(SURVEY, features=(dataclasses.replace(age, name="years"), hours)),
        dataclasses.replace(SURVEY, features=(dataclasses.replace(age, values=("old", "young")), hours)),
        dataclasses.replace(SURVEY, features=(dataclasses.replace(age, missing="error"), hours)),
    ]
    keys = {
        question.key for survey in other for question in survey.compile().questions if question.index == 0
    }
    assert len(keys) == len(other)
    assert key not in keys
    assert len({question.key for question in compiled(weights=(1, 1, 1)).questions}) == 3


# -- rows --------------------------------------------------------------------------------------


def test_a_row_is_coded_in_the_plan_s_order_and_more_entries_are_ignored():
    assert PLAN.encode({"hours": 6, "zip": object(), "age": None}, "no") == ((2, 2), 1)


@pytest.mark.parametrize("row", [None, ["old", 1], "old"])
def test_a_row_that_is_no_mapping_is_refused(row):
    with pytest.raises(RowError) as caught:
        PLAN.encode(row, "yes")
    assert caught.value.field == "row"


def test_every_entry_that_does_not_fit_is_named_and_none_of_their_values():
    with pytest.raises(RowError) as caught:
        PLAN.encode({"hours": "s3cret", "age": "s3cret"}, "s3cret")
    error = caught.value
    assert [each.field for each in error.problems] == ["age", "hours", "rested"]
    assert (error.field, error.why) == ("age", error.problems[0].why)
    assert str(error).splitlines() == [str(each) for each in error.problems]
    assert "s3cret" not in f"{error} {error.args} {vars(error)}"
    with pytest.raises(RowError) as caught:
        PLAN.encode({"rested": "yes", "age": "old"}, "s3cret")  # the label is not looked for in the row
    assert [each.field for each in caught.value.problems] == ["hours", "rested"]


def test_one_entry_that_does_not_fit_is_the_only_problem():
    for row, label, field in (({"age": "old", "hours": 1}, "s3cret", "rested"), ([1], "s3cret", "row")):
        with pytest.raises(RowError) as caught:
            PLAN.encode(row, label)
        assert [each.field for each in caught.value.problems] == [field]


def test_inputs_of_a_projection_that_do_not_fit_are_named_with_the_other_entries():
    with pytest.raises(RowError) as caught:
        read_survey(PROJECTED).compile().encode(
            {"age": True, "income": 1, "hours": 2, "city": "s3cret"}, None
        )
    assert [each.field for each in caught.value.problems] == ["age", "city", "rested"]


def test_a_plan_cannot_be_changed():
    for name, value in (("epsilon", Decimal(9)), ("json", b""), ("id", "x"), ("questions", ())):
        with pytest.raises(AttributeError):
            setattr(PLAN, name, value)


def test_family_is_the_survey_id_by_default():
    assert (PLAN.family, compiled(family=PLAN.id)) == (PLAN.id, PLAN)
    second = compiled(id="second", family=PLAN.id)
    assert Plan.from_json(second.json).family == document(second)["family"] == PLAN.id
    assert "family" not in document(PLAN)
    for wrong in ("Not an id", 1, None):
        refuse(canonical.dump_canonical_json(document(second) | {"family": wrong}), Plan.from_json)
    assert "contradicts itself" in str(
        refuse(canonical.dump_canonical_json(document(PLAN) | {"family": PLAN.id}), Plan.from_json)
    )
