"""Codes whole tables, with the same result as the device's coding of each row."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from operator import mul
from typing import Any

import numpy as np

from encoders.survey.features import GRID
from encoders.survey.plan import Plan
from encoders.survey.projection import UNIT, Projection
from encoders.survey.questions import SQUARE, Question, square_code
from encoders.survey.silo_plan import SiloPlan
from encoders.survey.validation_round import Validation, find_score_row
from ldp_aggregator.arrays import FloatArray, IntArray
from ldp_aggregator.rows.encode_columns import encode_columns, encode_values


def encode_table(plan: Plan | SiloPlan, columns: Mapping[str, Any]) -> IntArray:
    """Return the codes of a table's features; in a validation round, of the features of the model.

    Parameters
    ----------
    plan : Plan or SiloPlan
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
    """Return the codes of m labels, shape (m,); of m times None for a survey without a label."""
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


def true_answers(question: Question, codes: IntArray, label_codes: IntArray, rows: IntArray) -> IntArray:
    """Return the true answers of some rows of a coded table; `rows` are their indices."""
    own = label_codes[rows] if question.label.exists else np.zeros_like(rows)
    if not question.mechanism.multivariate:
        found = [
            (codes[rows, index] + question.shift) // question.width for index in question.feature_indices
        ]
        if question.moment == SQUARE:
            found = [square_code(each) for each in found]
        return sum(map(mul, found, question.strides), own)
    numbers = codes[rows[:, None], list(question.feature_indices)]
    if question.moment == SQUARE:
        numbers = square_code(numbers)
    answers: IntArray = numbers * len(question.label.values) + own[:, None]
    return answers
