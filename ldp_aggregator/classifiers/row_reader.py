"""The classifiers of a survey's rows: how they read tables, find unknown values, and predict labels."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_array, check_consistent_length, check_is_fitted, validate_data

from encoders.errors import RowError
from encoders.survey import CategoricalFeature, Feature, Plan, Survey
from encoders.survey.parse_value import is_missing
from encoders.survey.silo_plan import SiloPlan
from ldp_aggregator.arrays import BoolArray, FloatArray, IntArray
from ldp_aggregator.classifiers.described_model import DescribedModel
from ldp_aggregator.prediction.predictor import Predictor, encode_any_labels
from ldp_aggregator.prediction.scoring import normalise_log_scores
from ldp_aggregator.rows import table_input
from ldp_aggregator.rows.encode_table import choose_value
from ldp_aggregator.rows.table_input import Columns, name_rows_by_index

_BLOCK_ROWS = 1 << 13


class RowReader(BaseEstimator):
    """An estimator that reads lists of dicts, DataFrames, dicts of columns, and arrays."""

    survey: Survey | Plan | SiloPlan | None
    plan_: Plan | SiloPlan
    _reads_by_name: bool

    def _read_training_table(self, X: Any, y: Any) -> tuple[Columns, NDArray[Any]]:
        table_input.check_table(X)
        if y is None:
            raise ValueError("fit requires y to be passed, but the target y is None: give the labels of X")
        labels, found = table_input.read_labels(y), table_input.column_names(X)
        names = (
            [entry.name for entry in self.survey.entries] if self.survey else found and list(map(str, found))
        )
        self._reads_by_name = self.survey is not None or (found is not None and not _is_frame(X))
        if names is not None:
            self.n_features_in_, self.feature_names_in_ = len(names), np.array(names, dtype=object)
        table = self._read_rows(X, names or [], reset=True)
        if isinstance(table, np.ndarray):
            table = table_input.name_columns(table, names or list(map(str, range(table.shape[1]))))
        check_consistent_length(labels, next(iter(table.values()), labels))
        return table, labels

    def _read_table(self, X: Any) -> Columns | NDArray[Any]:
        check_is_fitted(self)
        table_input.check_table(X)
        return self._read_rows(X, [entry.name for entry in self.plan_.entries], reset=False)

    def _read_rows(self, X: Any, names: Sequence[str], *, reset: bool) -> Columns | NDArray[Any]:
        found = table_input.column_names(X)
        if found is None:
            return self._read_array(table_input.to_array(X), len(names), reset=reset)
        if self._reads_by_name or not _is_frame(X):
            return table_input.select_columns(X, names)
        # scikit-learn requires the columns of the DataFrame, in the same order, if no survey names them
        columns = table_input.select_columns(X, found)
        _check_names(list(getattr(self, "feature_names_in_", map(str, found))), list(map(str, found)))
        if len(found) != len(names):
            raise ValueError(f"X has {len(found)} features, but the classifier was fitted with {len(names)}")
        return dict(zip(names, columns.values(), strict=True))

    def _read_array(self, X: Any, width: int, *, reset: bool) -> NDArray[Any]:
        table: NDArray[Any]
        if not self._reads_by_name:
            table = validate_data(self, X, reset=reset, dtype=None, ensure_all_finite="allow-nan")
            return table
        # an array has no names to compare; without this scikit-learn would warn about it
        table = check_array(X, dtype=None, ensure_all_finite="allow-nan")
        if table.shape[1] != width:
            raise ValueError(f"X has {table.shape[1]} features, but the survey has {width}")
        return table


def _is_frame(rows: Any) -> bool:
    return not isinstance(rows, Mapping | Sequence)


def _check_names(fitted: Sequence[str], found: Sequence[str]) -> None:
    """Raise ValueError with scikit-learn's text, unless a DataFrame has the columns that `fit` got."""
    if list(fitted) == list(found):
        return
    lines = ["The feature names should match those that were passed during fit."]
    unseen, absent = sorted(set(found) - set(fitted)), sorted(set(fitted) - set(found))
    for what, names in (("unseen at fit time", unseen), ("seen at fit time, yet now missing", absent)):
        lines += [f"Feature names {what}:"] * bool(names) + [f"- {name}" for name in names]
    if not unseen and not absent:
        lines.append("Feature names must be in the same order as they were in fit.")
    raise ValueError("\n".join([*lines, ""]))


