"""Reads CSV files of rows safely, for those who hold rows: analysts, curators and silos."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from typing import TYPE_CHECKING

from encoders.canonical import to_nfc

if TYPE_CHECKING:
    from _csv import Reader

MULTILINE_HELP = (
    "Quoted cells of the CSV file may contain line breaks. Without this option such a cell is refused, "
    'because an unescaped " at the start of a cell would join all rows up to the next one into one row.'
)
MISSING_CODES_HELP = (
    "Codes for missing answers in a column of the rows, for example age=-99,999. In a feature without "
    'missing = "category", a code drops the row. Repeat the option for other features.'
)
_SEPARATOR_NAMES = {";": "';'", "\t": "tabs", "|": "'|'"}


def read_record(records: Reader, *, multiline: bool = False, lines_before: int = 0) -> list[str] | None:
    """Return the next record of a strict ``csv.reader``: [] for a blank line, None at the end of the file.

    Raises csv.Error if the record is invalid, or continues on the next line without `multiline`. The message
    has the number of the record's first line, and no content of a cell. `lines_before` is the number of lines
    of the file before the first line of `records`.
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


def read_header(records: Reader, *, multiline: bool = False) -> list[str]:
    """Return the names of the columns, in NFC, from the first record of a strict ``csv.reader``.

    Raises csv.Error as :func:`read_record` does, if there is no header, and if another separator than commas
    splits it into more columns. The message contains no name, because the first line may be a row.
    """
    header = read_record(records, multiline=multiline) or []
    if header == ["sep=", ""]:  # a line of Excel
        header = read_record(records, multiline=multiline) or []
    header = list(map(to_nfc, header))
    if not header:
        raise csv.Error("has no header: the first line must name the columns")
    for separator, separator_name in _SEPARATOR_NAMES.items():
        if sum(name.count(separator) for name in header) >= len(header):
            raise csv.Error(f"seems to be separated by {separator_name}; save it with commas instead")
    return header


def check_widths(rows: Sequence[Sequence[str]], width: int, first: int = 1) -> None:
    """Raise csv.Error if a row has not `width` cells; `first` is the number of the first row."""
    if not set(map(len, rows)) <= {width}:
        number, row = next((number, row) for number, row in enumerate(rows, first) if len(row) != width)
        why = f"row {number} has {len(row)} cells, the header has {width}: check its commas and quotes"
        raise csv.Error(why)
