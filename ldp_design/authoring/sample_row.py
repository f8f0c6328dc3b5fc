"""Reads a sample, draws or reads the row of a preview, and compares the mechanisms for a number."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

from encoders.canonical import is_text
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
from ldp_aggregator.rows.encode_table import blank_missing_codes
from ldp_aggregator.rows.table_input import read_records, read_table_file
from ldp_design.authoring import TEXTS
from ldp_design.authoring.toml_edit import quote


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
    moment, has_label = "mean" if question.moment == MEAN else "mean square", plan.label.exists
    why = TEXTS.write("mechanisms.one", name=question.mechanism.name, moment=moment, has_label=has_label)
    return "\n".join([*wrap_text(why), *format_table(rows, "<><")])


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
    why = TEXTS.write("mechanisms.ways", has_label=plan.label.exists)
    return "\n".join([*wrap_text(why), *format_table(rows, "<>><")])


def _require_entry(row: Mapping[str, object], feature: Feature) -> None:
    if feature.name not in row:
        raise RowError(feature.name, "the row has no such entry; write null for a missing value")


def _draw_value(feature: Feature, rng: RandomSource) -> object:
    if isinstance(feature, NumericFeature):
        number = float(f"{feature.original(_random_below(2001, rng) / 1000 - 1):.4g}")
        return round(number) if all(each.is_integer() for each in feature.bounds) else number
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


_LONGEST_NAME = 100
_FOOTER = re.compile(r"(grand )?total|sum|mean|average|count|source|n ?=", re.IGNORECASE)


class Sample(NamedTuple):
    columns: dict[str, list[str]]
    """The cells of each column by its name, as texts of a CSV file."""
    choices: dict[str, list[str]]
    """The choices of each question that has one column for each of them."""
    notes: list[str]
    """What is not read as it stands in the file."""


def read_sample(path: Path, *, multiline: bool = False) -> Sample:
    """Read a CSV file, of Qualtrics and SurveyMonkey with their further header lines; raises TableError."""
    sample = Sample({}, {}, [])
    header, rows = read_records(read_table_file(path), path, multiline=multiline)
    first = rows[0] if rows else header
    unnamed = [index for index, name in enumerate(header) if index and not name]
    has_choices = bool(unnamed) and not first[0] and all(first[index] for index in unnamed)
    lines = 1 if has_choices else _count_header_lines(header, rows)
    if lines:
        sample.notes.append(f"header lines below the first one: {lines}; they are no rows")
    rows = rows[lines:]
    last = next(filter(None, rows[-1]), "") if rows else ""
    if _FOOTER.match(last) and not any(last in row for row in rows[:-1]):
        sample.notes.append(f"row {len(rows)}, the last one, seems to be a total, and is left out")
        rows = rows[:-1]
    starts = [index for index in range(len(header)) if not has_choices or index not in unnamed]
    for start, end in pairwise([*starts, len(header)]):
        cells = {first[i] if has_choices else "": [row[i] for row in rows] for i in range(start, end)}
        _add_question(sample, header[start], cells)
    return sample


def _count_header_lines(header: Sequence[str], rows: Sequence[Sequence[str]]) -> int:
    """Return how many rows are header lines: up to the ids of Qualtrics, or one that repeats names."""
    for number, row in enumerate(rows[:3], 1):
        if any('"ImportId"' in cell for cell in row):
            return number
    names, *below = (
        ["".join(filter(str.isalnum, cell)).lower() for cell in row] for row in (header, *rows[:9])
    )
    same = [sum(name == cell != "" for name, cell in zip(names, row, strict=True)) > 1 for row in below]
    return int(same[:1] == [True] and not any(same[1:]))


def _add_question(sample: Sample, name: str, columns: Mapping[str, list[str]]) -> None:
    ticked = [choice for choice, cells in columns.items() if {*cells} <= {"", choice}]
    for below, cells in columns.items():
        if len(ticked) < 2 or below not in ticked:
            _add_column(sample, f"{name}: {below}" if len(columns) > 1 else name, cells)
    if len(ticked) > 1:
        choices = [choice.replace(SEPARATOR, ",") for choice in ticked]
        rows = zip(*(columns[choice] for choice in ticked), strict=True)
        lists = [[choice for choice, cell in zip(choices, row, strict=True) if cell] for row in rows]
        sample.choices[_add_column(sample, name, map(f"{SEPARATOR} ".join, lists))] = choices


def _add_column(sample: Sample, name: str, cells: Iterable[str]) -> str:
    """Add a column, and return its name, which differs from the file's if that cannot be a name."""
    short = " ".join(name.split())[:_LONGEST_NAME] if name and not is_text(name) else name
    if name and short in sample.columns:
        short = f"{short} ({len(sample.columns) + 1})"
    if short != name:
        why = "a column with a longer or repeated name, or with line breaks in it"
        sample.notes.append(f"{why}, is {quote(short)} here")
    sample.columns[short] = list(cells)
    return short
