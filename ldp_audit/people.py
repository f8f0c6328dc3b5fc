"""The made-up people whom the audit compares: with the lowest, middle and highest values of a survey."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from random import SystemRandom

from encoders.survey import BinnedFeature, CategoricalFeature, Feature, Label, NumericFeature, Plan, Question
from encoders.survey.features import ChoiceFeature, Choices
from encoders.survey.plan_checks import MAX_WEIGHT

POSITIONS = ("first", "last", "middle", "beyond", "missing")
"""A feature's first, last and middle value, a number far outside its range, and a missing value."""

_RANGES_BEYOND = 100
_MISSING_SHARE = 0.2


@dataclass(frozen=True)
class Person:
    name: str
    """The property in which this person differs from others, as text."""
    row: dict[str, object]
    label: str | None


def make_people(plan: Plan, question: Question | None = None) -> list[Person]:
    """Return people who differ in the features of a question or, without a question, in all features.

    The labels are the first, the last and a middle one. The values are at `POSITIONS`. If a number is a
    component of a projection, its inputs are chosen so that it is least or greatest. A validation round adds
    people with other codes, because the model may predict another label for them.
    """
    # in a validation round, the whole row decides on the code
    asked = plan.row_schema.features if question is None or plan.validation else question.asked_features
    rows = {position: _make_row(plan, asked, position) for position in POSITIONS}
    earlier = list(rows.values())
    positions = [name for index, name in enumerate(POSITIONS) if rows[name] not in earlier[:index]]
    values = list_labels(plan.row_label)
    labels = dict.fromkeys((values[0], values[-1], values[len(values) // 2]))
    people = [
        Person(join_names(position if asked else "", label), dict(rows[position]), label)
        for position, label in product(positions, labels)
    ]
    return [*people, *_add_other_codes(plan, rows, people)] if plan.validation else people


def list_labels(label: Label) -> tuple[str | None, ...]:
    return label.values if label.exists else (None,)


def join_names(*names: str | None) -> str:
    return ", ".join(name for name in names if name)


def _add_other_codes(
    plan: Plan, rows: Mapping[str, dict[str, object]], people: Sequence[Person]
) -> Iterator[Person]:
    """Yield people whose codes differ from those of all people so far."""
    known = {plan.encode(person.row, person.label) for person in people}
    for position, label in product(rows, plan.row_label.values):
        codes = plan.encode(rows[position], label)
        if codes not in known:
            known.add(codes)
            yield Person(f"{position}, {label}", dict(rows[position]), label)


def draw_people(plan: Plan, count: int) -> list[Person]:
    """Return `count` people whose values are drawn independently, so that all combinations can occur."""
    draw = SystemRandom()
    rows = [{entry.name: _draw_value(entry, draw) for entry in plan.entries} for _ in range(count)]
    return [
        Person(f"random person {number}", row, draw.choice(list_labels(plan.row_label)))
        for number, row in enumerate(rows, 1)
    ]


def _draw_value(feature: Feature, draw: SystemRandom) -> object:
    """Draw one of a feature's values, a number within its range, or any of its choices."""
    if isinstance(feature, Choices | BinnedFeature | NumericFeature) and draw.random() < _MISSING_SHARE:
        return value_at(feature, "missing")
    if isinstance(feature, Choices):
        return [each for each in feature.values if draw.random() < 0.5]
    if not isinstance(feature, CategoricalFeature):
        return draw.uniform(*feature.bounds)
    return draw.choice([*feature.values, *([None] if feature.missing == "category" else [])])


def focus_plan(plan: Plan, question: Question) -> Plan:
    """Return the plan with nearly all weight on one question, so that its test has more power."""
    weights = (MAX_WEIGHT if each is question else 1 for each in plan.questions)
    pairs = zip(plan.questions, weights, strict=True)
    return replace(plan, questions=tuple(replace(each, weight=weight) for each, weight in pairs))


def _make_row(plan: Plan, asked: Sequence[Feature], position: str) -> dict[str, object]:
    row = {entry.name: value_at(entry, "first") for entry in plan.entries}
    for feature in asked:
        row.update(_feature_values(plan, feature, position))
    return row


def _feature_values(plan: Plan, feature: Feature, position: str) -> Iterator[tuple[str, object]]:
    """Yield the entries of a row that make a feature extreme."""
    projection = plan.row_schema.projection
    components = projection.components if projection else ()
    component = next((each for each in components if each.name == feature.name), None)
    if component is None or projection is None:
        yield feature.row_name, value_at(feature, position)
        return
    opposite = {"first": "last", "last": "first"}
    for entry, weight in zip(projection.inputs, component.weights, strict=True):
        yield (
            entry.name,
            value_at(entry, opposite.get(position, position) if weight.startswith("-") else position),
        )


def value_at(feature: Feature, position: str) -> object:
    """Return the value of a feature at one of `POSITIONS`, or else the first; the last ticks all choices."""
    if position == "missing" and feature.missing == "category":
        return None
    if isinstance(feature, ChoiceFeature):
        feature = feature.entry
    if isinstance(feature, Choices):
        ticked = {"last": len(feature.values), "middle": len(feature.values) // 2}
        return list(feature.values[: ticked.get(position, 0)])
    if isinstance(feature, CategoricalFeature):
        return feature.values[{"last": -1, "middle": len(feature.values) // 2}.get(position, 0)]
    low, high = feature.bounds
    numbers = {"last": high, "middle": (low + high) / 2, "beyond": high + _RANGES_BEYOND * (high - low)}
    return numbers.get(position, low)
