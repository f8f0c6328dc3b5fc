"""Codes columns and whole tables, in any spelling, as the device codes each row."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from encoders.errors import RowError, map_collecting_errors
from encoders.survey import row_cells
from encoders.survey.features import (
    GRID,
    BinnedFeature,
    CategoricalFeature,
    Choices,
    Feature,
    NumericFeature,
    row_entries,
)
from encoders.survey.plan import Plan
from encoders.survey.projection import UNIT, Projection
from encoders.survey.silo_plan import SiloPlan
from encoders.survey.validation_round import Validation, find_score_row
from ldp_aggregator.arrays import BoolArray, FloatArray, IntArray

_Read = TypeVar("_Read")


def encode_table(plan: Plan | SiloPlan, columns: Mapping[str, Any]) -> IntArray:
    """Return the codes, (m, features), of a table; in a validation round, those of the model's features.

    Raises RowError with the first row, from 1, that does not fit; `problems` has one for each feature.
    """
    if plan.row_schema.projection:
        columns = {**columns, **project_columns(plan.row_schema.projection, columns)}
    return encode_columns(plan.row_schema.features, columns)


def encode_numbers(feature: BinnedFeature | NumericFeature, numbers: FloatArray) -> IntArray:
    """Return codes of doubles, (m,), as `feature.code`; NaN is missing. RowError names the row, from 1."""
    gaps = np.flatnonzero(~np.isfinite(numbers))
    refused = gaps if feature.missing == "error" else gaps[np.isinf(numbers[gaps])]
    if len(refused):
        row = int(refused[0])
        try:
            feature.code(float(numbers[row]))
        except RowError as error:
            raise RowError(feature.name, f"row {row + 1}: {error.why}") from error
    if isinstance(feature, BinnedFeature):
        inner = np.array([float(edge) for edge in feature.edges[1:-1]])
        codes = np.searchsorted(inner, numbers, side="right").astype(np.int64, copy=False)
    else:
        low, high = feature.bounds
        clipped = np.clip(np.where(np.isfinite(numbers), numbers, low), low, high)
        codes = np.floor((clipped - low) / (high - low) * (2 * GRID) + 0.5).astype(np.int64)
    codes[gaps] = feature.size - 1
    return codes


def encode_labels(plan: Plan, labels: Sequence[object]) -> IntArray:
    """Return the codes of m labels, shape (m,); of m times None for a survey without a label."""
    return encode_values(labels, plan.row_label.code, plan.row_label.name)


def project_columns(projection: Projection, columns: Mapping[str, Sequence[object]]) -> dict[str, FloatArray]:
    """Return the components of rows, each (m,), as `Projection.apply` computes them; NaN where it gives None.

    Raises RowError with the name of an input and its first row, from 1, that does not fit.
    """
    codes = encode_columns(projection.inputs, columns)
    weights = np.array([weights for weights, _ in projection.millionths], dtype=np.int64)
    offsets = np.array([offset for _, offset in projection.millionths], dtype=np.int64)
    projected = ((codes - GRID) @ weights.T + offsets * GRID) / (UNIT * GRID)
    projected[(codes > 2 * GRID).any(axis=1)] = np.nan
    return {each.name: projected[:, index] for index, each in enumerate(projection.components)}


def validate_table(validation: Validation, codes: IntArray, labels: IntArray) -> tuple[IntArray, IntArray]:
    """Validate coded rows (m, n) with labels (m,); return answers as arrays (m, len(top_k)) and (m,)."""
    sums = np.tile(np.array(validation.prior, dtype=np.int64), (len(codes), 1))
    outcomes = {}
    for used, index in enumerate(validation.order, 1):
        table = np.array(validation.scores[index], dtype=np.int64)
        sums += table[find_score_row(validation.features[index], codes[:, index])]
        if used in validation.top_k or used == len(validation.order):
            outcomes[used] = (sums.argmax(axis=1) == labels).astype(np.int64)
    top_k = np.stack([outcomes[top] for top in validation.top_k], axis=1)
    return top_k, outcomes[len(validation.order)]


# -- columns ----------------------------------------------------------------------------------------
# Codes columns of values; each distinct value is coded once, by the function that codes one value.


_MAX_TABLE_SPAN = 1 << 16
"""Largest range of a column's whole numbers that are coded by a table."""


def encode_columns(features: Sequence[Feature], columns: Mapping[str, Any]) -> IntArray:
    """Return the codes of some features' columns, (m, features); RowError as :func:`encode_table`."""
    tables = map_collecting_errors(lambda entry: _encode_entry(entry, columns), row_entries(features))
    by_name = dict(chain.from_iterable(tables))
    coded = [by_name[each.name] for each in features]
    for each, codes in zip(features, coded, strict=True):
        if len(codes) != len(coded[0]):
            raise RowError(each.row_name, f"has {len(codes)} rows, but the first column has {len(coded[0])}")
    return np.stack(coded, axis=1) if coded else np.empty((0, 0), dtype=np.int64)


