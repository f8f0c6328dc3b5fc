"""Writes the table of estimates as CSV that a spreadsheet opens without running formulas."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterable
from io import StringIO

from ldp_aggregator.results.table import COLUMNS, Row

_FORMULA_START = tuple("=+-@\t\r\n\uff1d\uff0b\uff0d\uff20")
"""First characters that make a cell a formula: =, +, -, @ (in full width too), tab and new line."""
_ESCAPE = "'"
_NUMBER = re.compile(r"[+-]?\d+(\.\d+)?([eE][+-]?\d+)?")


def dump_csv(rows: Iterable[Row]) -> str:
    """Return the table as CSV with a header line.

    Doubles have all their digits, unknown cells are empty, and marks are `true` or `false`. Names that a
    spreadsheet may take for a formula get an apostrophe in front, see :func:`escape_formula`.
    """
    text = StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(COLUMNS)
    writer.writerows([_format_cell(row[name]) for name in COLUMNS] for row in rows)  # type: ignore[literal-required]
    return text.getvalue()


def escape_formula(text: str) -> str:
    """Put an apostrophe in front of a text that a spreadsheet may take for a formula.

    Such a text begins with =, +, -, @ or white space that separates cells, and is not a number. A text that
    begins with an apostrophe gets another one, so removing the first apostrophe restores every text.
    """
    is_formula = text.startswith(_FORMULA_START) and not _NUMBER.fullmatch(text)
    return f"{_ESCAPE}{text}" if is_formula or text.startswith(_ESCAPE) else text


def _format_cell(cell: object) -> str:
    if cell is None:
        return ""
    if isinstance(cell, bool):
        return "true" if cell else "false"
    return repr(cell) if isinstance(cell, int | float) else escape_formula(str(cell))
