"""Tampered plans: refused, or a different valid plan that keeps its epsilon."""

from __future__ import annotations

import dataclasses
import hashlib
import json
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from typing import Any

import pytest

from encoders.epsilon_proof import realised_epsilon
from encoders.errors import PrivacyError, SurveyError
from encoders.mechanisms import load
from encoders.probability_tables import WORD
from encoders.survey import Plan, canonical, read_survey
from encoders.survey.decimals import decimal_text
from tests.support.json_walk import Path, inner, leaves_of, objects_of
from tests.support.reference import e_to_the
from tests.support.surveys import GOOD

SURVEY = read_survey(GOOD)
PLAN = SURVEY.compile()
VALIDATION_TEXT = f"""\
{GOOD.replace('"OUE"', '"DE"')}
[validation]
order = ["hours", "age"]
tops = [1]
prior = [0, -5]
[validation.scores]
age = [[0, -1], [-2, 0], [0, 0]]
hours = [[-3, 0], [-1, 0], [0, -3], [0, -9]]
"""
VALIDATING = read_survey(VALIDATION_TEXT).compile()


def compiled(**changes: Any) -> Plan:
    return dataclasses.replace(SURVEY, **changes).compile()


def document(plan: Plan) -> dict[str, Any]:
    read: dict[str, Any] = json.loads(plan.json)
    return read


STRANGE: tuple[Any, ...] = (
    *(None, True, 0, 1, 2, -1, 7, 1 << 60, "", "x", "0", "1", "-1", "01", "1.0", "2", "nan", "Infinity"),
    *(
        "1e5",
        "9" * 400,
        "9" * 5000,
        "DE",
        "SUE",
        "THE",
        "category",
        "error",
        "../x",
        "\n",
        [],
        {},
        ["1"],
        {"a": 1},
    ),
)


def altered(plan: Plan, path: Path, value: Any) -> dict[str, Any]:
    """Return a plan's document with another value in one place."""
    changed = document(plan)
    inner(changed, path[:-1])[path[-1]] = value
    return changed


def neighbours(value: Any) -> list[Any]:
    """Return values close to the one that stands there: what a careful forger would try."""
    if isinstance(value, str) and value.isdigit():
        return [str(int(value) + step) for step in (-1, 1)] + [int(value), value + "0", "0" + value]
    if isinstance(value, str):
        return [value + "x", value[:-1], value.upper(), value[::-1]]
    return [value + 1, value - 1, str(value), [value]] if isinstance(value, int) else []


def accepted(changed: Any) -> Plan | None:
    """Read a tampered document; a plan that is read must have the same bytes and keep its epsilon."""
    try:
        data = canonical.dump_canonical_json(changed)
        plan = Plan.from_json(data)
    except SurveyError:
        return None
    assert plan.json == data
    assert plan.digest == hashlib.sha256(data).hexdigest()
    bound = e_to_the(Fraction(plan.epsilon))[0]
    assert all(question.mechanism.ratio <= bound for question in plan.questions)
    assert all(question.mechanism.domain == question.domain for question in plan.questions)
    return plan


@pytest.mark.parametrize("frequency", ["DE", "OUE", "SHE", "THE", "SS"])
def test_no_entry_can_be_changed_unnoticed(frequency: str) -> None:
    # What an author is free to choose gives another plan, of another digest; the rest contradicts itself.
    plan = compiled(frequency=frequency, epsilon=Decimal(4), weights=(1, 1, 1))
    free = set()
    for path, value in leaves_of(document(plan)):
        for other in (*STRANGE, *neighbours(value)):
            if other != value or type(other) is not type(value):
                read = accepted(altered(plan, path, other))
                if read is not None:
                    free.add(tuple("*" if isinstance(key, int) else key for key in path))
                    assert read.digest != plan.digest
    interchangeable = {("questions", "*", "mechanism")} if frequency == "OUE" else set()  # SUE computes alike
    assert free == interchangeable | {
        ("id",),
        ("epsilon",),
        ("label", "name"),
        ("label", "values", "*"),
        ("features", "*", "name"),
        ("features", "*", "values", "*"),
        ("features", "*", "edges", "*"),
        ("questions", "*", "weight"),
    }