def _encode_entry(entry: Feature, columns: Mapping[str, Any]) -> Iterable[tuple[str, IntArray]]:
    if entry.name not in columns:
        raise RowError(entry.name, "the table has no such column: add it")
    values = columns[entry.name]
    if not isinstance(entry, Choices):
        return [(entry.name, _encode_feature(entry, values))]
    rows = list(map_rows(entry.codes, values, entry.name))  # a list cannot be hashed: each is coded
    table = np.array(rows, np.int64).reshape(-1, len(entry.values))
    return [(each.name, codes) for each, codes in zip(entry.features(), table.T, strict=True)]


def _encode_feature(feature: Feature, values: Any) -> IntArray:
    if hasattr(values, "dtype"):
        values = np.asanyarray(values)  # a pandas Series too
    # masked arrays and arrays of objects are coded value by value: that keeps masks and types
    plain = type(values) is np.ndarray and values.ndim == 1 and values.dtype.kind in "fiu"
    if plain and not isinstance(feature, CategoricalFeature):
        return encode_numbers(feature, values.astype(np.float64, copy=False))
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


def map_rows(read: Callable[[Any], _Read], values: Iterable[Any], name: str) -> Iterator[_Read]:
    """Yield what `read` makes of each value of a column; its RowError gets the number of the row, from 1."""
    for row, value in enumerate(values, 1):
        try:
            yield read(value)
        except RowError as error:
            raise RowError(name, f"row {row}: {error.why}") from error


def _is_hashable(value: object) -> bool:
    try:
        hash(value)
    except TypeError:
        return False
    return True


def drop_missing_codes(
    features: Sequence[Feature], columns: Mapping[str, Any]
) -> tuple[dict[str, Any], IntArray]:
    """Return columns without codes, and the indices of the rows to keep; raise RowError if there are none.

    The columns keep all rows, so that later errors number them as the file does. A code that drops its row is
    replaced by a value of the feature.
    """
    filled, names = dict(columns), []
    dropped = np.zeros(len(next(iter(columns.values()), ())), dtype=bool)
    for feature, cells, coded in _find_codes(features, columns):
        value = None
        if feature.missing == "error":
            value, dropped = choose_value(feature), dropped | coded
            names.append(feature.name)
        filled[feature.name] = _fill(cells, coded, value)
    if names and dropped.all():
        raise RowError(", ".join(names), row_cells.ALL_DROPPED)
    return filled, np.flatnonzero(~dropped)


def blank_missing_codes(features: Sequence[Feature], columns: Mapping[str, Any]) -> dict[str, Any]:
    found = _find_codes(features, columns)
    return {**columns, **{feature.name: _fill(cells, coded, None) for feature, cells, coded in found}}


def _find_codes(
    features: Sequence[Feature], columns: Mapping[str, Any]
) -> Iterator[tuple[Feature, list[Any], BoolArray]]:
    for each in features:
        if each.missing_codes and each.name in columns:
            column = columns[each.name]
            cells = column.tolist() if hasattr(column, "tolist") else list(column)
            coded = np.array([row_cells.is_missing_code(each, cell) for cell in cells], dtype=bool)
            if coded.any():
                yield each, cells, coded


def _fill(cells: list[Any], coded: BoolArray, value: object) -> list[Any]:
    return [value if is_code else cell for cell, is_code in zip(cells, coded.tolist(), strict=True)]


def choose_value(feature: Feature) -> object:
    if isinstance(feature, CategoricalFeature):
        return [] if isinstance(feature, Choices) else feature.values[0]
    return feature.bounds[0]


def describe_rows(features: Sequence[Feature], columns: Mapping[str, Any]) -> Iterator[str]:
    """Yield how many cells of a CSV file are clipped, and how many rows dropped; see `describe_outside`."""
    for each in features:
        if not isinstance(each, CategoricalFeature) and each.name in columns:
            numbers = np.array(columns[each.name], dtype=np.float64)
            beyond = numbers[(numbers < each.bounds[0]) | (numbers > each.bounds[1])]
            outside = Counter(beyond[~np.isin(beyond, each.missing_codes)].tolist())
            if outside:
                yield row_cells.describe_outside(each, outside, len(numbers))
    rows, kept = len(next(iter(columns.values()), ())), len(drop_missing_codes(features, columns)[1])
    if kept < rows:
        yield row_cells.describe_dropped(rows - kept, rows)


def read_boolean_columns(features: Iterable[Feature], columns: Mapping[str, Any]) -> dict[str, Any]:
    replaced = dict(columns)
    for feature in features:
        if (
            isinstance(feature, CategoricalFeature)
            and not isinstance(feature, Choices)
            and feature.name in columns
            and row_cells.has_booleans(feature.values)
        ):
            column = columns[feature.name]
            cells = column.tolist() if hasattr(column, "tolist") else column
            replaced[feature.name] = [row_cells.read_boolean(cell, feature.values) for cell in cells]
    return replaced
