"""How well would a survey do? The whole protocol over a labelled table, many times.

Each repeat splits the rows 80/20, lets every training row be a user who sends one randomised report,
trains on the totals and predicts the rest; non-private Naive Bayes and the majority class see the
same splits (Yilmaz et al. 2019, section 4).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from decimal import Decimal
from itertools import product
from typing import Any

import numpy as np

from encoders.survey import Survey
from ldp_aggregator.rounds.narrow import MAX_ROUNDS
from ldp_aggregator.simulated_population import parse_epsilon
from ldp_aggregator.simulation.trial import (
    SimulationError,
    Split,
    Table,
    read_table,
    run_trials,
    split_rows,
    views,
)
from ldp_aggregator.simulation.variants import (
    AS_AUTHORED,
    NO_PROJECTION,
    Variant,
    check_numeric,
    check_projection,
    count_learned_components,
)

__all__ = ["Simulation", "SimulationError", "SimulationRow", "simulate"]

UNCOVERED = "Projections (dca, pca) were fitted on the rows that report: epsilon does NOT cover that."


@dataclass(frozen=True)
class SimulationRow:
    """Accuracy of one way to ask.

    Attributes
    ----------
    epsilon : float
    mechanism, numeric, projection : str
        See :class:`~ldp_aggregator.simulation.variants.Variant`.
    estimator : str
    accuracy : float
        Mean share of right predictions on held-out rows.
    stderr : float
        Standard error of that mean: from the spread of the repeats, or binomial if there is one.
    non_private : float
        Accuracy of the same classifier trained on the rows themselves.
    repeats : int
    rounds : int
        In how many rounds people were asked.
    validated : bool
        Whether some judged the model of the first.
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
    rounds: int = 1
    validated: bool = False


@dataclass(frozen=True)
class Simulation:
    """What :func:`simulate` found.

    Attributes
    ----------
    rows : tuple of SimulationRow
        Numeric way by numeric way, projection by projection, epsilon by epsilon, mechanism by mechanism,
        rounds by rounds.
    majority : float
        Accuracy of always guessing the most frequent label.
    public_share : float
        Share of the training rows that projections were fitted on; at 0 on the rows that report, which
        epsilon does NOT cover.
    """

    rows: tuple[SimulationRow, ...]
    majority: float
    public_share: float = 0.0

    @property
    def uncovered(self) -> bool:
        """Whether some projection was fitted on the very rows that report, which epsilon does not cover."""
        fitted = {row.projection for row in self.rows} - {NO_PROJECTION}
        return not self.public_share and not all(map(count_learned_components, fitted))

    @property
    def non_private(self) -> float:
        """Accuracy without privacy of the first way to ask; each row has its own."""
        return self.rows[0].non_private

    def as_dict(self) -> dict[str, Any]:
        """Return the result for JSON."""
        rows = [asdict(row) for row in self.rows]
        shared = {"majority": self.majority, "public_share": self.public_share}
        return {"rows": rows, "non_private": self.non_private, **shared}


def simulate(
    survey: Survey,
    rows: Any,
    *,
    epsilons: Sequence[float | str | Decimal] = (1,),
    mechanisms: Sequence[str] = ("auto",),
    numeric: Sequence[str] = (AS_AUTHORED,),
    projections: Sequence[str] = (NO_PROJECTION,),
    rounds: Sequence[int] = (1,),
    validate: bool = False,
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
        What to ask, see :func:`encoders.survey.read_survey`; its epsilon and mechanism are replaced. If it
        does not say how many `users` it expects, these are the rows that report.
    rows : DataFrame, list of dicts, or dict of columns
        What a row must hold, and the label, which is called as in the survey, or else "class".
    epsilons : sequence of numbers
    mechanisms : sequence of str
        Of what is discrete: "auto", or names as in the literature.
    numeric : sequence of str
        How numbers are asked for: "survey", "bins:N", "auto" or a mechanism for numbers.
    projections : sequence of str
        "none", or a method and its components, as in "dca:1" and "pca:6". Fitted anew in each repeat.
        "learned:1": seven tenths of those who report answer a pilot, which asks about each number in two
        bins; from their reports the others' projection is learned, and these train the model.
    rounds : sequence of int
        In how many rounds people are asked. Half of them answer the first, the others evenly the later ones,
        which leave out what turned out to tell nothing, see :mod:`ldp_aggregator.rounds.narrow`.
    validate : bool
        Whether a fifth of the people judge the model of the first round instead of answering any, so that it
        keeps the features it does best with, see :mod:`ldp_aggregator.rounds.validate`.
    public_share : float
        Share of the training rows that a projection is fitted on; they are public and do not report.
        At 0 it is fitted on the training rows that report, as in Yilmaz et al. 2019, which epsilon does NOT
        cover. Not for "learned", which needs no such rows.
    estimator : {"default", "paper"}
        "paper" follows Yilmaz et al. 2019 to the letter: a label question beside the coupled ones, all
        equally likely, negative counts set to 1, and THE at its threshold of .25. A pilot, which it does not
        know, is asked and heard by default.
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
    table = read_table(survey, rows)
    if len(table.labels) < 2 or repeats < 1:
        raise SimulationError("a simulation needs at least two rows and one repeat")
    if not all(1 <= each <= MAX_ROUNDS for each in rounds):
        raise SimulationError(f"rounds are from 1 to {MAX_ROUNDS}")
    budgets = [parse_epsilon(epsilon) for epsilon in epsilons]
    for name in numeric:
        check_numeric(name)
    for name in projections:
        check_projection(name, survey)
    splits = split_rows(len(table.labels), repeats, seed, public_share)
    results, cell = [], 0
    for how, projection in product(numeric, projections):
        seen = views(table, splits, how, projection)
        non_private = math.fsum(view.non_private for view in seen) / repeats
        for epsilon, mechanism, count in product(budgets, mechanisms, rounds):
            variant = Variant(epsilon, mechanism, how, projection, count, validate)
            seeds = (np.random.SeedSequence(seed, spawn_key=(repeat, cell)) for repeat in range(repeats))
            accuracies = []
            for trial in run_trials(seen, variant, estimator, seeds):
                accuracies.append(trial.accuracy)
                if progress:
                    progress(1)
            cell += 1
            mean, error = _mean(accuracies, len(splits[0].test))
            results.append(
                SimulationRow(
                    epsilon=float(epsilon),
                    mechanism=mechanism,
                    numeric=how,
                    projection=projection,
                    estimator=estimator,
                    accuracy=mean,
                    stderr=error,
                    non_private=non_private,
                    repeats=repeats,
                    rounds=count,
                    validated=validate,
                )
            )
    return Simulation(tuple(results), _majority(table, splits), public_share)


def _majority(table: Table, splits: Sequence[Split]) -> float:
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