def test_no_entry_of_a_validation_plan_can_be_changed_unnoticed() -> None:
    free = set()
    for path, value in leaves_of(document(VALIDATING)):
        for other in (*STRANGE, -1_000_000, -1_000_001, -(10**30), *neighbours(value)):
            if other != value or type(other) is not type(value):
                read = accepted(altered(VALIDATING, path, other))
                if read is not None:
                    free.add(tuple("*" if isinstance(key, int) else key for key in path))
                    assert read.digest != VALIDATING.digest
                    assert path[0] != "validation" or read.questions[0].key != VALIDATING.questions[0].key
    assert free == {
        ("id",),
        ("epsilon",),
        ("questions", "*", "weight"),
        ("validation", "label", "name"),
        ("validation", "label", "values", "*"),
        ("validation", "features", "*", "name"),
        ("validation", "features", "*", "values", "*"),
        ("validation", "features", "*", "edges", "*"),
        ("validation", "prior", "*"),
        ("validation", "scores", "*", "*", "*"),
    }


@pytest.mark.parametrize("plan", [PLAN, VALIDATING], ids=["a survey", "a validation"])
def test_no_entry_can_be_added_or_left_out(plan: Plan) -> None:
    for path, node in objects_of(document(plan)):
        for key in list(node) if isinstance(node, dict) else range(len(node)):
            changed = document(plan)
            del inner(changed, path)[key]
            read = accepted(changed)
            # asking one question less is the author's choice, or the outcomes without a model; another plan
            may = path == ("questions",) or key == "validation"
            assert read is None or (may and read.digest != plan.digest)
        changed = document(plan)
        inside = inner(changed, path)
        if isinstance(node, dict):
            inside["more"] = "1"
        else:
            inside.append(inside[0])
        assert accepted(changed) is None, path


def forged(change: Callable[[dict[str, Any]], None], plan: Plan, **entries: Any) -> bytes:
    """Change the first question's tables and everything computed from them consistently."""
    forgery = document(plan)
    old = forgery["questions"][0]["tables"]
    tables = forgery["tables"].pop(old)
    change(tables)
    key = hashlib.sha256(canonical.dump_canonical_json(tables)).hexdigest()[:16]
    forgery["tables"][key] = tables
    for question in forgery["questions"]:
        if question["tables"] == old:
            ratio = load(question["mechanism"], question["domain"], tables).ratio
            question["ratio"] = [str(ratio.numerator), str(ratio.denominator)]
            question |= {"tables": key, "epsilon": decimal_text(realised_epsilon(ratio))}
    return canonical.dump_canonical_json(forgery | entries)


SPENDING: dict[str, Callable[[dict[str, Any]], None]] = {
    "DE": lambda tables: tables.update(keep=str(int(tables["keep"]) + 1)),
    "SUE": lambda tables: tables.update(p=str(int(tables["p"]) + 1), q=str(int(tables["q"]) - 1)),
    "OUE": lambda tables: tables.update(q=str(int(tables["q"]) - 2)),
    "THE": lambda tables: tables.update(q=str(int(tables["q"]) // 2)),
    "SHE": lambda tables: tables.update(weights=[str(WORD - 2), "1"]),
    "SS": lambda tables: tables.update(keep=str(int(tables["keep"]) + 1)),
}


@pytest.mark.parametrize("frequency", SPENDING)
def test_a_forgery_without_contradictions_is_refused_for_what_it_spends(frequency: str) -> None:
    plan = compiled(frequency=frequency, weights=(1, 1, 0))
    with pytest.raises(PrivacyError, match="more than epsilon"):
        Plan.from_json(forged(SPENDING[frequency], plan))
    honest = Plan.from_json(forged(lambda tables: None, plan))
    assert honest == plan


def test_what_spends_more_is_a_plan_under_an_epsilon_that_covers_it() -> None:
    plan = compiled(frequency="DE", weights=(1, 1, 0))
    other = Plan.from_json(forged(SPENDING["DE"], plan, epsilon="1.500001"))
    assert other.digest != plan.digest


def test_every_question_is_proved_not_only_the_first() -> None:
    plan = compiled(frequency="DE", weights=(1, 1, 1))
    for index in range(3):
        strong = compiled(frequency="DE", weights=(1, 1, 1), epsilon=Decimal("1.5001"))
        questions = list(plan.questions)
        questions[index] = strong.questions[index]
        with pytest.raises(PrivacyError):
            dataclasses.replace(plan, questions=tuple(questions))
