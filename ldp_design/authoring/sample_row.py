"""Draws or reads the row of a preview, and compares the mechanisms for a number."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from pathlib import Path

from encoders.errors import LdpError, RowError, map_collecting_errors
from encoders.explain.text import format_table, wrap_text
from encoders.file_kind import describe_other
from encoders.mechanisms import design_numeric, numeric_candidates
from encoders.mechanisms.auto_choice import AUTO
from encoders.randomness import RandomSource
from encoders.survey import CategoricalFeature, Feature, NumericFeature, Plan, Question
from encoders.survey.display_texts import display_texts
from encoders.survey.features import SEPARATOR, Choices
from encoders.survey.parse_value import MISSING_TEXT
from encoders.survey.questions import BOTH, MEAN, SQUARE, build_numeric_domain
from encoders.survey.row_cells import read_boolean
from ldp_aggregator.rows.spellings import blank_missing_codes


def make_sample_row(plan: Plan, rng: RandomSource) -> dict[str, object]:
    """Return a row and a label, drawn uniformly from the survey's values."""
    row = {feature.name: _draw_value(feature, rng) for feature in plan.entries}
    label = plan.row_label
    row |= {name: label.values[_random_below(len(label.values), rng)] for name in label.names}
    return row | dict.fromkeys(display_texts(plan).hidden(row))


def find_questions(plan: Plan, name: str) -> list[Question]:
    """Return the questions that have a name, or ask for the feature of this name; raise LdpError if none."""
    found = [each for each in plan.questions if each.name == name] or [
        each
        for each in plan.questions
        if any(name in (feature.name, feature.row_name) for feature in each.asked_features)
    ]
    if found:
        return found
    known = "; ".join(question.name for question in plan.questions)
    raise LdpError(f"there is no question or feature {name!r}; the survey asks {known}")


def read_json_row(path: Path, plan: Plan) -> dict[str, object]:
    """Read a row from a JSON file that holds one object with an entry for each feature."""
    try:
        row = json.loads(path.read_bytes())
    except (ValueError, RecursionError) as error:
        other = describe_other(path, "json", "text")
        raise RowError(path.name, f"is not JSON: check its quotes, commas and brackets{other}") from error
    if not isinstance(row, dict):
        raise RowError(path.name, 'needs a JSON object, for example {"age": "young", "missed_payment": "no"}')
    map_collecting_errors(lambda feature: _require_entry(row, feature), plan.entries)
    return row


def take_row(
    columns: Mapping[str, Sequence[object]], number: int, plan: Plan, file: str
) -> dict[str, object]:
    """Return one row of a CSV file's columns; the first row has the number 1."""
    length = len(next(iter(columns.values())))
    if number > length:
        raise RowError(file, f"has {length} rows, but no row {number}")
    row = {name: cells[number - 1] for name, cells in blank_missing_codes(plan.entries, columns).items()}
    label = plan.row_label
    return {
        name: read_boolean(value, label.values) if name == label.name else value
        for name, value in row.items()
    }


def format_row(row: dict[str, object]) -> str:
    return "\n".join(f"  {name} = {format_value(value)}" for name, value in row.items())


def format_value(value: object) -> str:
    if isinstance(value, list):
        return f"{SEPARATOR} ".join(map(str, value)) or "(none of the choices)"
    if isinstance(value, float):
        return f"{value:g}"
    return MISSING_TEXT if value is None else str(value)


def compare_mechanisms(plan: Plan, question: Question) -> str:
    """Return a table of the mechanisms, or ways to ask, that "auto" chooses from for a number; else empty."""
    if question.moment is None or question.mechanism.multivariate or plan.asks_all:
        return ""
    if question.moment == BOTH:
        return _compare_ways(plan, question)
    rows = [["  mechanism", "standard error with 1,000 reports", ""]]
    for candidate in numeric_candidates(question.numeric_domain, plan.epsilon):
        stderr = math.sqrt(candidate.reference_variance / 1000) * len(plan.label.values)
        mark = "<- this one" if candidate.name == question.mechanism.name else ""
        rows.append([f"  {candidate.name}", f"{stderr:.3g}", mark])
    asked = "mean" if question.moment == MEAN else "mean square"
    of_whom, classes = ("a class's", " and equally frequent classes") if plan.label.exists else ("the", "")
    sentences = (
        f'Why {question.mechanism.name}: numeric = "auto" chooses the mechanism with the smallest standard '
        f"error of {of_whom} {asked}, computed for numbers uniform in [-1, 1]{classes}:"
    )
    return "\n".join([*wrap_text(sentences), *format_table(rows, "<><")])


def _compare_ways(plan: Plan, question: Question) -> str:
    one, mean, square = (
        design_numeric(
            AUTO, build_numeric_domain(question.label, question.asked_features, each), plan.epsilon
        )
        for each in (BOTH, MEAN, SQUARE)
    )
    rows = [["  questions", "mean", "mean square", ""]]
    for name, variances, people, mark in (
        ("one", (one.reference_variance, one.second_reference_variance), 1000, "<- this one"),
        ("two, each of half of the people", (mean.reference_variance, square.reference_variance), 500, ""),
    ):
        errors = [math.sqrt(each / people) * len(plan.label.values) for each in variances]
        rows.append([f"  {name}", *(f"{each:.3g}" for each in errors), mark])
    text = (
        "One question or two: standard errors with 1,000 people, computed for numbers uniform in [-1, 1]"
        f"{' and equally frequent classes' * plan.label.exists}:"
    )
    return "\n".join([*wrap_text(text), *format_table(rows, "<>><")])


def _require_entry(row: Mapping[str, object], feature: Feature) -> None:
    if feature.name not in row:
        raise RowError(feature.name, "the row has no such entry; write null for a missing value")


def _draw_value(feature: Feature, rng: RandomSource) -> object:
    if isinstance(feature, NumericFeature):
        return float(f"{feature.original(_random_below(2001, rng) / 1000 - 1):.4g}")
    if isinstance(feature, Choices):
        if feature.missing == "category" and not _random_below(len(feature.values) + 1, rng):
            return None
        return [choice for choice in feature.values if _random_below(2, rng)]
    code = _random_below(feature.size, rng)
    if isinstance(feature, CategoricalFeature):
        return feature.values[code] if code < len(feature.values) else None
    if code == len(feature.edges) - 1:
        return None
    middle = float(feature.edges[code]) / 2 + float(feature.edges[code + 1]) / 2
    return int(middle) if middle.is_integer() else middle


def _random_below(count: int, rng: RandomSource) -> int:
    return int.from_bytes(rng.take(8), "little") % count
