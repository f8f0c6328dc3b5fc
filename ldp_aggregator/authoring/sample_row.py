"""What a preview has for authors alone: a row to look at, and why a number is asked for in this way."""

from __future__ import annotations

import math

from encoders.mechanisms import numeric_candidates
from encoders.randomness import RandomSource
from encoders.survey import CategoricalFeature, Feature, NumericFeature, Plan, Question
from encoders.survey.questions import MEAN
from encoders.text_table import format_table


def make_sample_row(plan: Plan, rng: RandomSource) -> dict[str, object]:
    """Make up a row, its label with it, of the survey's own values, each equally likely."""
    row = {feature.name: _made_up(feature, rng) for feature in plan.entries}
    label = plan.row_label
    return row | {label.name: label.values[_below(len(label.values), rng)]}


def rivals(plan: Plan, question: Question) -> str:
    """Compare the mechanisms that could ask for a number: what "auto" goes by. Empty for other questions."""
    if question.moment is None or question.mechanism.multivariate:
        return ""
    rows = [["  mechanism", "standard error with 1,000 reports", ""]]
    for rival in numeric_candidates(question.numeric_domain, plan.epsilon):
        off = math.sqrt(rival.reference_variance / 1000) * len(plan.label.values)
        mark = "<- this one" if rival.name == question.mechanism.name else ""
        rows.append([f"  {rival.name}", f"{off:.3g}", mark])
    asked = "mean" if question.moment == MEAN else "mean square"
    lines = [
        f"Why {question.mechanism.name}: how far a class's {asked} is off in closed form, of numbers spread",
        'evenly over [-1, 1] and equally frequent classes. numeric = "auto" takes the first:',
        *format_table(rows, "<><"),
    ]
    return "\n".join(lines)


def _made_up(feature: Feature, rng: RandomSource) -> object:
    if isinstance(feature, NumericFeature):
        return float(f"{feature.original(_below(2001, rng) / 1000 - 1):.4g}")
    code = _below(feature.size, rng)
    if isinstance(feature, CategoricalFeature):
        return feature.values[code] if code < len(feature.values) else None
    if code == len(feature.edges) - 1:
        return None
    middle = float(feature.edges[code]) / 2 + float(feature.edges[code + 1]) / 2
    return int(middle) if middle.is_integer() else middle


def _below(count: int, rng: RandomSource) -> int:
    return int.from_bytes(rng.take(8), "little") % count
