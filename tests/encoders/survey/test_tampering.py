"""Tampered plans: refused, or a different valid plan that keeps its epsilon."""

from __future__ import annotations

import dataclasses
import hashlib
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import pytest

from encoders.epsilon_proof import realised_epsilon
from encoders.errors import PrivacyError, SurveyError
from encoders.mechanisms import load
from encoders.probability_tables import WORD
from encoders.survey import Plan, canonical, read_survey
from encoders.survey.decimals import decimal_text
from tests.support.json_walk import leaves_of, objects_of
from tests.support.surveys import GOOD
from tests.support.tampering import accepted_changes, accepted_with_more, accepted_without, document, starred

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


def neighbours(value: Any) -> list[Any]:
    """Return values close to the one that stands there: what a careful forger would try."""
    if isinstance(value, str) and value.isdigit():
        return [str(int(value) + step) for step in (-1, 1)] + [int(value), value + "0", "0" + value]
    if isinstance(value, str):
        return [value + "x", value[:-1], value.upper(), value[::-1]]
    return [value + 1, value - 1, str(value), [value]] if isinstance(value, int) else []


@pytest.mark.parametrize("frequency", ["DE", "OUE", "SHE", "THE", "SS"])
def test_no_entry_can_be_changed_unnoticed(frequency):
    # What an author is free to choose gives another plan, of another digest; the rest contradicts itself.
    plan = compiled(frequency=frequency, epsilon=Decimal(4), weights=(1, 1, 1))
    free = set()
    for path, value in leaves_of(document(plan)):
        for _ in accepted_changes(plan, path, value, (*STRANGE, *neighbours(value))):
            free.add(starred(path))
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


def test_no_entry_of_a_validation_plan_can_be_changed_unnoticed():
    free = set()
    for path, value in leaves_of(document(VALIDATING)):
        others = (*STRANGE, -1_000_000, -1_000_001, -(10**30), *neighbours(value))
        for read in accepted_changes(VALIDATING, path, value, others):
            free.add(starred(path))
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
def test_no_entry_can_be_added_or_left_out(plan):
    for path, node in objects_of(document(plan)):
        # asking one question less is the author's choice, or the outcomes without a model; another plan
        for place in accepted_without(plan, path, node):
            assert path == ("questions",) or place[-1] == "validation"
        assert accepted_with_more(plan, path) is None, path


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


@pytest.mark.parametrize("composed", ["yes", "age"])
def test_a_plan_with_a_text_that_is_not_in_nfc_is_refused(composed):
    text = PLAN.json.replace(f'"{composed}"'.encode(), '"caf\u00e9"'.encode())
    Plan.from_json(text)
    with pytest.raises(SurveyError, match="NFC"):
        Plan.from_json(text.replace("\u00e9".encode(), "e\u0301".encode()))


SPENDING: dict[str, Callable[[dict[str, Any]], None]] = {
    "DE": lambda tables: tables.update(keep=str(int(tables["keep"]) + 1)),
    "SUE": lambda tables: tables.update(p=str(int(tables["p"]) + 1), q=str(int(tables["q"]) - 1)),
    "OUE": lambda tables: tables.update(q=str(int(tables["q"]) - 2)),
    "THE": lambda tables: tables.update(q=str(int(tables["q"]) // 2)),
    "SHE": lambda tables: tables.update(weights=[str(WORD - 2), "1"]),
    "SS": lambda tables: tables.update(keep=str(int(tables["keep"]) + 1)),
}


@pytest.mark.parametrize("frequency", SPENDING)
def test_a_forgery_without_contradictions_is_refused_for_what_it_spends(frequency):
    plan = compiled(frequency=frequency, weights=(1, 1, 0))
    with pytest.raises(PrivacyError, match="more than epsilon"):
        Plan.from_json(forged(SPENDING[frequency], plan))
    honest = Plan.from_json(forged(lambda tables: None, plan))
    assert honest == plan


def test_what_spends_more_is_a_plan_under_an_epsilon_that_covers_it():
    plan = compiled(frequency="DE", weights=(1, 1, 0))
    other = Plan.from_json(forged(SPENDING["DE"], plan, epsilon="1.500001"))
    assert other.digest != plan.digest


def test_every_question_is_proved_not_only_the_first():
    plan = compiled(frequency="DE", weights=(1, 1, 1))
    for index in range(3):
        strong = compiled(frequency="DE", weights=(1, 1, 1), epsilon=Decimal("1.5001"))
        questions = list(plan.questions)
        questions[index] = strong.questions[index]
        with pytest.raises(PrivacyError):
            dataclasses.replace(plan, questions=tuple(questions))
