"""Codes whole tables, with the same result as the device's coding of each row."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from encoders.arrays import IntArray
from encoders.survey.encode_columns import encode_columns, encode_values
from encoders.survey.plan import Plan


def encode_table(plan: Plan, columns: Mapping[str, Any]) -> IntArray:
    """Return the codes of a table's features; in a validation round, of the features of the model.

    Parameters
    ----------
    plan : Plan
    columns : mapping from feature name to m values

    Returns
    -------
    int64 array, shape (m, number of features)

    Raises
    ------
    RowError
        With the name of the feature and the number, from 1, of the first row that does not fit. `problems`
        has one error for each such feature.
    """
    if plan.row_schema.projection:
        columns = {**columns, **plan.row_schema.projection.columns(columns)}
    return encode_columns(plan.row_schema.features, columns)


def encode_labels(plan: Plan, labels: Sequence[object]) -> IntArray:
    """Return the codes of m labels, shape (m,)."""
    return encode_values(labels, plan.row_label.code, plan.row_label.name)
