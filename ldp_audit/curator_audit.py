"""The audit of trainings by a curator: a lower bound on epsilon from many trainings on two neighbours.

A bound below epsilon proves nothing: another pair of data sets, or another event, may reveal more. Of "auto",
the comparison of learners is audited, under conditions that reveal most: its trial models do not depend on
the rows, all rows are kept apart, and the choice spends the promised epsilon.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from encoders.errors import LdpError
from encoders.randomness import RandomSource, SystemEntropy
from encoders.survey import Survey
from ldp_aggregator.arrays import FloatArray, IntArray
from ldp_aggregator.prediction import LINEAR, NAIVE_BAYES, TREE
from ldp_aggregator.prediction.decision_tree import DecisionTree
from ldp_aggregator.prediction.linear_model import LinearModel
from ldp_aggregator.privacy_statement import Spending
from ldp_audit.blackbox import ALPHA
from ldp_audit.outcomes import LEAST_TRIALS, MeasuredLeak, measure_leak
from ldp_central.coded_rows import CodedRows
from ldp_central.curator_naive_bayes import ROWS_PER_FEATURE
from ldp_central.learner import AUTO, TRIAL_SHARE, Training, compare_learners, train
from ldp_central.promise import Promise

AUDITED = (NAIVE_BAYES, LINEAR, TREE, AUTO)
_COPIES = 3
_EXPECTED_ROWS = 60
"""With so few public rows, a tree has one level."""
_BINS = 64

Train = Callable[..., Training]
Compare = Callable[..., tuple[str, list[Spending]]]


def audit_trainings(
    survey: Survey,
    epsilon: Fraction,
    trials: int,
    learners: Sequence[str] | None = None,
    train_model: Train = train,
    advance: Callable[[], object] = lambda: None,
    compare: Compare = compare_learners,
) -> list[MeasuredLeak]:
    """Return a lower bound on what trainings of each learner reveal about one row.

    There are `trials` trainings on each of two data sets. `train_model` and `compare` have the parameters of
    :func:`ldp_central.learner.train` and :func:`ldp_central.learner.compare_learners`. `advance` is called
    after each pair of trainings. Raises LdpError if there are too few trials for any bound.
    """
    if trials < LEAST_TRIALS:
        raise LdpError(f"an audit of trainings needs at least {LEAST_TRIALS} trials")
    neighbours, learners = make_neighbours(survey), learners or audited_learners(survey)
    alpha = ALPHA / len(learners)
    leaks = []
    for learner in learners:
        users = _EXPECTED_ROWS
        if learner == NAIVE_BAYES:  # so many that it uses all features
            users = math.ceil(ROWS_PER_FEATURE * len(neighbours[0].features) / epsilon)
        outcomes: tuple[list[Hashable], list[Hashable]] = ([], [])
        for _ in range(trials):
            for rows, found in zip(neighbours, outcomes, strict=True):
                if learner == AUTO:
                    given = epsilon / (2 * TRIAL_SHARE)
                    found.append(compare(rows, users, given, _KeepAllRows(), _fit_constant)[0])
                    continue
                training = train_model(rows, Promise(epsilon), users=users, learner=learner)
                found.append(read_outcome(training, neighbours[0], neighbours[1]))
            advance()
        if learner == LINEAR:
            outcomes = _sort_into_bins(*outcomes)
        leaks.append(measure_leak(learner, epsilon, outcomes, alpha))
    return leaks


class _KeepAllRows:
    """The system's entropy, after coins that keep all rows apart."""

    def __init__(self) -> None:
        self._source: RandomSource | None = None

    def take(self, count: int) -> bytes:
        if self._source is None:
            self._source = SystemEntropy()
            return bytes(count)
        return self._source.take(count)


@dataclass(frozen=True)
class _ConstantModel:
    label: int

    def scores(self, codes: IntArray) -> FloatArray:
        scores = np.zeros((len(codes), self.label + 1))
        scores[:, self.label] = 1
        return scores


def _fit_constant(learner: str, *_: object) -> tuple[_ConstantModel, list[Spending]]:
    """Return a model that is right for half of the first neighbour's rows; a tree also for the row added."""
    return _ConstantModel(int(learner == TREE)), []


def audited_learners(survey: Survey) -> tuple[str, ...]:
    """Return the learners of a survey; without a label, only tables are released."""
    return AUDITED if survey.label.exists else (NAIVE_BAYES,)


def make_neighbours(survey: Survey) -> tuple[CodedRows, CodedRows]:
    """Return two data sets; the second has one more row, which is last and contradicts the others."""
    features, k = survey.compile().features, len(survey.label.values)
    low = [0] * len(features)
    high = [features[0].size - 1, *low[1:]]
    codes = np.array([low] * _COPIES + [high] * _COPIES + [low], dtype=np.int64)
    labels = np.array([0] * _COPIES + [1] * _COPIES + [1], dtype=np.int64) * (k > 1)
    return CodedRows(features, k, codes[:-1], labels[:-1]), CodedRows(features, k, codes, labels)


def read_outcome(training: Training, rows: CodedRows, more: CodedRows) -> Hashable:
    row, label = more.codes[-1:], int(more.labels[-1])
    model = training.model
    if isinstance(model, LinearModel):
        scores = model.scores(row)[0]
        return float(scores[label] - np.delete(scores, label).max())
    if isinstance(model, DecisionTree):
        leaf = model.find_leaves(row)[0]
        same = (model.find_leaves(rows.codes) == leaf) & (rows.labels == label)
        assert model.counts is not None
        above = _is_above(model.counts[leaf, label], int(same.sum()))
        return training.expected_rows, model.splits[0], above
    revealing = totals = 0
    members = int((rows.labels == label).sum())
    for index, table in zip(model.selected, model.tables, strict=True):
        same = (rows.codes[:, index] == 0) & (rows.labels == label)
        # the row has the first value of each feature; a number at its lower bound is in the first soft cell
        revealing += _is_above(float(table.counts[0, label]), int(same.sum()))
        totals += float(table.counts[:, label].sum()) == members + 1
    return training.expected_rows, model.selected, revealing, totals


def _is_above(noisy: float, count: int) -> int:
    return int(noisy >= count + 1)


def _sort_into_bins(one: Sequence[Any], other: Sequence[Any]) -> tuple[list[Hashable], list[Hashable]]:
    """Replace numbers by intervals between quantiles of the first halves, which choose the event."""
    half = len(one) // 2
    edges = np.quantile([*one[:half], *other[:half]], np.linspace(0, 1, _BINS + 1)[1:-1])
    binned = [np.searchsorted(edges, each).tolist() for each in (one, other)]
    return binned[0], binned[1]
