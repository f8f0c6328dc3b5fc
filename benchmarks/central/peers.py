"""Learners of diffprivlib and interpret, with their defaults and with bounds from the survey.

Bounds from the data would leak; where a library would read them, it warns, and the warning is an error here.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.central.data_sets import DataSet
from ldp_aggregator.arrays import IntArray

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    try:
        from diffprivlib import models
        from diffprivlib.utils import PrivacyLeakWarning
        from interpret.privacy import DPExplainableBoostingClassifier
    except ImportError:
        models = None

INSTALLED = models is not None
GAUSSIAN_CODES = "GaussianNB, codes"
GAUSSIAN_ONE_HOT = "GaussianNB, one-hot"
LOGISTIC = "LogisticRegression"
TREE = "DecisionTree"
FOREST = "RandomForest"
FIVE = (GAUSSIAN_CODES, GAUSSIAN_ONE_HOT, LOGISTIC, TREE, FOREST)
"""The models of diffprivlib."""
BOOSTING = "DP-EBM"
"""The model of interpret, for two classes."""
PEERS = (*FIVE, BOOSTING)
_UNIT_BOUNDS = (0.0, 1.0)


class Peer:
    """A model of another library, and its columns of the training rows."""

    def __init__(self, name: str, rows: DataSet, epsilon: str) -> None:
        self.model, self._code = _make(name, rows, float(epsilon))
        self._columns, self._labels = self._code(rows), rows.rows.labels

    def fit(self) -> Peer:
        with _only_harmless_warnings():
            self.model.fit(self._columns, self._labels)
        return self

    def predict(self, rows: DataSet) -> IntArray:
        with _only_harmless_warnings():
            predicted: IntArray = self.model.predict(self._code(rows))
        return predicted


def _make(name: str, rows: DataSet, epsilon: float) -> tuple[Any, Callable[[DataSet], NDArray[Any]]]:
    classes = np.arange(rows.rows.k)
    if name == GAUSSIAN_CODES:
        return models.GaussianNB(epsilon=epsilon, bounds=_UNIT_BOUNDS), DataSet.without_gaps
    if name == GAUSSIAN_ONE_HOT:
        return models.GaussianNB(epsilon=epsilon, bounds=_UNIT_BOUNDS), DataSet.one_hot
    if name == LOGISTIC:
        length = float(np.sqrt(len(rows.rows.features)))  # one_hot has at most the length 1 for each feature
        return models.LogisticRegression(epsilon=epsilon, data_norm=length), DataSet.one_hot
    if name in (TREE, FOREST):
        make = models.DecisionTreeClassifier if name == TREE else models.RandomForestClassifier
        return make(epsilon=epsilon, bounds=_UNIT_BOUNDS, classes=classes), DataSet.without_gaps
    if name == BOOSTING:
        kinds = ["nominal" if is_category else "continuous" for is_category in rows.are_categories]
        bounds = dict.fromkeys(range(len(kinds)), _UNIT_BOUNDS)
        model = DPExplainableBoostingClassifier(
            epsilon=epsilon, feature_types=kinds, privacy_bounds=bounds, n_jobs=1
        )
        return model, _mix
    raise ValueError(name)


def _mix(rows: DataSet) -> NDArray[Any]:
    """Return categories as texts, and numbers."""
    columns = [
        codes.astype(str).astype(object) if is_category else scaled.astype(object)
        for codes, scaled, is_category in zip(
            rows.rows.codes.T, rows.scaled.T, rows.are_categories, strict=True
        )
    ]
    return np.stack(columns, axis=1)


@contextmanager
def _only_harmless_warnings() -> Iterator[None]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        warnings.simplefilter("error", PrivacyLeakWarning)
        warnings.filterwarnings("error", message="Possible privacy violation")
        yield
