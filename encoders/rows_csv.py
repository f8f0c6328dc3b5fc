"""Reads CSV files of rows safely, for those who hold rows: analysts, curators and silos."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from _csv import Reader

MULTILINE_HELP = (
    "Quoted cells of the CSV file may contain line breaks. Without this option such a cell is refused, "
    'because an unescaped " at the start of a cell would join all rows up to the next one into one row.'
)
_SEPARATOR_NAMES = {";": "';'", "\t": "tabs", "|": "'|'"}


def read_record(records: Reader, *, multiline: bool = False, lines_before: int = 0) -> list[str] | None:
    """Return the cells of the next record; none for a blank line, and None at the end of the file.

    Parameters
    ----------
    records : csv.reader
        With ``strict=True``.
    multiline : bool
        Whether a quoted cell may continue on the next line.
    lines_before : int
        Number of lines of the file before the first line of `records`.

    Raises
    ------
    csv.Error
        If the record is invalid; the message has the number of its first line, and no content of a cell.
    """
    first = records.line_num + 1
    try:
        record = next(records, None)
        problem = ""
    except csv.Error as error:  # CPython's messages do not quote cells
        record, problem = None, f'is not valid CSV: {error}. Write each " in a quoted cell as ""'
    if records.line_num > first and not multiline:
        problem = (
            'a quoted cell continues on the next line. Write each " in a cell as "" and quote the cell, or '
            "give --multiline (multiline=True) if cells contain line breaks"
        )
    if problem:
        raise csv.Error(f"line {lines_before + first}: {problem}")
    return record


def find_other_separator(header: Sequence[str]) -> str:
    """Return the name of the separator that splits a header into more columns than commas do, or ""."""
    for separator, separator_name in _SEPARATOR_NAMES.items():
        if sum(name.count(separator) for name in header) >= len(header):
            return separator_name
    return ""
