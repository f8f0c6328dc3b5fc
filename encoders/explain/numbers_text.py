"""Explains in words what a device does with a number: it moves the number into its range, or squares it."""

from __future__ import annotations

from collections.abc import Sequence

from encoders.explain.text import sentence, wrap_text
from encoders.survey.features import CategoricalFeature
from encoders.survey.numeric_features import NumericFeature
from encoders.survey.plan import Plan
from encoders.survey.questions import SQUARE, Question, format_number


def describe_clipping(plan: Plan, clipped: Sequence[str]) -> list[str]:
    """Return a line for each entry of a row that is outside its range; `clipped` has their names."""
    features = {feature.name: feature for feature in (*plan.row_schema.features, *plan.entries)}
    lines: list[str] = []
    for name in clipped:
        feature = features[name]
        assert not isinstance(feature, CategoricalFeature)
        low, high = (format_number(float(bound)) for bound in feature.bounds)
        text = f"({name} is outside its range, {low} to {high}: the device moves it to the nearest end)"
        lines += wrap_text(text, "  ")
    return lines


def describe_square(question: Question) -> list[str]:
    """Return the lines that describe a question about squares of numbers; empty for other questions."""
    numbers = [each for each in question.asked_features if isinstance(each, NumericFeature)]
    if question.moment != SQUARE:
        return []
    if len(numbers) > 1:
        names = ", ".join(each.name for each in numbers)
        return wrap_text(f"{sentence('squares', names)} {sentence('squaresEnds')}")
    (number,) = numbers
    low, middle, high = (format_number(number.original(x)) for x in (-1, 0, 1))
    ends = sentence("squareEnds", middle, low, high)
    return wrap_text(f"{sentence('square', number.name, middle)} {ends}")
