"""The made-up files of rows that the audit of silos compares: each pair differs by the rows of one person."""

from __future__ import annotations

import csv
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from encoders.errors import LdpError
from encoders.lazy_numpy import IntArray
from encoders.survey.features import SEPARATOR
from encoders.survey.silo_plan import SiloPlan
from ldp_audit.people import join_names, list_labels, value_at

_POSITIONS_OF_ROWS = ("first", "last")
_OTHER_POSITIONS = ("last", "beyond", "missing")


@dataclass(frozen=True)
class Neighbours:
    """Two files of rows; the second also has the rows of one person. No other row has their label, if any."""

    name: str
    label: int
    """The code of the person's label; 0 in a survey without one."""
    files: tuple[Path, Path]
    """Without and with the rows of the person."""
    counts: tuple[IntArray, IntArray]
    """The exact cells of both files, computed from codes and not from the files."""
    person: str | None
    """The column that names the persons, if the survey needs one."""


Row = tuple[dict[str, object], str | None]


def make_neighbours(plan: SiloPlan, folder: Path) -> list[Neighbours]:
    """Write a pair of files for each label; raise LdpError if the survey allows too few rows."""
    labels = list_labels(plan.label)
    chosen = [(label, "first", _row(plan, "first")) for label in labels]
    known = [_codes(plan, chosen[-1][2])]
    for position in _OTHER_POSITIONS:
        row = _row(plan, position)
        if _codes(plan, row) not in known:
            known.append(_codes(plan, row))
            chosen.append((labels[-1], position, row))
    return [
        _write_pair(plan, folder / str(index), join_names(label, f"{position} values"), (values, label))
        for index, (label, position, values) in enumerate(chosen)
    ]


def _write_pair(plan: SiloPlan, path: Path, name: str, person_row: Row) -> Neighbours:
    others = [
        (_row(plan, position), label)
        for label in list_labels(plan.label)
        if label is None or label != person_row[1]
        for position in _POSITIONS_OF_ROWS
    ]
    more = [*others, *[person_row] * plan.rows_per_person]
    if len(more) > plan.rows:
        raise LdpError(
            f"the audit needs {len(more)} rows, but the survey allows {plan.rows}: give one with more"
        )
    column = _unused_name(plan) if plan.rows_per_person > 1 else None
    files = path.with_suffix(".without.csv"), path.with_suffix(".with.csv")
    for file, rows in zip(files, (others, more), strict=True):
        _write_rows(plan, file, column, rows, len(others))
    label = plan.label.code(person_row[1])
    counts = _count(plan, others), _count(plan, more)
    return Neighbours(name, label, files, counts, column)


def _row(plan: SiloPlan, position: str) -> dict[str, object]:
    return {entry.name: value_at(entry, position) for entry in plan.entries}


def _codes(plan: SiloPlan, row: Mapping[str, object]) -> list[int]:
    return [feature.code(row[feature.row_name]) for feature in plan.features]


def _count(plan: SiloPlan, rows: Sequence[Row]) -> IntArray:
    cells = np.zeros(plan.mechanism.cells, dtype=np.int64)
    for values, label in rows:
        for cell, part in plan.question.row_parts(_codes(plan, values), plan.label.code(label)):
            cells[cell] += part
    return cells


def _unused_name(plan: SiloPlan) -> str:
    names = {*plan.label.names, *(entry.name for entry in plan.entries)}
    return next(
        name for name in ("person", *(f"person {index}" for index in range(len(names)))) if name not in names
    )


def _write_cell(value: object) -> object:
    """Return a cell of a CSV file; several answers end with a separator, which also stands for none."""
    if isinstance(value, list):
        return "".join(f"{each}{SEPARATOR}" for each in value) or SEPARATOR
    return "" if value is None else value


def _write_rows(plan: SiloPlan, file: Path, column: str | None, rows: Sequence[Row], others: int) -> None:
    """Write rows; each of the first `others` rows has a person of its own, and the last rows have one."""
    with file.open("w", newline="", encoding="utf-8") as stream:
        writer = csv.writer(stream)
        names = [*plan.label.names, *(entry.name for entry in plan.entries)]
        writer.writerow([*names, column] if column else names)
        for index, (values, label) in enumerate(rows):
            cells = [*plan.label.meaning(plan.label.code(label)).values(), *map(_write_cell, values.values())]
            writer.writerow([*cells, f"p{min(index, others)}"] if column else cells)
