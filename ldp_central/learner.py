"""Trains a classifier of a trusted curator: the choice of the learner, and its budgets.

Everything but the rows is public. Decisions - which learner, how many features, which depth - depend on
public numbers, because the best learner by accuracy on the rows would reveal them. With many rows, "auto"
spends a share of epsilon to compare two learners on rows that are kept apart.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Protocol

import numpy as np

from encoders.exact_samplers import draw_laplace, permute_and_flip
from encoders.randomness import RandomSource, SystemEntropy
from ldp_aggregator.arrays import FloatArray, IntArray
from ldp_aggregator.prediction import LINEAR, NAIVE_BAYES, TREE
from ldp_aggregator.prediction.decision_tree import DecisionTree
from ldp_aggregator.prediction.linear_model import LEAST_DEGREE, LinearModel
from ldp_aggregator.privacy_statement import Spending
from ldp_central.coded_rows import CentralError, CodedRows
from ldp_central.curator_naive_bayes import CentralNaiveBayes, fit_naive_bayes
from ldp_central.linear import count_weights, fit_linear
from ldp_central.promise import Promise
from ldp_central.tree import cut_points, fit_tree, tree_depth

AUTO = "auto"
LEARNERS = (AUTO, NAIVE_BAYES, LINEAR, TREE)
COUNT_SHARE = Fraction(1, 50)
"""The share of epsilon for a noisy number of rows, where the survey does not have a public one."""
ROWS_PER_WEIGHT = 40
"""Product of rows and epsilon, for each weight of a linear model, that its training needs."""
COMPARED_TIMES = 15
"""With so many times this product, a linear model and a tree are compared."""
TRIAL_SHARE = Fraction(1, 10)
"""The share of epsilon of each of the two trial models; the comparison spends twice that on other rows."""
_KEPT_BELOW = 32
"""A row is kept apart for the comparison if its random byte is below this: one row of eight."""

CentralModel = CentralNaiveBayes | LinearModel | DecisionTree


@dataclass(frozen=True)
class Training:
    learner: str
    """One of "nb", "linear" or "tree"."""
    model: CentralModel
    promise: Promise
    spendings: tuple[Spending, ...]
    """What each step spent, for the promise's neighbours; their epsilons add up to its epsilon exactly."""
    expected_rows: int

    @property
    def delta(self) -> Fraction:
        return sum((each.delta for each in self.spendings), Fraction(0))


def train(
    rows: CodedRows,
    promise: Promise,
    *,
    users: int | None = None,
    learner: str = AUTO,
    source: RandomSource | None = None,
) -> Training:
    """Train a classifier that may be published under the promise.

    With a delta above zero, the tables of Naive Bayes have discrete Gaussian noise. Other learners need no
    delta but that of the tail of a linear model's noise, see :attr:`Training.delta`. Without `users`, the
    public number of expected rows, 2% of epsilon are spent on a noisy number, unless there is only one class.
    A model from a seeded source is not private.
    Raises CentralError if an argument is invalid, or a solver did not converge; nothing may then be released.
    """
    if learner not in LEARNERS:
        raise CentralError(f"learner is one of {', '.join(LEARNERS)}")
    if users is not None and users < 1:
        raise CentralError("users, the expected number of rows, must be at least 1")
    source = source or SystemEntropy()
    learner = require_learner(learner, rows.k)
    epsilon, spendings = promise.row_epsilon, []
    expected_rows = users or (1 if rows.k == 1 else None)  # one class: all features are used
    if expected_rows is None:
        spendings.append(Spending("number of rows", COUNT_SHARE * epsilon))
        expected_rows = max(len(rows) + draw_laplace(1 / spendings[0].epsilon, source), 1)
        epsilon -= spendings[0].epsilon
    if learner == AUTO:
        learner, of_choice = choose_learner(rows, expected_rows, epsilon, source)
        spendings += of_choice
        epsilon -= sum(each.epsilon for each in of_choice)
    model: CentralModel
    if learner == NAIVE_BAYES:
        model, spent = fit_naive_bayes(rows, expected_rows, epsilon, source, promise.row_delta)
        if rows.k == 1 and not users:
            expected_rows = max(round(model.classes.rows), 1)
    else:
        model, spent = _fit(learner, rows, expected_rows, epsilon, source)
    scaled = tuple(promise.for_group(each) for each in (*spendings, *spent))
    return Training(learner, model, promise, scaled, expected_rows)


