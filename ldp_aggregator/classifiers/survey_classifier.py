"""A fitted classifier of a survey's rows: what all learners share once they can score coded rows."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from encoders.survey import Plan
from encoders.survey.silo_plan import SiloPlan
from ldp_aggregator.arrays import FloatArray, IntArray
from ldp_aggregator.classifiers.class_labels import encode_any_labels, to_typed_labels
from ldp_aggregator.classifiers.described_model import DescribedModel
from ldp_aggregator.classifiers.row_reader import RowReader
from ldp_aggregator.prediction.scoring import normalise_log_scores
from ldp_aggregator.rows.boolean_values import read_boolean_columns
from ldp_aggregator.rows.encode_table import encode_table
from ldp_aggregator.rows.missing_codes import blank_missing_codes
from ldp_aggregator.rows.table_input import Columns, name_columns, name_rows_by_index, read_labels


class SurveyClassifier(ClassifierMixin, DescribedModel, RowReader):
    """A scikit-learn classifier of lists of dicts, DataFrames, dicts of columns, and arrays.

    Attributes
    ----------
    plan_ : Plan
        The plan of the survey.
    """

    classes_: NDArray[Any]
    """The labels, sorted. Shape (k,)."""
    _labels: NDArray[Any]

    def _set_plan(self, plan: Plan | SiloPlan) -> None:
        """Set the attributes of a classifier that is read from a model file."""
        names = [entry.name for entry in plan.entries]
        self.plan_ = plan
        self.n_features_in_ = len(names)
        self.feature_names_in_ = np.array(names, dtype=object)
        self._reads_by_name = True

    def _set_labels(self, labels: NDArray[Any]) -> NDArray[np.intp]:
        """Set the labels, in the order of their codes; return the order that sorts them."""
        # scikit-learn's scorers take the columns of predict_proba to follow sorted labels
        order = np.argsort(labels)
        self._labels = labels
        self.classes_ = labels[order]
        return order

    def _set_typed_labels(self, plan: Plan | SiloPlan) -> NDArray[np.intp]:
        return self._set_labels(to_typed_labels(plan.label.values))

    @abstractmethod
    def _compute_scores(self, rows: Columns | NDArray[Any]) -> FloatArray:
        """Return log P(label | row) up to a constant of the row, shape (m, k), columns as in `classes_`."""

    def _to_columns(self, rows: Columns | NDArray[Any]) -> Columns:
        if isinstance(rows, np.ndarray):
            rows = name_columns(rows, [entry.name for entry in self.plan_.entries])
        return read_boolean_columns(self.plan_.features, blank_missing_codes(self.plan_.entries, rows))

    def encode(self, X: Any) -> IntArray:
        """Return the codes of m rows, computed as devices do; shape (m, number of features of the plan).

        The code of a category or bin is its index, missing last. The code of a number counts steps of a grid.
        """
        with name_rows_by_index(X):
            return encode_table(self.plan_, self._to_columns(self._read_table(X)))

    def predict_joint_log_proba(self, X: Any) -> FloatArray:
        """Return the scores of m rows and k labels, shape (m, k), columns as in `classes_`.

        A score is log P(label | row) up to a constant of the row.
        """
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
        """Return the share of rows whose label is predicted; labels of a survey may have any spelling.

        Raises
        ------
        RowError
            If a row or label does not fit the survey.
        """
        check_is_fitted(self)
        with name_rows_by_index(y):
            y = read_labels(y)
            if self.survey is not None:
                y = self._labels[encode_any_labels(self.plan_.label, y)]
        accuracy: float = super().score(X, y, sample_weight)
        return accuracy

    def _find_best(self, rows: Columns | NDArray[Any]) -> IntArray:
        """Return the index of the best label of each row."""
        best: IntArray = self._compute_scores(rows).argmax(axis=1)
        return best
