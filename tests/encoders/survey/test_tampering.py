"""Tampered plans: refused, or a different valid plan that keeps its epsilon."""

import dataclasses
from decimal import Decimal
from typing import Any

import pytest

from encoders.errors import PrivacyError
from encoders.survey import Plan, read_survey
from tests.support.json_walk import leaves_of, objects_of
from tests.support.mistakes import refuse
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


@pytest.mark.slow
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


@pytest.mark.slow
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


@pytest.mark.parametrize("composed", ["yes", "age"])
def test_a_plan_with_a_text_that_is_not_in_nfc_is_refused(composed):
    text = PLAN.json.replace(f'"{composed}"'.encode(), '"caf\u00e9"'.encode())
    Plan.from_json(text)
    assert "NFC" in str(refuse(text.replace("\u00e9".encode(), "e\u0301".encode()), Plan.from_json))


def test_every_question_is_proved_not_only_the_first():
    plan = compiled(frequency="DE", weights=(1, 1, 1))
    for index in range(3):
        strong = compiled(frequency="DE", weights=(1, 1, 1), epsilon=Decimal("1.5001"))
        questions = list(plan.questions)
        questions[index] = strong.questions[index]
        with pytest.raises(PrivacyError):
            dataclasses.replace(plan, questions=tuple(questions))
