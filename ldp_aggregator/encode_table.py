"""Codes whole tables, with the same result as the device's coding of each row."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from encoders.survey.numeric_features import GRID
from encoders.survey.plan import Plan
from encoders.survey.projection import UNIT, Projection
from ldp_aggregator.arrays import FloatArray, IntArray
from ldp_aggregator.encode_columns import encode_columns, encode_values


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
        columns = {**columns, **project_columns(plan.row_schema.projection, columns)}
    return encode_columns(plan.row_schema.features, columns)


def encode_labels(plan: Plan, labels: Sequence[object]) -> IntArray:
    """Return the codes of m labels, shape (m,)."""
    return encode_values(labels, plan.row_label.code, plan.row_label.name)


def project_columns(projection: Projection, columns: Mapping[str, Sequence[object]]) -> dict[str, FloatArray]:
    """Return the components of the rows of a table, the same as `Projection.apply` returns for each row.

    Parameters
    ----------
    projection : Projection
    columns : mapping from input name to m values

    Returns
    -------
    dict from component name to float64 array, shape (m,)
        NaN where `Projection.apply` gives None.

    Raises
    ------
    RowError
        If a row does not fit; with the name of the input and the number, from 1, of the first such row.
    """
    codes = encode_columns(projection.inputs, columns)
    weights = np.array([weights for weights, _ in projection.millionths], dtype=np.int64)
    offsets = np.array([offset for _, offset in projection.millionths], dtype=np.int64)
    projected = ((codes - GRID) @ weights.T + offsets * GRID) / (UNIT * GRID)
    projected[(codes > 2 * GRID).any(axis=1)] = np.nan
    return {each.name: projected[:, place] for place, each in enumerate(projection.components)}
