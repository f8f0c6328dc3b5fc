"""Writes tables as CSV that a spreadsheet opens without running formulas."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterable, Mapping, Sequence
from io import StringIO

_SIGNS = r"=+\-@\uff1d\uff0b\uff0d\uff20"
"""First characters that make a cell a formula: =, +, -, @ (in full width too)."""
_NUMBER = re.compile(r"[+-]?\d+(\.\d+)?([eE][+-]?\d+)?")
_CELL_START = re.compile(rf"^(?=[{_SIGNS}'\t\r\n])|(?<=[;\t\r\n])(?=[{_SIGNS}'])")
"""Where a cell may begin as a formula, also if the file is read with semicolons or tabs between the cells."""


def dump_csv(columns: Sequence[str], rows: Iterable[Mapping[str, object]]) -> str:
    """Return a table as CSV with a header line.

    Doubles have all their digits, unknown cells are empty, and marks are `true` or `false`. Names that a
    spreadsheet may take for a formula get an apostrophe in front, see :func:`escape_formula`.
    """
    text = StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows([_format_cell(row[name]) for name in columns] for row in rows)
    return text.getvalue()


def escape_formula(text: str) -> str:
    """Put an apostrophe in front of a text, or a part of it, that a spreadsheet may take for a formula.

    Such a text begins with =, +, -, @ or white space that separates cells, and is not a number. Such a part
    begins with one of these signs after a semicolon, a tab or a line break. An apostrophe at such a place
    gets another one, so removing one apostrophe at each place restores every text.
    """
    return text if _NUMBER.fullmatch(text) else _CELL_START.sub("'", text)


def _format_cell(cell: object) -> str:
    if cell is None:
        return ""
    if isinstance(cell, bool):
        return "true" if cell else "false"
    return repr(cell) if isinstance(cell, int | float) else escape_formula(str(cell))