def require_learner(learner: str, k: int) -> str:
    """Return the learner for k classes; raise CentralError if only tables are possible, and it has none."""
    if k == 1 and learner in (LINEAR, TREE):
        raise CentralError(
            f"the survey has no label, so the learner {learner} cannot predict one: use --learner nb, which "
            "releases the tables of all features"
        )
    return NAIVE_BAYES if k == 1 and learner == AUTO else learner


def _fit(
    learner: str, rows: CodedRows, expected_rows: int, epsilon: Fraction, source: RandomSource
) -> tuple[LinearModel | DecisionTree, list[Spending]]:
    fit = fit_linear if learner == LINEAR else fit_tree
    return fit(rows, expected_rows, epsilon, source)


def choose_learner(
    rows: CodedRows, expected_rows: int, epsilon: Fraction, source: RandomSource
) -> tuple[str, list[Spending]]:
    """Return "nb", "linear" or "tree", and what the choice spent.

    The choice depends on public numbers only and spends nothing, unless there are many rows for each weight
    of the linear model. A tree with a leaf for each possible row can represent every classifier. With few
    rows, a tree is the most accurate for two classes, and Naive Bayes for more.
    """
    needed = ROWS_PER_WEIGHT * count_weights(rows.features, rows.k, LEAST_DEGREE)
    possible_rows = math.prod(len(cut_points(feature)) - 1 for feature in rows.features)
    if possible_rows <= 1 << tree_depth(expected_rows, epsilon):
        return TREE, []
    if expected_rows * epsilon < needed:
        return (TREE if rows.k == 2 else NAIVE_BAYES), []
    if expected_rows * epsilon < COMPARED_TIMES * needed:
        return LINEAR, []
    return compare_learners(rows, expected_rows, epsilon, source)


class TrialModel(Protocol):
    def scores(self, codes: IntArray) -> FloatArray:
        """Return a score for each row and label; the largest one is predicted."""


Fit = Callable[[str, CodedRows, int, Fraction, RandomSource], tuple[TrialModel, list[Spending]]]


def compare_learners(
    rows: CodedRows, expected_rows: int, epsilon: Fraction, source: RandomSource, fit: Fit | None = None
) -> tuple[str, list[Spending]]:
    """Return the learner whose trial model has more hits on rows that are kept apart, and what this spent.

    An audit replaces the trainings of the trial models by `fit`.

    A random byte for each row decides whether the row is kept apart or trains the two trial models. A row
    does one or the other, so the step spends the larger epsilon of both, and they are equal. The choice by
    hits spends its rate: a prediction depends on the model and on its own row, so one more kept row never
    lowers hits, and raises them by at most 1.
    """
    kept = np.frombuffer(source.take(len(rows)), np.uint8) < _KEPT_BELOW
    trial_rows, kept_rows = rows.take(~kept), rows.take(kept)
    share, delta, hits = TRIAL_SHARE * epsilon, Fraction(0), []
    for learner in (LINEAR, TREE):
        model, spent = (fit or _fit)(learner, trial_rows, max(expected_rows * 7 // 8, 1), share, source)
        delta += sum(each.delta for each in spent)
        predicted = model.scores(kept_rows.codes).argmax(axis=1)
        hits.append(Fraction(int((predicted == kept_rows.labels).sum())))
    chosen = permute_and_flip(hits, 2 * share, source)
    return (LINEAR, TREE)[chosen], [Spending("comparison of learners", 2 * share, delta)]
