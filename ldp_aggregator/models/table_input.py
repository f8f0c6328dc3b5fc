"""Rows as people hold them - dicts, a DataFrame, an array - to one column per feature."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from encoders.errors import RowError, map_collecting_errors
from encoders.survey.parse_value import number_of
from ldp_aggregator.arrays import FloatArray, IntArray

Columns = dict[str, Any]
"""One sequence or array of m values per name."""


def has_column_names(rows: object) -> bool:
    """Tell whether rows carry names: a list of dicts, a DataFrame, or a dict of columns."""
    return hasattr(rows, "columns") or isinstance(rows, Mapping) or is_list_of_dicts(rows)


def is_list_of_dicts(rows: object) -> bool:
    """Tell whether rows are a list or tuple of mappings."""
    return isinstance(rows, (list, tuple)) and len(rows) > 0 and isinstance(rows[0], Mapping)


def select_columns(rows: Any, names: Sequence[str]) -> Columns:
    """Pick the named features out of a list of dicts, a DataFrame or a dict of columns; ignore others.

    Raises
    ------
    RowError
        If features are absent: all of them in `problems`. A missing value must be given as None, so that
        a misspelt name cannot pass for one.
    """
    if is_list_of_dicts(rows):
        columns = map_collecting_errors(lambda name: [_entry(row, name) for row in rows], names)
    else:
        columns = map_collecting_errors(lambda name: _column(rows, name), names)
    return dict(zip(names, columns, strict=True))


def _column(rows: Any, name: str) -> Any:
    if name not in rows:
        raise RowError(name, "there is no such column")
    return rows[name] if isinstance(rows, Mapping) else _array(rows[name])


def _array(column: Any) -> Any:
    """Return a column of a DataFrame: plain numbers as they are, all else cell by cell."""
    if isinstance(column.dtype, np.dtype) and column.dtype.kind in "fiu":
        return column.to_numpy()
    return column.to_numpy(dtype=object, na_value=None)


def _entry(row: Mapping[str, Any], name: str) -> Any:
    if name not in row:
        raise RowError(name, "is absent; give None for a missing value")
    return row[name]


def name_columns(table: np.ndarray[Any, Any], names: Sequence[str]) -> Columns:
    """Name the columns of an (m, n) array."""
    return {name: table[:, index] for index, name in enumerate(names)}


def take_rows(rows: Columns | NDArray[Any], places: IntArray) -> Columns | NDArray[Any]:
    """Return some of the rows of a table, or of columns that are arrays."""
    if isinstance(rows, np.ndarray):
        return rows[places]
    return {name: column[places] for name, column in rows.items()}


def to_array(rows: Any) -> Any:
    """Keep each cell's own type when rows are lists: numpy would turn [["a", 1]] into strings."""
    return np.array(rows, dtype=object) if isinstance(rows, (list, tuple)) else rows


def read_numbers(column: Iterable[Any], name: str) -> FloatArray:
    """Return numbers as one array of doubles, NaN where one is missing.

    Raises
    ------
    RowError
        Naming the first row, counted from 1, whose value is infinite or no number.
    """
    if type(column) is np.ndarray and column.dtype.kind in "fiu":
        numbers = column.astype(np.float64, copy=False)
        if not np.isinf(numbers).any():
            return numbers
    return np.array([math.nan if number is None else number for number in _read(column, name)])


def _read(column: Iterable[Any], name: str) -> Sequence[float | None]:
    numbers = []
    for row, value in enumerate(column, 1):
        try:
            numbers.append(number_of(value, name))
        except RowError as error:
            raise RowError(name, f"row {row}: {error.why}") from error
    return numbers
