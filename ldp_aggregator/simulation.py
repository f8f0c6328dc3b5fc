"""How well would a survey do? The whole protocol over a labelled table, many times.

Each repeat splits the rows 80/20, lets every training row be a user who sends one randomised report,
trains on the totals and predicts the rest; non-private Naive Bayes and the majority class see the
same splits (001, section 4).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from decimal import Decimal
from functools import cached_property
from itertools import product
from typing import Any

import numpy as np

from encoders.errors import LdpError
from encoders.randomness import FastStream
from encoders.survey import BinnedFeature, CategoricalFeature, Plan, Survey
from encoders.survey.columns import encode_labels, encode_table
from encoders.survey.numbers import GRID
from ldp_aggregator.estimation import estimate_probabilities
from ldp_aggregator.models.counting import count_model
from ldp_aggregator.models.places import doubles, place_table
from ldp_aggregator.models.rows import Columns, columns_by_name, is_dicts
from ldp_aggregator.models.scoring import IntArray, Places, Tables
from ldp_aggregator.population import collect, read_epsilon
from ldp_aggregator.variants import (
    AS_WRITTEN,
    NO_PROJECTION,
    Variant,
    asked_so,
    check_numeric,
    inputs_of,
    read_projection,
)
from reduction.fit import Fit, fit

TRAINING_SHARE = 0.8


class SimulationError(LdpError):
    """A table that cannot be simulated on."""


@dataclass(frozen=True)
class SimulationRow:
    """Accuracy of one way to ask.

    Attributes
    ----------
    epsilon : float
    mechanism, numeric, projection : str
        See :class:`~ldp_aggregator.variants.Variant`.
    estimator : str
    accuracy : float
        Mean share of right predictions on held-out rows.
    stderr : float
        Standard error of that mean: from the spread of the repeats, or binomial if there is one.
    non_private : float
        Accuracy of the same classifier trained on the rows themselves.
    repeats : int
    """

    epsilon: float
    mechanism: str
    numeric: str
    projection: str
    estimator: str
    accuracy: float
    stderr: float
    non_private: float
    repeats: int


@dataclass(frozen=True)
class Simulation:
    """What :func:`simulate` found.

    Attributes
    ----------
    rows : tuple of SimulationRow
        Numeric way by numeric way, projection by projection, epsilon by epsilon, mechanism by mechanism.
    majority : float
        Accuracy of always guessing the most frequent label.
    """

    rows: tuple[SimulationRow, ...]
    majority: float

    @property
    def non_private(self) -> float:
        """Accuracy without privacy of the first way to ask; each row has its own."""
        return self.rows[0].non_private

    def as_dict(self) -> dict[str, Any]:
        """Return the result for JSON."""
        rows = [asdict(row) for row in self.rows]
        return {"rows": rows, "non_private": self.non_private, "majority": self.majority}


def simulate(
    survey: Survey,
    rows: Any,
    *,
    epsilons: Sequence[float | str | Decimal] = (1,),
    mechanisms: Sequence[str] = ("auto",),
    numeric: Sequence[str] = (AS_WRITTEN,),
    projections: Sequence[str] = (NO_PROJECTION,),
    public_share: float = 0.0,
    estimator: str = "default",
    repeats: int = 10,
    seed: int = 0,
    progress: Callable[[int], object] | None = None,
) -> Simulation:
    """Run the whole protocol in memory and measure the accuracy of what comes out.

    Parameters
    ----------
    survey : Survey
        What to ask, see :func:`encoders.survey.read_survey`; its epsilon and mechanism are replaced.
    rows : DataFrame, list of dicts, or dict of columns
        What a row must hold, and the label, which is called as in the survey, or else "class".
    epsilons : sequence of numbers
    mechanisms : sequence of str
        Of what is discrete: "auto", or names as in the literature.
    numeric : sequence of str
        How numbers are asked for: "survey", "bins:N", "auto" or a mechanism for numbers.
    projections : sequence of str
        "none", or a method and its components, as in "dca:1" and "pca:6". Fitted anew in each repeat.
    public_share : float
        Share of the training rows that a projection is fitted on; they are public and do not report.
        At 0 it is fitted on the training rows that report, which epsilon does NOT cover, as 001 does.
    estimator : {"default", "paper"}
        "paper" follows 001 to the letter: a label question beside the coupled ones, all equally
        likely, negative counts set to 1, and THE at its threshold of .25.
    repeats : int
    seed : int
        Equal seeds give equal results; splits do not depend on the way to ask.
    progress : callable, optional
        Called with 1 after every repeat of every row.

    Raises
    ------
    SurveyError, RowError, FitError, SimulationError, VariantError
        If the survey cannot be compiled or projected, or a row does not fit it.
    """
    table = _read(survey, rows)
    if len(table.labels) < 2 or repeats < 1:
        raise SimulationError("a simulation needs at least two rows and one repeat")
    for name in numeric:
        check_numeric(name)
    splits = _splits(len(table.labels), repeats, seed, public_share)
    results, cell = [], 0
    for how, projection in product(numeric, projections):
        views = _views(table, splits, how, projection)
        non_private = math.fsum(view.non_private for view in views) / repeats
        for epsilon, mechanism in product(epsilons, mechanisms):
            variant = Variant(read_epsilon(epsilon), mechanism, how, projection)
            accuracies, plan = [], None
            for repeat, view in enumerate(views):
                if plan is None or view.fit:  # a projection is fitted anew in each repeat
                    plan = asked_so(survey, variant, view.fit, estimator == "paper").compile()
                rng = FastStream(np.random.SeedSequence(seed, spawn_key=(repeat, cell)))
                accuracies.append(view.trial(plan, estimator, rng))
                if progress:
                    progress(1)
            cell += 1
            mean, error = _mean(accuracies, len(splits[0].test))
            results.append(
                SimulationRow(
                    float(epsilon), mechanism, how, projection, estimator, mean, error, non_private, repeats
                )
            )
    return Simulation(tuple(results), _majority(table, splits))


# -- rows ---------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Table:
    """A labelled table: columns as people hold them, numbers as doubles, and coded labels (m,)."""

    survey: Survey
    columns: Columns
    labels: IntArray


def _read(survey: Survey, rows: Any) -> _Table:
    names = list(rows[0]) if is_dicts(rows) else list(rows)
    columns = columns_by_name(rows, names)
    label = survey.label.name if survey.label.name in columns else "class"
    if label not in columns:
        why = f'there is no column {survey.label.name!r} to take the label from, nor a "class"'
        raise SimulationError(why)
    for feature in survey.entries:
        if feature.name not in columns:
            raise SimulationError(f"there is no column {feature.name!r}")
        if not isinstance(feature, CategoricalFeature):
            columns[feature.name] = doubles(columns[feature.name], feature.name)
    return _Table(survey, columns, encode_labels(survey.compile(), columns[label]))


@dataclass(frozen=True)
class _Split:
    """One repeat's rows, by number: those that report, those that test, those a projection is fitted on."""

    train: IntArray
    test: IntArray
    public: IntArray


