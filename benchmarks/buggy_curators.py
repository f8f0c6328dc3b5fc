"""Trainings by a curator, each with one bug that reveals more than epsilon."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any
from unittest.mock import patch

import numpy as np

from encoders.randomness import FastStream
from ldp_aggregator.central import learner, linear, naive_bayes, tree
from ldp_aggregator.central.coded_rows import CodedRows
from ldp_aggregator.central.design import Design
from ldp_aggregator.central.learner import LINEAR, NAIVE_BAYES, TREE, Training


@dataclass(frozen=True)
class BuggyCurator:
    """A training with a bug.

    Attributes
    ----------
    name : str
        What is wrong.
    learner : str
        The learner that has the bug.
    train : callable
        Takes the parameters of :func:`ldp_aggregator.central.learner.train`.
    is_subtle : bool
        Whether an audit needs more than a thousand trials to detect it.
    """

    name: str
    learner: str
    train: Callable[..., Training]
    is_subtle: bool = False


def _patched(module: Any, name: str, make: Callable[[Any], Any]) -> Callable[..., Training]:
    """Return a training in which a function of a module is replaced by what `make` returns for it."""
    original = getattr(module, name)
    changed = make(original)

    def train(*arguments: Any, **options: Any) -> Training:
        with patch.object(module, name, changed):
            return learner.train(*arguments, **options)

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
    def from_features(features: Any) -> Design:
        return Design(tuple(16 * block for block in scaled(features).blocks), 16 * scaled(features).constant)

    scaled = Design.from_features
    return from_features


def _little_noise(draw: Callable[..., Any]) -> Callable[..., Any]:
    return lambda size, rate, source: draw(size, 16 * rate, source)


def _seeded(*arguments: Any, **options: Any) -> Training:
    return learner.train(*arguments, **{**options, "source": FastStream(1)})


_undivided_tables = _patched(naive_bayes, "measure_tables", _undivided)
_exact_totals = _patched(naive_bayes, "measure_tables", _exact_classes)
_bare_leaves = _patched(tree, "draw_laplace_array", _without_noise)
_long_rows = _patched(Design, "from_features", _unscaled)
_short_noise = _patched(linear, "draw_ball_noise", _little_noise)

MUTANTS = (
    BuggyCurator("epsilon is not divided by the features", NAIVE_BAYES, _undivided_tables, is_subtle=True),
    BuggyCurator("the class counts are exact", NAIVE_BAYES, _exact_totals),
    BuggyCurator("the leaves have no noise", TREE, _bare_leaves),
    BuggyCurator("rows are 16 times too long", LINEAR, _long_rows, is_subtle=True),
    BuggyCurator("the noise of the objective is 16 times too short", LINEAR, _short_noise, is_subtle=True),
    BuggyCurator("a seeded generator draws the tables", NAIVE_BAYES, _seeded),
    BuggyCurator("a seeded generator draws the tree", TREE, _seeded),
    BuggyCurator("a seeded generator draws the linear model", LINEAR, _seeded),
)
