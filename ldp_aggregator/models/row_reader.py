"""Reads the rows that a classifier gets: as columns by name, or as an array."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.utils.validation import (
    check_array,
    check_consistent_length,
    check_is_fitted,
    column_or_1d,
    validate_data,
)

from encoders.survey import Plan, Survey
from encoders.survey.silo_plan import SiloPlan
from ldp_aggregator.models.table_input import (
    Columns,
    has_column_names,
    is_list_of_dicts,
    name_columns,
    refuse_single_row,
    select_columns,
    to_array,
)


class RowReader(BaseEstimator):
    """An estimator that reads lists of dicts, DataFrames, dicts of columns, and arrays."""

    survey: Survey | Plan | SiloPlan | None
    plan_: Plan | SiloPlan
    _reads_by_name: bool

    def _read_training_table(self, X: Any, y: Any) -> tuple[Columns, NDArray[Any]]:
        refuse_single_row(X)
        if y is None:
            raise ValueError("fit requires y to be passed, but the target y is None: give the labels of X")
        known = [entry.name for entry in self.survey.entries] if self.survey else None
        self._reads_by_name = is_list_of_dicts(X) or (known is not None and has_column_names(X))
        if self._reads_by_name:
            names = known or list(X[0])
            self.n_features_in_, self.feature_names_in_ = len(names), np.array(names, dtype=object)
            y = column_or_1d(y, warn=True)
            check_consistent_length(X, y)
            return select_columns(X, names), y
        X, y = validate_data(self, to_array(X), y, dtype=None, ensure_all_finite="allow-nan")
        names = known or [str(name) for name in getattr(self, "feature_names_in_", range(X.shape[1]))]
        if len(names) != X.shape[1]:
            raise ValueError(f"X has {X.shape[1]} features, but the survey has {len(names)}")
        return name_columns(X, names), y

    def _read_table(self, X: Any) -> Columns | NDArray[Any]:
        """Return rows as columns by name, or as an (m, n) array."""
        check_is_fitted(self)
        refuse_single_row(X)
        names = [entry.name for entry in self.plan_.entries]
        if is_list_of_dicts(X) or (self._reads_by_name and has_column_names(X)):
            return select_columns(X, names)
        if self._reads_by_name:
            # an array has no names to compare; without this scikit-learn would warn about it
            X = check_array(to_array(X), dtype=None, ensure_all_finite="allow-nan")
            if X.shape[1] != len(names):
                raise ValueError(f"X has {X.shape[1]} features, but the survey has {len(names)}")
        else:
            X = validate_data(self, to_array(X), reset=False, dtype=None, ensure_all_finite="allow-nan")
        table: NDArray[Any] = X
        return table
