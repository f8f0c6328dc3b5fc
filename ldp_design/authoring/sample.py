"""Reads a sample for a draft: a CSV file, or the export of a survey tool with further header lines."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

from encoders.canonical import is_text
from encoders.survey.features import SEPARATOR
from ldp_aggregator.rows.csv_rows import read_records, read_table_file
from ldp_design.authoring.toml_edit import quote

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
