"""A CSV file of rows, its cells read as the survey's features read text."""

from __future__ import annotations

import csv
import os
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from encoders.errors import LdpError, RowError, map_collecting_errors
from encoders.survey import Feature

_OTHER_SEPARATORS = {";": "';'", "\t": "tabs", "|": "'|'"}


class TableError(LdpError):
    """A CSV file that is no table; names the row, never its content."""


def read_typed_columns(
    path: str | os.PathLike[str], features: Iterable[Feature]
) -> dict[str, Sequence[object]]:
    """Read a CSV file with a header line; its cells become what `features` expect.

    Parameters
    ----------
    path : path
        UTF-8, with or without a byte order mark.
    features : iterable of Feature
        Columns of other names stay texts.

    Returns
    -------
    dict of str to list
        Columns in the file's order.

    Raises
    ------
    TableError
        If the file is no table, see :func:`read_text_columns`.
    RowError
        Naming the feature and the row, counted from 1, of a cell that is no number but should be one;
        with one for each such feature in `problems`.
    """
    columns: dict[str, Sequence[object]] = dict(read_text_columns(path))
    known = [feature for feature in features if feature.name in columns]
    cells = map_collecting_errors(lambda feature: list(_cells(feature, columns[feature.name])), known)
    return columns | {feature.name: column for feature, column in zip(known, cells, strict=True)}


def _cells(feature: Feature, texts: Iterable[object]) -> Iterator[object]:
    for row, text in enumerate(texts, 1):
        try:
            yield feature.from_text(str(text))
        except RowError as error:
            raise RowError(feature.name, f"row {row}: {error.why}") from error


def read_text_columns(path: str | os.PathLike[str]) -> dict[str, list[str]]:
    """Read a CSV file with a header line as columns of text, in the file's order; blank lines are skipped.

    Raises
    ------
    TableError
        If the file cannot be read, has no header, names a column twice, has a row of another length
        than the header, or seems to be separated by something else than commas.
    """
    try:
        with open(path, encoding="utf-8-sig", newline="") as file:
            header, rows = _read(csv.reader(file, strict=True), str(path))
    except OSError as error:
        raise TableError(f"{path}: cannot be read: {error.strerror}") from error
    except (UnicodeDecodeError, csv.Error) as error:
        raise TableError(f"{path}: is no UTF-8 CSV file") from error
    return {name: [row[index] for row in rows] for index, name in enumerate(header)}


def _require_commas(header: list[str], path: str) -> None:
    """Refuse a header with more of another separator than of commas: a column's name rarely holds one."""
    for separator, called in _OTHER_SEPARATORS.items():
        if sum(name.count(separator) for name in header) >= len(header):
            raise TableError(
                f"{path}: this file seems to be separated by {called}; save it with commas instead"
            )


def _read(reader: Iterator[list[str]], path: str) -> tuple[list[str], list[list[str]]]:
    header = next(reader, None)
    if not header:
        raise TableError(f"{path}: the first line must name the columns")
    twice = [name for name, count in Counter(header).items() if count > 1]
    if twice:
        raise TableError(f"{path}: two columns are called {twice[0]!r}")
    _require_commas(header, path)
    rows = [row for row in reader if row]
    for number, row in enumerate(rows, 1):
        if len(row) != len(header):
            raise TableError(f"{path}: row {number} has {len(row)} cells, the header has {len(header)}")
    return header, rows
