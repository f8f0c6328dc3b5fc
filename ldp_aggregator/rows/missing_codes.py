"""Applies the codes for missing answers to columns, see :mod:`encoders.survey.missing_codes`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from encoders.errors import RowError
from encoders.survey import CategoricalFeature, Choices, Feature
from encoders.survey.missing_codes import ALL_DROPPED, describe_dropped, describe_outside
from ldp_aggregator.arrays import BoolArray, IntArray


def drop_missing_codes(
    features: Sequence[Feature], columns: Mapping[str, Any]
) -> tuple[dict[str, Any], IntArray]:
    """Return columns without codes, and the indices of the rows to keep; raise RowError if there are none.

    The columns keep all rows, so that later errors number them as the file does. A code that drops its row is
    replaced by a value of the feature.
    """
    dropped: dict[str, BoolArray] = {}
    columns = blank_missing_codes(features, columns, dropped)
    rows = np.zeros(len(next(iter(columns.values()), ())), dtype=bool)
    for coded in dropped.values():
        rows |= coded
    if len(rows) and rows.all():
        raise RowError(", ".join(dropped), ALL_DROPPED)
    return columns, np.flatnonzero(~rows)


def blank_missing_codes(
    features: Sequence[Feature], columns: Mapping[str, Any], dropped: dict[str, BoolArray] | None = None
) -> dict[str, Any]:
    """Return columns with None in place of codes.

    If `dropped` is given, it gets a mask of the rows for each feature without a category for missing answers.
    The column then has a value of the feature.
    """
    blanked = dict(columns)
    for each in features:
        if each.missing_codes and each.name in columns:
            column = columns[each.name]
            cells = column.tolist() if hasattr(column, "tolist") else list(column)
            coded = np.fromiter(map(each.is_missing_code, cells), bool, len(cells))
            blank = None
            if each.missing == "error" and dropped is not None and coded.any():
                blank, dropped[each.name] = choose_value(each), coded
            if coded.any():
                pairs = zip(cells, coded.tolist(), strict=True)
                blanked[each.name] = [blank if is_code else cell for cell, is_code in pairs]
    return blanked


def choose_value(feature: Feature) -> object:
    """Return a value of a feature."""
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
                yield describe_outside(each, outside, len(numbers))
    rows, kept = len(next(iter(columns.values()), ())), len(drop_missing_codes(features, columns)[1])
    if kept < rows:
        yield describe_dropped(rows - kept, rows)