def _splits(count: int, repeats: int, seed: int, public_share: float) -> list[_Split]:
    if not 0 <= public_share < 1:
        raise SimulationError("the public share of the training rows is a number from 0 to less than 1")
    middle = min(max(round(TRAINING_SHARE * count), 1), count - 1)
    known = round(public_share * middle)
    seeds = np.random.SeedSequence(seed).spawn(repeats)
    shuffled: Iterator[IntArray] = (np.random.default_rng(each).permutation(count) for each in seeds)
    return [_Split(order[known:middle], order[middle:], order[: known or middle]) for order in shuffled]


# -- one repeat ---------------------------------------------------------------------------------


@dataclass(frozen=True)
class _View:
    """One repeat's rows as one numeric way and one projection code them, whatever the epsilon."""

    table: _Table
    split: _Split
    fit: Fit | None
    plan: Plan
    codes: IntArray
    places: Places

    def trial(self, plan: Plan, estimator: str, rng: FastStream) -> float:
        """Return the accuracy of a model trained on everybody's one report."""
        snapshot = collect(plan, self.codes, self.table.labels, rng, users=self.split.train)
        estimated = estimate_probabilities(snapshot, estimator)
        seen = self.codes if estimator == "paper" else self.places
        return self._accuracy(Tables.of(estimated.prior, estimated.conditionals), seen)

    @cached_property
    def non_private(self) -> float:
        """Accuracy of Naive Bayes trained on the rows themselves."""
        model = count_model(self.plan, self.codes, self.table.labels, self.split.train)
        return self._accuracy(model, self.codes)

    def _accuracy(self, model: Tables, rows: Places) -> float:
        found = model.scores(rows, self.split.test).argmax(axis=1)
        return float(np.mean(found == self.table.labels[self.split.test]))


def _views(table: _Table, splits: Sequence[_Split], how: str, projection: str) -> list[_View]:
    wanted = read_projection(projection)
    views: list[_View] = []
    for split in splits:
        if views and not wanted:  # without a projection all repeats code alike
            views.append(replace(views[0], split=split))
            continue
        found = _fit(table, split, *wanted) if wanted else None
        variant = Variant(table.survey.epsilon, table.survey.frequency, how, projection)
        plan = asked_so(table.survey, variant, found, paper=False).compile()
        columns = {entry.name: table.columns[entry.name] for entry in plan.entries}
        codes = np.asfortranarray(encode_table(plan, columns))
        binned = any(isinstance(feature, BinnedFeature) for feature in plan.features)
        places = np.asfortranarray(place_table(plan, columns)) if binned else codes
        views.append(_View(table, split, found, plan, codes, places))
    return views


def _fit(table: _Table, split: _Split, method: str, components: int) -> Fit:
    inputs = inputs_of(table.survey)
    if not inputs:
        raise SimulationError("the survey asks for no number: there is nothing to project")
    codes = np.stack([each.codes(table.columns[each.name]) for each in inputs], axis=1)[split.public]
    whole = (codes <= 2 * GRID).all(axis=1)
    rows = (codes[whole] - GRID) / GRID
    return fit(method, inputs, rows, table.labels[split.public][whole], components)


def _majority(table: _Table, splits: Sequence[_Split]) -> float:
    k = len(table.survey.label.values)
    guesses = (np.bincount(table.labels[split.train], minlength=k).argmax() for split in splits)
    right = [
        float(np.mean(table.labels[split.test] == guess))
        for split, guess in zip(splits, guesses, strict=True)
    ]
    return math.fsum(right) / len(right)


def _mean(accuracies: Sequence[float], tested: int) -> tuple[float, float]:
    mean = math.fsum(accuracies) / len(accuracies)
    if len(accuracies) == 1:
        return mean, math.sqrt(mean * (1 - mean) / tested)
    return mean, float(np.std(accuracies, ddof=1)) / math.sqrt(len(accuracies))
