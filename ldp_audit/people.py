"""Whom the audit compares: people at the ends of what a survey allows and in its middle, all made up."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from random import SystemRandom

from encoders.survey import CategoricalFeature, Feature, Plan, Question
from encoders.survey.plan_checks import MAX_WEIGHT

PLACES = ("first", "last", "middle", "beyond", "missing")
"""A feature's first and last value, one between, a number far out of its range, and no value at all."""

_FAR = 100
_MISSING = 0.2


@dataclass(frozen=True)
class Case:
    """One made-up person.

    Attributes
    ----------
    name : str
        What is special of this person, for people.
    row : dict
    label : str
    """

    name: str
    row: dict[str, object]
    label: str


def cases_of(plan: Plan, question: Question | None = None) -> list[Case]:
    """Return people who differ in what a question asks, or in everything.

    Labels are the first, the last and one between; values are `PLACES`, as far as the features have them.
    Where a number is a component of a projection, its inputs are such that it is least or greatest. Where a
    model is judged, those follow whose verdicts are like nobody's before: it may guess a label between.
    """
    # all of a row decides on a verdict
    asked = plan.row_schema.features if question is None or plan.validation else question.asked_features
    rows = {word: _row(plan, asked, word) for word in PLACES}
    words = [word for place, word in enumerate(PLACES) if rows[word] not in list(rows.values())[:place]]
    known = plan.row_label.values
    labels = dict.fromkeys((known[0], known[-1], known[len(known) // 2]))
    found = product(words, labels)
    people = [Case(f"{word}, {label}" if asked else label, dict(rows[word]), label) for word, label in found]
    return [*people, *_judging_otherwise(plan, rows, people)] if plan.validation else people


def _judging_otherwise(
    plan: Plan, rows: Mapping[str, dict[str, object]], people: Sequence[Case]
) -> Iterator[Case]:
    told = {plan.encode(case.row, case.label) for case in people}
    for word, label in product(rows, plan.row_label.values):
        verdicts = plan.encode(rows[word], label)
        if verdicts not in told:
            told.add(verdicts)
            yield Case(f"{word}, {label}", dict(rows[word]), label)


def crowd_of(plan: Plan, count: int) -> list[Case]:
    """Return people whose values are drawn independently: features are combined in every way."""
    draw = SystemRandom()
    rows = [{entry.name: _drawn(entry, draw) for entry in plan.entries} for _ in range(count)]
    return [
        Case(f"random person {number}", row, draw.choice(plan.row_label.values))
        for number, row in enumerate(rows, 1)
    ]


def _drawn(feature: Feature, draw: SystemRandom) -> object:
    """Draw one of all values, or a number within its range."""
    if not isinstance(feature, CategoricalFeature):
        low, high = feature.bounds
        return _cell(feature, "missing") if draw.random() < _MISSING else draw.uniform(low, high)
    return draw.choice([*feature.values, *([None] if feature.missing == "category" else [])])


def focused(plan: Plan, question: Question) -> Plan:
    """Return the plan with nearly all of its weight on one question, for the power of it."""
    weights = (MAX_WEIGHT if each is question else 1 for each in plan.questions)
    pairs = zip(plan.questions, weights, strict=True)
    return replace(plan, questions=tuple(replace(each, weight=weight) for each, weight in pairs))


def _row(plan: Plan, asked: Sequence[Feature], word: str) -> dict[str, object]:
    row = {entry.name: _cell(entry, "first") for entry in plan.entries}
    for feature in asked:
        row.update(_cells(plan, feature, word))
    return row


def _cells(plan: Plan, feature: Feature, word: str) -> Iterator[tuple[str, object]]:
    """Yield the entries of a row that make a feature extreme."""
    projection = plan.row_schema.projection
    known = projection.components if projection else ()
    component = next((each for each in known if each.name == feature.name), None)
    if component is None or projection is None:
        yield feature.name, _cell(feature, word)
        return
    opposite = {"first": "last", "last": "first"}
    for entry, weight in zip(projection.inputs, component.weights, strict=True):
        yield entry.name, _cell(entry, opposite.get(word, word) if weight.startswith("-") else word)


def _cell(feature: Feature, word: str) -> object:
    if word == "missing" and feature.missing == "category":
        return None
    if isinstance(feature, CategoricalFeature):
        return feature.values[{"last": -1, "middle": len(feature.values) // 2}.get(word, 0)]
    low, high = feature.bounds
    numbers = {"last": high, "middle": (low + high) / 2, "beyond": high + _FAR * (high - low)}
    return numbers.get(word, low)
