"""Converts tables - a list of dicts, a DataFrame, a dict of columns, an array - to one column per feature.

A DataFrame can be one of pandas or polars, or a table of pyarrow; none of them is imported.
"""

from __future__ import annotations

import csv
import math
import os
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from io import StringIO
from typing import Any

import numpy as np
from numpy.typing import NDArray

from encoders.errors import LdpError, RowError, combine_errors, map_collecting_errors
from encoders.file_kind import describe_other
from encoders.rows_csv import check_widths, read_header, read_record
from encoders.survey import Feature
from encoders.survey.parse_value import is_missing, parse_number
from ldp_aggregator.arrays import FloatArray
from ldp_aggregator.rows.encode_table import map_rows, read_boolean_columns

_ROW_NUMBER = re.compile(r"row (\d+): ")
"""How an error of a column begins; rows are counted from 1."""

_NUMBER = re.compile("(u?int)|float|double|halffloat")
"""How the types of plain numbers of pandas, polars and pyarrow begin, in lower case."""

Columns = dict[str, Any]
"""One sequence or array of m values per name."""


def column_names(rows: Any) -> list[str] | None:
    """Return the column names of a list of dicts, a dict of columns or a DataFrame; None of other tables.

    A DataFrame without a name that is a text, such as pandas makes of an array, is read as an array.
    """
    if is_list_of_dicts(rows):
        return list(rows[0])
    if isinstance(rows, Mapping):
        return None if hasattr(rows, "toarray") else list(rows)  # a sparse matrix can be a mapping too
    names = list(getattr(rows, "column_names", getattr(rows, "columns", [None])))
    return names if any(isinstance(name, str) for name in names) else None


def is_list_of_dicts(rows: object) -> bool:
    return isinstance(rows, (list, tuple)) and len(rows) > 0 and isinstance(rows[0], Mapping)


def check_table(rows: Any) -> None:
    """Raise ValueError if rows are a single row, not computed yet, or have columns of several levels."""
    if hasattr(rows, "collect"):  # asking a lazy frame for its columns would compute them
        raise ValueError("X is a lazy frame, whose rows are not computed yet: give X.collect()")
    if getattr(getattr(rows, "columns", None), "nlevels", 1) > 1:
        raise ValueError('X has columns of several levels: join their names, X.columns.map("_".join)')
    if isinstance(rows, Mapping) and column_names(rows) and any(map(_is_single_value, rows.values())):
        raise ValueError("X is a single row (a dict of values): give a list of rows, [row]")


def _is_single_value(value: object) -> bool:
    return isinstance(value, str) or not (hasattr(value, "__len__") or hasattr(value, "__iter__"))


@contextmanager
def name_rows_by_index(rows: Any) -> Iterator[None]:
    """Return a context in which errors name a row of a DataFrame or Series by its index, not its number.

    Only an index of integers or dates is quoted: texts can be names or addresses, and errors reach logs.
    """
    try:
        yield
    except RowError as error:
        if not hasattr(rows, "iloc") or not _has_plain_index(rows.index):
            raise
        raise combine_errors([_name_row(each, rows.index) for each in error.problems]) from error


def _has_plain_index(index: Any) -> bool:
    kind = getattr(index, "inferred_type", "")
    return kind in ("integer", "period") or getattr(index.dtype, "kind", "") == "M"


def _name_row(error: RowError, index: Any) -> RowError:
    match = _ROW_NUMBER.match(error.why)
    if match is None or not 1 <= int(match[1]) <= len(index):
        return error
    return RowError(error.field, f"index {index[int(match[1]) - 1]!s}: {error.why[match.end() :]}")


def select_columns(rows: Any, names: Sequence[Any]) -> Columns:
    """Return the named columns of a list of dicts, a DataFrame or a dict of columns; ignore other columns.

    Raises RowError if features are absent; `problems` contains all of them. A missing value must be given as
    None, so that a misspelt name is not taken for a missing value.
    """
    if is_list_of_dicts(rows):
        columns = map_collecting_errors(lambda name: _read_entries(rows, name), names)
    else:
        counts = Counter(column_names(rows))
        columns = map_collecting_errors(lambda name: _read_column(rows, name, counts[name]), names)
    return dict(zip(names, columns, strict=True))


def _read_entries(rows: Sequence[Mapping[str, Any]], name: str) -> list[Any]:
    absent = [number for number, row in enumerate(rows, 1) if name not in row]
    if absent:
        where = "" if len(absent) == len(rows) else f"row {absent[0]}: "
        raise RowError(name, f"{where}is absent; give None for a missing value")
    return [row[name] for row in rows]


def _read_column(rows: Any, name: str, count: int) -> Any:
    if count == 0:
        raise RowError(str(name), "the table has no such column: add it")
    if count > 1:
        raise RowError(str(name), f"there are {count} columns of this name: rename all but one")
    return read_cells(rows[name])


def read_cells(column: Any) -> Any:
    """Return a column as an array if its type is one of plain numbers, else as Python objects."""
    if not hasattr(column, "__array__"):
        return column
    array = np.asanyarray(column)
    # numpy has no missing integers: a column with some may become an array of floats, which is not exact
    number = _NUMBER.match(str(getattr(column, "dtype", getattr(column, "type", ""))).lower())
    is_exact = array is column or (number and (array.dtype.kind == "f") == (number[1] is None))
    if type(array) is np.ndarray and array.dtype.kind in "fiu" and is_exact:
        return array
    if array is column and array.dtype.kind in "mM":
        return list(column)  # its tolist can return integers
    methods = (getattr(column, name, None) for name in ("to_list", "to_pylist", "tolist"))
    return next(filter(None, methods), array.tolist)()


def name_columns(table: np.ndarray[Any, Any], names: Sequence[str]) -> Columns:
    return {name: read_cells(table[:, index]) for index, name in enumerate(names)}


def read_labels(y: Any) -> NDArray[Any]:
    """Return labels, (m,); ValueError names the first row, from 1, whose label is missing or infinite."""
    # the import is slow: commands that only read rows start without it
    from sklearn.utils.validation import assert_all_finite, column_or_1d

    cells = read_cells(y) if column_names(y) is None else y
    for row, label in enumerate(cells if np.ndim(cells) == 1 else (), 1):
        if is_missing(label):
            raise ValueError(f"y: row {row}: is missing: leave out the rows without a label")
    labels: NDArray[Any] = column_or_1d(cells, warn=True)
    assert_all_finite(labels, input_name="y")
    return labels


def to_array(rows: Any) -> Any:
    if hasattr(rows, "iloc") and getattr(rows, "ndim", 0) == 2:
        cells = [list(read_cells(rows.iloc[:, index])) for index in range(rows.shape[1])]
        return np.array(cells, dtype=object).T.reshape(rows.shape)
    # numpy would turn [["a", 1]] into texts
    return np.array(rows, dtype=object) if isinstance(rows, (list, tuple)) else rows


def read_numbers(column: Iterable[Any], name: str) -> FloatArray:
    """Return doubles, NaN if missing; RowError names the first row, from 1, with another value."""
    if type(column) is np.ndarray and column.dtype.kind in "fiu":
        numbers = column.astype(np.float64, copy=False)
        if not np.isinf(numbers).any():
            return numbers
    doubles = map_rows(partial(parse_number, name=name), column, name)
    return np.array([math.nan if number is None else number for number in doubles])


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
