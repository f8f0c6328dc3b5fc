"""Reads rows without labels, with which a classifier is fitted beside the reports."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from encoders.errors import LdpError
from encoders.survey import Feature, Plan
from ldp_aggregator.arrays import IntArray
from ldp_aggregator.rows.boolean_values import read_boolean_columns
from ldp_aggregator.rows.encode_columns import encode_columns
from ldp_aggregator.rows.encode_table import project_columns
from ldp_aggregator.rows.missing_codes import drop_missing_codes
from ldp_aggregator.rows.table_input import (
    check_table,
    column_names,
    name_columns,
    name_rows_by_index,
    select_columns,
    to_array,
)

MIN_ROWS = 100
"""Fewer rows do not show how the features depend on each other."""


class UnlabelledRowsError(LdpError):
    """Rows without labels that cannot be used; the message states why and what to do."""


@dataclass(frozen=True)
class UnlabelledRows:
    """Coded rows without labels."""

    codes: IntArray
    """Coded as devices code them; 0 in features that the rows do not have. Shape (rows, features)."""
    present: frozenset[int]
    """Indices of the features that the rows have."""


def read_unlabelled_rows(plan: Plan, rows: Any, entries: Sequence[Feature] = ()) -> UnlabelledRows:
    """Read and code rows without labels.

    A column that is no feature of the survey is ignored, also one with the labels. A feature without a column
    is not fitted.

    Parameters
    ----------
    plan : Plan
    rows : DataFrame, list of dicts, dict of columns, or (rows, features) array
    entries : sequence of Feature, optional
        The entries of the rows with their missing codes, by default those of the plan.

    Raises
    ------
    UnlabelledRowsError
        If there are fewer than MIN_ROWS rows, or no column of the survey.
    RowError
        If a value does not fit the survey; names the feature and the row.
    """
    check_table(rows)
    names = [entry.name for entry in plan.entries]
    with name_rows_by_index(rows):
        columns, kept = drop_missing_codes(entries or plan.entries, _select_present(rows, names))
        columns = read_boolean_columns(plan.entries, columns)
        projection = plan.row_schema.projection
        if projection and all(each.name in columns for each in projection.inputs):
            columns |= project_columns(projection, columns)
        features = plan.features
        present = [index for index, feature in enumerate(features) if feature.name in columns]
        if not present:
            raise UnlabelledRowsError(
                "none of the columns of the unlabelled rows is a feature of the survey. The features are: "
                f"{', '.join(names)}"
            )
        coded = encode_columns([features[index] for index in present], columns)[kept]
    if len(coded) < MIN_ROWS:
        raise UnlabelledRowsError(
            f"{len(coded)} unlabelled rows are too few: give at least {MIN_ROWS}, or better 500"
        )
    codes = np.zeros((len(coded), len(features)), dtype=np.int64)
    codes[:, present] = coded
    return UnlabelledRows(codes, frozenset(present))


def _select_present(rows: Any, names: list[str]) -> dict[str, Any]:
    """Return the columns of these names that a table has; of an array, all columns."""
    known = column_names(rows)
    if known is not None:
        return select_columns(rows, [name for name in names if name in known])
    table = to_array(rows)
    if getattr(table, "ndim", 0) != 2 or table.shape[1] != len(names):
        raise UnlabelledRowsError(
            f"unlabelled rows must be a DataFrame, dicts, a dict of columns, or an array of {len(names)} "
            "columns, in the order of the survey"
        )
    return name_columns(table, names)