# -- cells that are no value of the survey ----------------------------------------------------------


ERROR = "error"
IGNORE = "ignore"
_HANDLINGS = (ERROR, IGNORE)


def check_handling(handle_unknown: str) -> None:
    if handle_unknown not in _HANDLINGS:
        raise ValueError(f"handle_unknown must be one of {', '.join(_HANDLINGS)}, not {handle_unknown!r}")


def replace_unknown_values(plan: Plan | SiloPlan, columns: Columns) -> tuple[Columns, BoolArray]:
    """Replace unknown categories, and missing values where the survey has no category for them.

    Returns the columns with a value of the feature in place of each unknown one, and where a value was
    replaced, (m, number of features); nowhere in features that a projection computes.
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


class SurveyClassifier(ClassifierMixin, DescribedModel, RowReader):
    """A scikit-learn classifier of lists of dicts, DataFrames, dicts of columns, and arrays."""

    classes_: NDArray[Any]
    """The labels, sorted. Shape (k,)."""
    _predictor: Predictor

    def _set_stored(self, predictor: Predictor) -> None:
        names = [entry.name for entry in predictor.plan.entries]
        self.n_features_in_ = len(names)
        self.feature_names_in_ = np.array(names, dtype=object)
        self._reads_by_name = True
        self._set_predictor(predictor)

    def _set_predictor(self, predictor: Predictor) -> None:
        self._predictor, self.plan_, self.classes_ = predictor, predictor.plan, predictor.classes

    def _compute_scores(self, rows: Columns | NDArray[Any]) -> FloatArray:
        return self._predictor.compute_scores(self._predictor.encode(self._to_columns(rows)))

    def _to_columns(self, rows: Columns | NDArray[Any]) -> Columns:
        if isinstance(rows, np.ndarray):
            rows = table_input.name_columns(rows, [entry.name for entry in self.plan_.entries])
        return self._predictor.read_columns(rows)

    def encode(self, X: Any) -> IntArray:
        """Return the codes of m rows, computed as devices do; shape (m, number of features of the plan).

        The code of a category or bin is its index, missing last. The code of a number counts steps of a grid.
        """
        with name_rows_by_index(X):
            return self._predictor.encode(self._to_columns(self._read_table(X)))

    def predict_joint_log_proba(self, X: Any) -> FloatArray:
        """Return log P(label | row) up to a constant of the row, (m, k), columns as in `classes_`."""
        with name_rows_by_index(X):
            return self._compute_scores(self._read_table(X))

    def predict_log_proba(self, X: Any) -> FloatArray:
        """Return log P(label | row), shape (m, k), columns as in `classes_`."""
        return normalise_log_scores(self.predict_joint_log_proba(X))

    def predict_proba(self, X: Any) -> FloatArray:
        """Return P(label | row), shape (m, k), columns as in `classes_`."""
        return np.exp(self.predict_log_proba(X))

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the most probable label of each row, shape (m,)."""
        with name_rows_by_index(X):
            best = self._find_best(self._read_table(X))
        labels: NDArray[Any] = self.classes_[best]
        return labels

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return the share of rows whose label is predicted; RowError for one that does not fit."""
        check_is_fitted(self)
        with name_rows_by_index(y):
            y = table_input.read_labels(y)
            if self.survey is not None:
                y = self._predictor.labels[encode_any_labels(self.plan_.label, y)]
        accuracy: float = super().score(X, y, sample_weight)
        return accuracy

    def _find_best(self, rows: Columns | NDArray[Any]) -> IntArray:
        """Return the index of each row's best label; arrays are scored in blocks that stay in the cache."""
        columns = [rows] if isinstance(rows, np.ndarray) else list(rows.values())
        are_arrays = all(type(each) is np.ndarray for each in columns)
        best: IntArray
        if not are_arrays or len({len(each) for each in columns}) != 1:
            best = self._compute_scores(rows).argmax(axis=1)
            return best
        best = np.empty(len(columns[0]), dtype=np.int64)
        try:
            for start in range(0, len(best), _BLOCK_ROWS):
                part = slice(start, start + _BLOCK_ROWS)
                block = rows[part] if isinstance(rows, np.ndarray) else {k: v[part] for k, v in rows.items()}
                best[part] = self._compute_scores(block).argmax(axis=1)
        except RowError:
            self._compute_scores(rows)  # raises the same error, with the number of the row in all rows
            raise
        return best

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.categorical = True
        tags.input_tags.string = True
        return tags
