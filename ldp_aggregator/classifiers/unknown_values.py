"""Finds cells that are no value of the survey, so that a classifier can leave them out of a row's score."""

from __future__ import annotations

from contextlib import suppress

import numpy as np

from encoders.errors import RowError
from encoders.survey import CategoricalFeature, Feature, Plan
from encoders.survey.parse_value import is_missing
from encoders.survey.silo_plan import SiloPlan
from ldp_aggregator.arrays import BoolArray
from ldp_aggregator.rows.spellings import choose_value
from ldp_aggregator.rows.table_input import Columns

ERROR = "error"
IGNORE = "ignore"
_HANDLINGS = (ERROR, IGNORE)


def check_handling(handle_unknown: str) -> None:
    """Raise ValueError unless `handle_unknown` is "error" or "ignore"."""
    if handle_unknown not in _HANDLINGS:
        raise ValueError(f"handle_unknown must be one of {', '.join(_HANDLINGS)}, not {handle_unknown!r}")


def replace_unknown_values(plan: Plan | SiloPlan, columns: Columns) -> tuple[Columns, BoolArray]:
    """Replace unknown categories, and missing values where the survey has no category for them.

    Parameters
    ----------
    plan : Plan or SiloPlan
    columns : dict of m values each

    Returns
    -------
    columns : dict
        With a value of the feature in place of each unknown one.
    unknown : (m, number of features) array
        Where a value was replaced; nowhere in features that a projection computes.
    """
    inputs = {entry.name for entry in plan.entries}
    replaced = dict(columns)
    unknown = np.zeros((len(next(iter(columns.values()), ())), len(plan.features)), dtype=bool)
    for index, feature in enumerate(plan.features):
        if feature.name in inputs:
            column = columns[feature.name]
            cells = column.tolist() if hasattr(column, "tolist") else list(column)
            rows = [row for row, cell in enumerate(cells) if _is_unknown(feature, cell)]
            for row in rows:
                cells[row] = choose_value(feature)
            if rows:
                unknown[rows, index] = True
                replaced[feature.name] = cells
    return replaced, unknown


def _is_unknown(feature: Feature, cell: object) -> bool:
    if is_missing(cell):
        return feature.missing == "error"
    if isinstance(feature, CategoricalFeature):
        with suppress(RowError):
            feature.code(cell)
            return False
        return True
    return False
