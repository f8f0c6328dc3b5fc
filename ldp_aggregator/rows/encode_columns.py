"""Codes columns of values; each distinct value is coded once, by the function that codes one value."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray

from encoders.errors import RowError, map_collecting_errors
from encoders.survey.choices import Choices, row_entries
from encoders.survey.features import CategoricalFeature, Feature
from ldp_aggregator.arrays import IntArray

_MAX_TABLE_SPAN = 1 << 16
"""Largest range of a column's whole numbers that are coded by a table."""


def encode_columns(features: Sequence[Feature], columns: Mapping[str, Any]) -> IntArray:
    """Return the codes of the columns of some features, shape (m, number of features).

    Raises
    ------
    RowError
        With the name of the feature and the number, from 1, of the first row that does not fit. `problems`
        has one error for each such feature.
    """
    tables = map_collecting_errors(lambda entry: _encode_entry(entry, columns), row_entries(features))
    by_name = dict(chain.from_iterable(tables))
    coded = [by_name[each.name] for each in features]
    for each, codes in zip(features, coded, strict=True):
        if len(codes) != len(coded[0]):
            raise RowError(each.row_name, f"has {len(codes)} rows, but the first column has {len(coded[0])}")
    return np.stack(coded, axis=1) if coded else np.empty((0, 0), dtype=np.int64)


def _encode_entry(entry: Feature, columns: Mapping[str, Any]) -> Iterable[tuple[str, IntArray]]:
    """Return the name and the codes, shape (m,), of each feature of an entry."""
    if entry.name not in columns:
        raise RowError(entry.name, "the table has no such column: add it")
    values = columns[entry.name]
    if not isinstance(entry, Choices):
        return [(entry.name, _encode_feature(entry, values))]
    rows = []  # each list is coded once: it cannot be hashed
    for row, value in enumerate(values, 1):
        try:
            rows.append(entry.codes(value))
        except RowError as error:
            raise RowError(entry.name, f"row {row}: {error.why}") from error
    table = np.array(rows, np.int64).reshape(-1, len(entry.values))
    return [(each.name, codes) for each, codes in zip(entry.features(), table.T, strict=True)]


def _encode_feature(feature: Feature, values: Any) -> IntArray:
    if hasattr(values, "dtype"):
        values = np.asanyarray(values)  # a pandas Series too
    # masked arrays and arrays of objects are coded value by value: that keeps masks and types
    plain = type(values) is np.ndarray and values.ndim == 1 and values.dtype.kind in "fiu"
    if plain and not isinstance(feature, CategoricalFeature):
        return feature.code_array(values.astype(np.float64, copy=False))
    codes = _encode_whole_numbers(feature, values) if plain else None
    return encode_values(values, feature.code, feature.name) if codes is None else codes


def _encode_whole_numbers(feature: Feature, values: NDArray[Any]) -> IntArray | None:
    """Return the codes of whole numbers, by a table; None if their range is large or a number is refused."""
    if values.dtype.kind not in "iu" or not np.can_cast(values.dtype, np.int64) or not len(values):
        return None
    low, high = int(values.min()), int(values.max())
    if high - low >= _MAX_TABLE_SPAN:
        return None
    indices = values.astype(np.int64) - low
    table = np.zeros(high - low + 1, dtype=np.int64)
    try:
        for index in np.flatnonzero(np.bincount(indices)).tolist():
            table[index] = feature.code(low + index)
    except RowError:
        return None  # coding cell by cell finds its row
    return table[indices]


def encode_values(values: Sequence[object], code: Callable[[object], int], name: str) -> IntArray:
    """Return the codes of m values, shape (m,); each distinct value is coded once."""
    # the type is part of the key: 1, 1.0 and True are equal, but their codes may differ
    plain = values.tolist() if hasattr(values, "tolist") else list(values)
    cells = list(zip(map(type, plain), plain, strict=True))
    try:
        codes = dict.fromkeys(cells, 0)
    except TypeError:
        row = next(row for row, value in enumerate(plain, 1) if not _is_hashable(value))
        raise RowError(name, f"row {row}: must be a single value") from None
    for cell in codes:
        try:
            codes[cell] = code(cell[1])
        except RowError as error:
            raise RowError(name, f"row {cells.index(cell) + 1}: {error.why}") from error
    return np.fromiter(map(codes.__getitem__, cells), np.int64, len(cells))


def _is_hashable(value: object) -> bool:
    try:
        hash(value)
    except TypeError:
        return False
    return True
