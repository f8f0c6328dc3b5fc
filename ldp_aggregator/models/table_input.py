"""Converts tables - a list of dicts, a DataFrame, a dict of columns, an array - to one column per feature."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
from numpy.typing import NDArray

from encoders.errors import RowError, combine_errors, map_collecting_errors
from encoders.survey.parse_value import parse_number
from ldp_aggregator.arrays import FloatArray, IntArray

_ROW_NUMBER = re.compile(r"row (\d+): ")
"""How an error of a column begins; rows are counted from 1."""

Columns = dict[str, Any]
"""One sequence or array of m values per name."""


def has_column_names(rows: object) -> bool:
    """Return whether columns have names: in a list of dicts, a DataFrame, or a dict of columns."""
    return hasattr(rows, "columns") or isinstance(rows, Mapping) or is_list_of_dicts(rows)


def is_list_of_dicts(rows: object) -> bool:
    """Return whether rows are a list or tuple of mappings."""
    return isinstance(rows, (list, tuple)) and len(rows) > 0 and isinstance(rows[0], Mapping)


def refuse_single_row(rows: object) -> None:
    """Raise ValueError if rows are one dict of single values instead of a list of such dicts."""
    if not isinstance(rows, Mapping) or not all(isinstance(name, str) for name in rows):
        return  # a sparse matrix can be a mapping too, from positions to numbers
    if any(_is_single_value(value) for value in rows.values()):
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
    """Return whether a pandas index consists of integers, dates or periods."""
    kind = getattr(index, "inferred_type", "")
    return kind in ("integer", "period") or getattr(index.dtype, "kind", "") == "M"


def _name_row(error: RowError, index: Any) -> RowError:
    match = _ROW_NUMBER.match(error.why)
    if match is None or not 1 <= int(match[1]) <= len(index):
        return error
    return RowError(error.field, f"index {index[int(match[1]) - 1]!s}: {error.why[match.end() :]}")


def select_columns(rows: Any, names: Sequence[str]) -> Columns:
    """Return the named columns of a list of dicts, a DataFrame or a dict of columns; ignore other columns.

    Raises
    ------
    RowError
        If features are absent; `problems` contains all of them. A missing value must be given as None, so
        that a misspelt name is not taken for a missing value.
    """
    read_column = _read_entries if is_list_of_dicts(rows) else _read_column
    columns = map_collecting_errors(lambda name: read_column(rows, name), names)
    return dict(zip(names, columns, strict=True))


def _read_entries(rows: Sequence[Mapping[str, Any]], name: str) -> list[Any]:
    absent = [number for number, row in enumerate(rows, 1) if name not in row]
    if absent:
        where = "" if len(absent) == len(rows) else f"row {absent[0]}: "
        raise RowError(name, f"{where}is absent; give None for a missing value")
    return [row[name] for row in rows]


def _read_column(rows: Any, name: str) -> Any:
    """Return a column; of a DataFrame, plain numbers are an array, other values Python objects."""
    if name not in rows:
        raise RowError(name, "there is no such column: add it")
    column = rows[name]
    if isinstance(rows, Mapping):
        return column
    if isinstance(column.dtype, np.dtype) and column.dtype.kind in "fiu":
        return column.to_numpy()
    return column.to_numpy(dtype=object, na_value=None)


def name_columns(table: np.ndarray[Any, Any], names: Sequence[str]) -> Columns:
    """Return the columns of an (m, n) array by name."""
    return {name: table[:, index] for index, name in enumerate(names)}


def take_rows(rows: Columns | NDArray[Any], indices: IntArray) -> Columns | NDArray[Any]:
    """Return some of the rows of a table, or of columns that are arrays."""
    if isinstance(rows, np.ndarray):
        return rows[indices]
    return {name: column[indices] for name, column in rows.items()}


def to_array(rows: Any) -> Any:
    """Return lists as an array that keeps the type of each cell: numpy would turn [["a", 1]] into strings."""
    return np.array(rows, dtype=object) if isinstance(rows, (list, tuple)) else rows


def read_numbers(column: Iterable[Any], name: str) -> FloatArray:
    """Return numbers as one array of doubles, NaN where one is missing.

    Raises
    ------
    RowError
        If a value is infinite or not a number; names the first such row, counted from 1.
    """
    if type(column) is np.ndarray and column.dtype.kind in "fiu":
        numbers = column.astype(np.float64, copy=False)
        if not np.isinf(numbers).any():
            return numbers
    doubles = []
    for row, value in enumerate(column, 1):
        try:
            number = parse_number(value, name)
        except RowError as error:
            raise RowError(name, f"row {row}: {error.why}") from error
        doubles.append(math.nan if number is None else number)
    return np.array(doubles)
