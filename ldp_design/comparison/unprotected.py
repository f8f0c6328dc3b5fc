"""Learners without protection, whose best accuracy is the ceiling of a comparison."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence

import numpy as np

from encoders.survey import CategoricalFeature, Feature
from ldp_aggregator.arrays import FloatArray, IntArray
from ldp_aggregator.central.learner import NAIVE_BAYES
from ldp_design.comparison.random_labels import RandomisedResponse, fit_logistic
from ldp_design.simulation.trial import EncodedRows, predict_labels

_MAX_CATEGORIES = 255


def predict_naive_bayes(rows: EncodedRows, _coordinates: FloatArray) -> IntArray:
    """Return the labels that Naive Bayes of the training rows predicts for the test rows."""
    return predict_labels(rows.baseline, rows.codes, rows.split.test)


def predict_logistic(rows: EncodedRows, coordinates: FloatArray) -> IntArray:
    """Return the labels that logistic regression predicts for the test rows."""
    split, labels = rows.split, rows.table.labels
    certain = RandomisedResponse(len(rows.plan.label.values), math.inf)
    weights = fit_logistic(coordinates[split.train], labels[split.train], certain)
    found: IntArray = (coordinates[split.test] @ weights).argmax(axis=1)
    return found


def predict_boosted_trees(rows: EncodedRows, _coordinates: FloatArray) -> IntArray:
    """Return the labels that boosted trees predict for the test rows."""
    from sklearn.ensemble import HistGradientBoostingClassifier

    split, labels = rows.split, rows.table.labels
    present = np.unique(labels[split.train])
    if len(present) == 1:
        return np.full(len(split.test), present[0])
    trees = HistGradientBoostingClassifier(
        categorical_features=_find_categories(rows.plan.features), early_stopping=False, random_state=0
    )
    trees.fit(rows.codes[split.train], labels[split.train])
    return np.asarray(trees.predict(rows.codes[split.test]), dtype=np.int64)


def _find_categories(features: Sequence[Feature]) -> list[bool]:
    """Return which features have unordered codes; too many categories are treated as numbers."""
    return [isinstance(each, CategoricalFeature) and each.size <= _MAX_CATEGORIES for each in features]


LEARNERS: Mapping[str, Callable[[EncodedRows, FloatArray], IntArray]] = {
    NAIVE_BAYES: predict_naive_bayes,
    "logistic": predict_logistic,
    "boosted-trees": predict_boosted_trees,
}
"""By their names in the rows of a comparison."""

TITLES = {NAIVE_BAYES: "Naive Bayes", "logistic": "logistic regression", "boosted-trees": "boosted trees"}
