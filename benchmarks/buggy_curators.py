"""Trainings by a curator and choices of a learner, each with one bug that reveals more than epsilon."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any
from unittest.mock import patch

import numpy as np

from encoders.randomness import FastStream
from encoders.survey import Survey
from ldp_aggregator.prediction import LINEAR, NAIVE_BAYES, TREE
from ldp_aggregator.prediction.decision_tree import Split
from ldp_aggregator.prediction.linear_model import Design
from ldp_audit.curator_audit import audit_trainings
from ldp_audit.outcomes import MeasuredLeak
from ldp_central import curator_naive_bayes, learner, linear, tree
from ldp_central.coded_rows import CodedRows
from ldp_central.curator_naive_bayes import exact_tables
from ldp_central.learner import AUTO, Training
from ldp_central.promise import Promise


@dataclass(frozen=True)
class BuggyCurator:
    """A training with a bug.

    Attributes
    ----------
    name : str
        What is wrong.
    learner : str
        The learner that has the bug; "auto" means the comparison of learners.
    run : callable
        Takes the parameters of :func:`ldp_central.learner.train`, or of `compare_learners`.
    is_subtle : bool
        Whether an audit needs more than a thousand trials to detect it.
    """

    name: str
    learner: str
    run: Callable[..., Any]
    is_subtle: bool = False

    def audit(self, survey: Survey, epsilon: Fraction, trials: int) -> MeasuredLeak:
        """Return what the audit measures of the buggy training or comparison."""
        name = "compare" if self.learner == AUTO else "train_model"
        [leak] = audit_trainings(survey, epsilon, trials, [self.learner], **{name: self.run})
        return leak


def _patched(
    module: Any, name: str, make: Callable[[Any], Any], run: Callable[..., Any] = learner.train
) -> Callable[..., Any]:
    """Return a training in which a function of a module is replaced by what `make` returns for it."""
    original = getattr(module, name)
    changed = make(original)

    def train(*arguments: Any, **options: Any) -> Any:
        with patch.object(module, name, changed):
            return run(*arguments, **options)

    return train


def _undivided(measure: Callable[..., Any]) -> Callable[..., Any]:
    def measure_all(rows: CodedRows, epsilon: Fraction, *rest: Any) -> Any:
        return measure(rows, epsilon * len(rows.features), *rest)

    return measure_all


def _without_noise(_draw: Callable[..., Any]) -> Callable[..., Any]:
    def draw(_scale: Fraction, count: int, _source: Any) -> Any:
        return np.zeros(count, dtype=np.int64)

    return draw


def _exact_classes(measure: Callable[..., Any]) -> Callable[..., Any]:
    """Correct the column sums of every table to the exact class counts."""

    def measure_all(rows: CodedRows, *rest: Any) -> Any:
        exact = np.bincount(rows.labels, minlength=rows.k)
        noisy = []
        for table in measure(rows, *rest):
            cells = table.cells.copy()
            cells[0] += exact * table.unit - cells.sum(axis=0)
            noisy.append(replace(table, cells=cells))
        return noisy

    return measure_all


def _unscaled(_make: Callable[..., Any]) -> Callable[..., Any]:
    def from_features(*arguments: Any) -> Design:
        scaled = make(*arguments)
        return Design(tuple(16 * block for block in scaled.blocks), 16 * scaled.constant)

    make = Design.from_features
    return from_features


def _little_noise(draw: Callable[..., Any]) -> Callable[..., Any]:
    return lambda size, rate, source: draw(size, 16 * rate, source)


def _seeded(*arguments: Any, **options: Any) -> Training:
    # with some other seeds both data sets have the same outcome, and an audit cannot detect the bug
    return learner.train(*arguments, **{**options, "source": FastStream(4)})


def _bare_class(measure: Callable[..., Any]) -> Callable[..., Any]:
    """Remove the noise from the last class of every table."""

    def measure_all(rows: CodedRows, *rest: Any) -> Any:
        exact = exact_tables(rows)
        noisy = []
        for table, (cells, _) in zip(measure(rows, *rest), exact, strict=True):
            mixed = table.cells.copy()
            mixed[:, -1] = cells[:, -1]
            noisy.append(replace(table, cells=mixed))
        return noisy

    return measure_all


def _less_noise_for_more_rows(measure: Callable[..., Any]) -> Callable[..., Any]:
    """Divide the scale of the noise by the exact number of rows."""
    return lambda rows, epsilon, *rest: measure(rows, epsilon * max(len(rows), 1), *rest)


def _local_sensitivity(measure: Callable[..., Any]) -> Callable[..., Any]:
    """Divide the scale of the noise by the largest class count: what these rows change by, relatively."""

    def measure_all(rows: CodedRows, epsilon: Fraction, *rest: Any) -> Any:
        largest = int(np.bincount(rows.labels, minlength=rows.k).max(initial=1))
        return measure(rows, epsilon * largest, *rest)

    return measure_all


def _median_cut(fit: Callable[..., Any]) -> Callable[..., Any]:
    """Cut above the median of the rows, without noise."""

    def fit_tree(rows: CodedRows, *rest: Any) -> Any:
        model, spent = fit(rows, *rest)
        split = Split(0, 0, math.ceil(np.median(rows.codes[:, 0])))
        return replace(model, splits=(split, *model.splits[1:])), spent

    return fit_tree


def _best_hits(_choose: Callable[..., int]) -> Callable[..., int]:
    return lambda hits, *_: int(np.argmax(hits))


def _threefold_rate(choose: Callable[..., int]) -> Callable[..., int]:
    """Choose as if a row could change the difference of hits by a third only."""
    return lambda hits, rate, source: choose(hits, 3 * rate, source)


def _exact_count(rows: CodedRows, promise: Promise, **options: Any) -> Training:
    return replace(learner.train(rows, promise, **options), expected_rows=len(rows))


_undivided_tables = _patched(curator_naive_bayes, "measure_tables", _undivided)
_exact_totals = _patched(curator_naive_bayes, "measure_tables", _exact_classes)
_bare_leaves = _patched(tree, "draw_laplace_array", _without_noise)
_long_rows = _patched(Design, "from_features", _unscaled)
_short_noise = _patched(linear, "draw_ball_noise", _little_noise)
_bare_class_tables = _patched(curator_naive_bayes, "measure_tables", _bare_class)
_scaled_by_rows = _patched(curator_naive_bayes, "measure_tables", _less_noise_for_more_rows)
_scaled_by_class = _patched(curator_naive_bayes, "measure_tables", _local_sensitivity)
_cut_at_median = _patched(learner, "fit_tree", _median_cut)
_bare_choice = _patched(learner, "permute_and_flip", _best_hits, learner.compare_learners)
_steep_choice = _patched(learner, "permute_and_flip", _threefold_rate, learner.compare_learners)

MUTANTS = (
    BuggyCurator("epsilon is not divided by the features", NAIVE_BAYES, _undivided_tables, is_subtle=True),
    BuggyCurator("the class counts are exact", NAIVE_BAYES, _exact_totals),
    BuggyCurator("the leaves have no noise", TREE, _bare_leaves),
    BuggyCurator("rows are 16 times too long", LINEAR, _long_rows, is_subtle=True),
    BuggyCurator("the noise of the objective is 16 times too short", LINEAR, _short_noise, is_subtle=True),
    BuggyCurator("one class has no noise", NAIVE_BAYES, _bare_class_tables),
    BuggyCurator("the noise is divided by the exact number of rows", NAIVE_BAYES, _scaled_by_rows),
    BuggyCurator(
        "the noise follows the rows' own sensitivity", NAIVE_BAYES, _scaled_by_class, is_subtle=True
    ),
    BuggyCurator("the model states the exact number of rows", NAIVE_BAYES, _exact_count),
    BuggyCurator("a tree cuts at the median of the rows", TREE, _cut_at_median),
    BuggyCurator("a seeded generator draws the tables", NAIVE_BAYES, _seeded),
    BuggyCurator("a seeded generator draws the tree", TREE, _seeded),
    BuggyCurator("a seeded generator draws the linear model", LINEAR, _seeded),
    BuggyCurator("the learner with the most hits is chosen without noise", AUTO, _bare_choice),
    BuggyCurator(
        "the choice of a learner spends three times its epsilon", AUTO, _steep_choice, is_subtle=True
    ),
)
