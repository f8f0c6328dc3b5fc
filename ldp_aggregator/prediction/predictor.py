"""A classifier of the rows of one survey: codes columns as devices do, and scores the codes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from encoders.survey import Plan
from encoders.survey.silo_plan import SiloPlan
from ldp_aggregator.arrays import BoolArray, FloatArray, IntArray
from ldp_aggregator.estimation import NaiveBayesParameters
from ldp_aggregator.prediction.class_labels import to_typed_labels
from ldp_aggregator.prediction.decision_tree import DecisionTree
from ldp_aggregator.prediction.linear_model import LinearModel
from ldp_aggregator.prediction.scoring import LogProbabilities, reorder_labels
from ldp_aggregator.rows.encode_table import encode_table
from ldp_aggregator.rows.spellings import blank_missing_codes, read_boolean_columns

Classifier = NaiveBayesParameters | LinearModel | DecisionTree
"""What a model file stores of a classifier."""


@dataclass(frozen=True)
class Predictor:
    """A classifier with the labels that it returns, which are sorted."""

    plan: Plan | SiloPlan
    labels: NDArray[Any]
    """The labels in the order of their codes: booleans, integers or texts. Shape (k,)."""
    order: NDArray[np.intp]
    """The codes of the sorted labels: scikit-learn's scorers take columns to follow sorted labels."""
    model: LogProbabilities | LinearModel | DecisionTree
    """The labels of LogProbabilities are sorted, those of other models in the order of their codes."""

    @classmethod
    def from_parameters(
        cls,
        plan: Plan | SiloPlan,
        classifier: Classifier,
        labels: NDArray[Any] | None = None,
    ) -> Self:
        """Return the predictor of a classifier.

        Parameters
        ----------
        plan : Plan or SiloPlan
        classifier : NaiveBayesParameters, LinearModel or DecisionTree
        labels : (k,) array, optional
            The labels in the order of their codes; by default as the survey's values stand for.
        """
        labels = to_typed_labels(plan.label.values) if labels is None else labels
        order = np.argsort(labels)
        if not isinstance(classifier, NaiveBayesParameters):
            return cls(plan, labels, order, classifier)
        tables = [reorder_labels(each, order) for each in classifier.conditionals]
        model = LogProbabilities.from_probabilities(classifier.prior[order], tables)
        return cls(plan, labels, order, model)

    @property
    def classes(self) -> NDArray[Any]:
        """The labels, sorted. Shape (k,)."""
        return self.labels[self.order]

    def read_columns(self, columns: Mapping[str, Any]) -> dict[str, Any]:
        """Return columns whose codes for missing answers and booleans are read."""
        blanked = blank_missing_codes(self.plan.entries, columns)
        return read_boolean_columns(self.plan.features, blanked)

    def encode(self, columns: Mapping[str, Any]) -> IntArray:
        """Return the codes of columns of :meth:`read_columns`, shape (m, number of features).

        Raises
        ------
        RowError
            If a value does not fit the survey; names its row, counted from 1.
        """
        return encode_table(self.plan, columns)

    def compute_scores(self, codes: IntArray, unknown: BoolArray | None = None) -> FloatArray:
        """Return log P(label | row) of coded rows up to a constant of the row, (m, k), labels sorted.

        Parameters
        ----------
        codes : (m, n) int array
        unknown : (m, n) bool array, optional
            The values that Naive Bayes leaves out of the score of their row.
        """
        if isinstance(self.model, LogProbabilities):
            return self.model.compute_scores(codes, unknown=unknown)
        return self.model.compute_scores(codes)[:, self.order]
