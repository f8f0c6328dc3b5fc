"""The people compared differ as much as the survey allows, and are made of its public values alone."""

import pytest

from encoders.survey import Question, read_survey
from ldp_audit.people import draw_people, focus_plan, make_people
from tests.support.surveys import VALIDATED, make_plan

PLAN = make_plan(
    epsilon=1,
    label=["x", "y", "z"],
    projection={"inputs": {"left": {"range": [0, 10]}, "right": {"range": [0, 1]}}},
    features={
        "kind": ["a", "b", "c"],
        "size": {"range": [-1, 3], "bins": 2, "missing": "category"},
        "both": {"weights": [0.5, -0.25], "range": [-1, 1]},
    },
)
LABELS = 5 * [0]
PREDICTIONS = make_plan(
    epsilon=1,
    label=["a", "b", "c", "d", "e"],
    features={"one": ["x", "y"], "two": ["x", "y"]},
    validation={
        "order": ["one", "two"],
        "tops": [1],
        "prior": [-9, 0, -9, -9, -9],
        "scores": {"one": [LABELS, LABELS], "two": [LABELS, [-99, -99, -99, 0, -99]]},
    },
)


def rows(question: Question | None = None) -> dict[str, dict[str, object]]:
    return {person.name: person.row for person in make_people(PLAN, question)}


def test_people_differ_in_everything():
    assert {person.label for person in make_people(PLAN)} == {"x", "y", "z"}
    assert rows() == {
        f"{word}, {label}": row
        for label in "xzy"
        for word, row in {
            "first": {"kind": "a", "size": -1.0, "left": 0.0, "right": 1.0},
            "last": {"kind": "c", "size": 3.0, "left": 10.0, "right": 0.0},
            "middle": {"kind": "b", "size": 1.0, "left": 5.0, "right": 0.5},
            "beyond": {"kind": "a", "size": 403.0, "left": 1010.0, "right": 101.0},
            "missing": {"kind": "a", "size": None, "left": 0.0, "right": 0.0},
        }.items()
    }


def test_for_one_question_only_what_it_asks_differs():
    kind = next(question for question in PLAN.questions if question.name == "kind")
    assert [row["kind"] for row in rows(kind).values()] == ["a"] * 3 + ["c"] * 3 + ["b"] * 3
    assert len({str(row | {"kind": ""}) for row in rows(kind).values()}) == 1


def test_every_person_can_answer():
    for person in make_people(PLAN):
        PLAN.encode(person.row, person.label)
    low, high = (PLAN.encode_row(rows()[f"{word}, x"])[2] for word in ("first", "last"))
    assert low < high  # the component is least, and greatest


@pytest.mark.slow
def test_random_people_combine_features_in_every_way_and_can_answer():
    people = draw_people(PLAN, 3000)
    for person in people:
        PLAN.encode(person.row, person.label)
    sides = {
        (person.row["kind"], person.label, person.row["left"] > 5, person.row["size"] is None)
        for person in people
    }
    assert len(sides) == 3 * 3 * 2 * 2  # one is absent less than once in 10^12 runs
    assert len({person.name for person in people}) == 3000


def test_random_people_of_a_validation_round_have_a_value_of_each_feature():
    people = draw_people(PREDICTIONS, 3)
    assert all(person.row.keys() >= {"one", "two"} for person in people)


def test_a_focused_plan_asks_one_question_nearly_always():
    kind = PLAN.questions[0]
    plan = focus_plan(PLAN, kind)
    assert [question.name for question in plan.questions] == [question.name for question in PLAN.questions]
    assert [question.weight for question in plan.questions] == [10**6, 1, 1, 1]
    assert plan.questions[0].mechanism is kind.mechanism


def test_people_in_a_validation_round_have_different_codes_for_every_question():
    plan = read_survey(VALIDATED).compile()
    people = make_people(plan)
    assert {plan.encode(person.row, person.label)[1] for person in people} == {0, 1}
    for question in plan.questions:
        assert make_people(plan, question) == people
        assert {question.value(*plan.encode(person.row, person.label)) for person in people} == {0, 1, 2, 3}


def test_people_are_added_whose_predicted_label_no_other_person_has():
    people = make_people(PREDICTIONS)
    codes = {person.name: PREDICTIONS.encode(person.row, person.label) for person in people}
    assert set(list(codes.values())[:6]) == {((0,), 0)}
    assert dict(list(codes.items())[6:]) == {
        "first, b": ((1,), 1),
        "last, b": ((1,), 0),
        "last, d": ((0,), 1),
    }
