"""A classifier of the rows of one survey: codes columns as devices do, scores the codes, returns labels."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from encoders.errors import RowError
from encoders.survey import Label, Plan
from encoders.survey.row_cells import read_boolean
from encoders.survey.silo_plan import SiloPlan
from ldp_aggregator.arrays import BoolArray, FloatArray, IntArray
from ldp_aggregator.estimation import NaiveBayesParameters
from ldp_aggregator.prediction.decision_tree import DecisionTree
from ldp_aggregator.prediction.linear_model import LinearModel
from ldp_aggregator.prediction.scoring import LogProbabilities, reorder_labels
from ldp_aggregator.rows.encode_table import (
    blank_missing_codes,
    encode_table,
    encode_values,
    read_boolean_columns,
)

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
        cls, plan: Plan | SiloPlan, classifier: Classifier, labels: NDArray[Any] | None = None
    ) -> Self:
        """Return the predictor of a classifier; `labels`, (k,), replace the survey's in their order."""
        labels = to_typed_labels(plan.label.values) if labels is None else labels
        order = np.argsort(labels)
        if not isinstance(classifier, NaiveBayesParameters):
            return cls(plan, labels, order, classifier)
        tables = [reorder_labels(each, order) for each in classifier.conditionals]
        model = LogProbabilities.from_probabilities(classifier.prior[order], tables)
        return cls(plan, labels, order, model)

    @property
    def classes(self) -> NDArray[Any]:
        return self.labels[self.order]

    def read_columns(self, columns: Mapping[str, Any]) -> dict[str, Any]:
        """Return columns whose codes for missing answers and booleans are read."""
        blanked = blank_missing_codes(self.plan.entries, columns)
        return read_boolean_columns(self.plan.features, blanked)

    def encode(self, columns: Mapping[str, Any]) -> IntArray:
        """Return the codes of columns, (m, features); RowError names the row, from 1, that does not fit."""
        return encode_table(self.plan, columns)

    def compute_scores(self, codes: IntArray, unknown: BoolArray | None = None) -> FloatArray:
        """Return log P(label | row) up to a constant, (m, k); Naive Bayes leaves `unknown`, (m, n), out."""
        if isinstance(self.model, LogProbabilities):
            return self.model.compute_scores(codes, unknown=unknown)
        return self.model.compute_scores(codes)[:, self.order]


# -- the labels that a classifier returns -----------------------------------------------------------
# They have the types of Python that the survey's values stand for.
# A plan contains every value as text: the author's 1 and "1" are the same value, and so are true and "true".


_MAX_INTEGER = 2**63


def to_typed_labels(values: Sequence[str]) -> NDArray[Any]:
    """Return labels as booleans if they are true and false, as integers if all are; otherwise as texts."""
    if set(values) == {"true", "false"}:
        return np.array([value == "true" for value in values])
    if all(map(_is_integer, values)):
        return np.array([int(value) for value in values], dtype=np.int64)
    return np.array(values)


def encode_any_labels(label: Label, y: Any) -> IntArray:
    """Code labels in any spelling: 1, 1.0 and "1" are the same; if the survey has booleans, True and 1 too.

    Raises RowError with the number, from 1, of the first row whose label is not one of the survey's values.
    """
    try:
        return encode_values(y, lambda value: label.code(read_boolean(value, label.values)), label.name)
    except RowError as error:
        if not _is_coded(label, y):
            raise
        raise RowError(
            label.name,
            f"{error.why}. The labels are the numbers 0 to {len(label.values) - 1}: StackingClassifier, "
            "VotingClassifier and cross_val_predict(method='predict_proba') of scikit-learn pass such codes "
            "instead of texts. Give the survey whole numbers as the label's values",
        ) from error


def _is_coded(label: Label, y: Any) -> bool:
    """Return whether y consists of the numbers 0 to k - 1, and none of the survey's k labels is a number."""
    labels = np.asarray(y)
    if labels.dtype.kind not in "iu" or any(map(_is_integer, label.values)):
        return False
    return np.array_equal(np.unique(labels), np.arange(len(label.values)))


def spell_labels(label: Label, y: NDArray[Any], codes: IntArray) -> NDArray[Any]:
    """Return the labels of a survey as `y` spells them, in the order of their codes.

    A label that `y` lacks has the type of `y` where all labels can have it. If the result would mix texts and
    numbers, or repeat a label, all labels are texts. `y` and `codes`, (m,), are labels and their codes.
    """
    are_texts = all(isinstance(each, str) for each in y.tolist())
    labels = list(label.values) if are_texts else to_typed_labels(label.values).tolist()
    present, first_rows = np.unique(codes, return_index=True)
    for code, spelling in zip(present.tolist(), y[first_rows].tolist(), strict=True):
        labels[code] = spelling
    is_mixed = len({isinstance(each, str) for each in labels}) > 1
    return np.array(label.values if is_mixed or len(set(labels)) < len(labels) else labels)


def _is_integer(text: str) -> bool:
    digits = text.removeprefix("-")
    if not (digits.isascii() and digits.isdigit()) or len(digits) > 19 or text != str(int(text)):
        return False
    return -_MAX_INTEGER <= int(text) < _MAX_INTEGER
