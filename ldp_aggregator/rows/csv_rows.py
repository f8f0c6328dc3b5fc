"""Reads CSV files as columns of text, or of values that a survey's features parse from text."""

from __future__ import annotations

import csv
import os
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from io import StringIO

from encoders.errors import LdpError, map_collecting_errors
from encoders.file_kind import describe_other
from encoders.rows_csv import check_widths, read_header, read_record
from encoders.survey import Feature
from ldp_aggregator.rows.encode_table import map_rows
from ldp_aggregator.rows.spellings import read_boolean_columns


class TableError(LdpError):
    """A CSV file that is not a valid table; the message names the row, never its content."""


def read_typed_columns(
    path: str | os.PathLike[str], features: Iterable[Feature], *, multiline: bool = False
) -> dict[str, Sequence[object]]:
    """Read a CSV file with a header line in its order; cells become what `features` expect, else stay texts.

    True, 1 and such become true if a feature has booleans. `multiline` allows line breaks in quoted cells.
    Raises TableError as :func:`read_text_columns`, and RowError for cells that should be numbers, with the
    row, counted from 1; `problems` contains one error for each such feature.
    """
    return parse_typed_columns(read_text_columns(path, multiline=multiline), features)


def parse_typed_columns(
    texts: Mapping[str, Sequence[str]], features: Iterable[Feature]
) -> dict[str, Sequence[object]]:
    columns: dict[str, Sequence[object]] = dict(texts)
    known = [feature for feature in features if feature.name in columns]
    parsed = map_collecting_errors(
        lambda feature: list(map_rows(feature.from_text, texts[feature.name], feature.name)), known
    )
    columns |= {feature.name: column for feature, column in zip(known, parsed, strict=True)}
    return read_boolean_columns(known, columns)


def read_text_columns(path: str | os.PathLike[str], *, multiline: bool = False) -> dict[str, list[str]]:
    """Read a CSV file with a header line as columns of text, in the file's order; blank lines are skipped.

    Raises TableError if the file cannot be read, has no header, names a column twice, has a row of another
    length than the header, or seems to have another separator than commas. Without `multiline`, also if a
    quoted cell continues on the next line.
    """
    return parse_text_columns(read_table_file(path), path, multiline=multiline)


def read_table_file(path: str | os.PathLike[str]) -> bytes:
    try:
        with open(path, "rb") as file:
            return file.read()
    except OSError as error:
        raise TableError(f"{path}: cannot be read: {error.strerror}") from error


def parse_text_columns(
    data: bytes, path: str | os.PathLike[str], *, multiline: bool = False
) -> dict[str, list[str]]:
    header, rows = read_records(data, path, multiline=multiline)
    for column, name in enumerate(header, 1):
        if (first := header.index(name) + 1) < column:  # a file without a header has cells here
            raise TableError(f"{path}: columns {first} and {column} have the same name: rename one")
    return {name: [row[index] for row in rows] for index, name in enumerate(header)}


def read_records(
    data: bytes, path: str | os.PathLike[str], *, multiline: bool = False
) -> tuple[list[str], list[list[str]]]:
    if other := describe_other(data, "csv", "empty", "text"):
        raise TableError(f"{path}: is not a CSV file{other}")
    try:
        reader = csv.reader(StringIO(data.decode("utf-8-sig"), newline=""), strict=True)
        header = read_header(reader, multiline=multiline)
        rows = list(filter(None, iter(partial(read_record, reader, multiline=multiline), None)))
        check_widths(rows, len(header))
    except UnicodeDecodeError as error:
        raise TableError(f"{path}: is not a CSV file in UTF-8: save it as one") from error
    except csv.Error as error:
        raise TableError(f"{path}: {error}") from error
    return header, rows
