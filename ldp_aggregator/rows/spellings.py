"""Reads other spellings in columns: booleans, as CSV files have them, and codes for missing answers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from encoders.errors import RowError
from encoders.survey import CategoricalFeature, Choices, Feature, row_cells
from ldp_aggregator.arrays import BoolArray, IntArray


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
