"""A fitted classifier of a survey's rows: what all learners share once they can score coded rows."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from ldp_aggregator.arrays import FloatArray, IntArray
from ldp_aggregator.classifiers.described_model import DescribedModel
from ldp_aggregator.classifiers.row_reader import RowReader
from ldp_aggregator.prediction.predictor import Predictor, encode_any_labels
from ldp_aggregator.prediction.scoring import normalise_log_scores
from ldp_aggregator.rows.table_input import Columns, name_columns, name_rows_by_index, read_labels


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
            rows = name_columns(rows, [entry.name for entry in self.plan_.entries])
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
            y = read_labels(y)
            if self.survey is not None:
                y = self._predictor.labels[encode_any_labels(self.plan_.label, y)]
        accuracy: float = super().score(X, y, sample_weight)
        return accuracy

    def _find_best(self, rows: Columns | NDArray[Any]) -> IntArray:
        best: IntArray = self._compute_scores(rows).argmax(axis=1)
        return best

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.categorical = True
        tags.input_tags.string = True
        return tags
