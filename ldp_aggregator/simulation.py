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
from typing import Any

import numpy as np

from encoders.errors import LdpError
from encoders.randomness import FastStream
from encoders.survey import Plan, Survey
from encoders.survey.columns import encode_labels, encode_table
from ldp_aggregator.estimation import estimate_probabilities
from ldp_aggregator.models.rows import columns_by_name, is_dicts
from ldp_aggregator.models.scoring import IntArray, Tables
from ldp_aggregator.population import collect, read_epsilon

TRAINING_SHARE = 0.8


class SimulationError(LdpError):
    """A table that cannot be simulated on."""


@dataclass(frozen=True)
class SimulationRow:
    """Accuracy of one mechanism at one epsilon.

    Attributes
    ----------
    epsilon : float
    mechanism, estimator : str
    accuracy : float
        Mean share of right predictions on held-out rows.
    stderr : float
        Standard error of that mean: from the spread of the repeats, or binomial if there is one.
    repeats : int
    """

    epsilon: float
    mechanism: str
    estimator: str
    accuracy: float
    stderr: float
    repeats: int


@dataclass(frozen=True)
class Simulation:
    """What :func:`simulate` found.

    Attributes
    ----------
    rows : tuple of SimulationRow
        In the order epsilon by epsilon, mechanism by mechanism.
    non_private, majority : float
        Accuracy of Naive Bayes trained on the rows themselves, and of the most frequent label.
    """

    rows: tuple[SimulationRow, ...]
    non_private: float
    majority: float

    def as_dict(self) -> dict[str, Any]:
        """Return the result for JSON."""
        rows = [asdict(row) for row in self.rows]
        return {"rows": rows, "non_private": self.non_private, "majority": self.majority}


@dataclass(frozen=True)
class _Split:
    """One repeat's rows."""

    train: IntArray
    test: IntArray


def simulate(
    survey: Survey,
    rows: Any,
    *,
    epsilons: Sequence[float | str | Decimal] = (1,),
    mechanisms: Sequence[str] = ("auto",),
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
        Features and the label, which is called as in the survey, or else "class".
    epsilons : sequence of numbers
    mechanisms : sequence of str
        "auto", or names as in the literature.
    estimator : {"default", "paper"}
        "paper" follows 001 to the letter: a label question beside the coupled ones, all equally
        likely, negative counts set to 1, and THE at its threshold of .25.
    repeats : int
    seed : int
        Equal seeds give equal results; splits do not depend on epsilon or mechanism.
    progress : callable, optional
        Called with 1 after every repeat of every row.

    Raises
    ------
    SurveyError, RowError, SimulationError
        If the survey cannot be compiled, or a row does not fit it.
    """
    codes, labels = encode_population(survey.compile(), rows)
    if len(labels) < 2 or repeats < 1:
        raise SimulationError("a simulation needs at least two rows and one repeat")
    splits = _splits(len(labels), repeats, seed)
    results = []
    for cell, (epsilon, mechanism) in enumerate((e, name) for e in epsilons for name in mechanisms):
        plan = variant(survey, epsilon, mechanism, estimator).compile()
        accuracies = []
        for repeat, split in enumerate(splits):
            rng = FastStream(np.random.SeedSequence(seed, spawn_key=(repeat, cell)))
            accuracies.append(_trial(plan, codes, labels, split, estimator, rng))
            if progress:
                progress(1)
        mean, error = _mean(accuracies, len(splits[0].test))
        results.append(SimulationRow(float(epsilon), mechanism, estimator, mean, error, repeats))
    return Simulation(tuple(results), *_yardsticks(survey, codes, labels, splits))


def variant(survey: Survey, epsilon: float | str | Decimal, mechanism: str, estimator: str) -> Survey:
    """Return the survey with another epsilon and mechanism; for "paper", with 001's questions."""
    changed = replace(survey, epsilon=read_epsilon(epsilon), frequency=mechanism)
    if estimator != "paper":
        return changed
    paper_name = "THE(0.25)" if mechanism == "THE" else mechanism
    return replace(changed, frequency=paper_name, weights=(1,) * len(changed.weights))


def encode_population(plan: Plan, rows: Any) -> tuple[IntArray, IntArray]:
    """Return the coded rows (m, n), column by column in memory, and the coded labels (m,)."""
    names = list(rows[0]) if is_dicts(rows) else list(rows)
    columns = columns_by_name(rows, names)
    label = plan.label.name if plan.label.name in columns else "class"
    if label not in columns:
        raise SimulationError(f'there is no column {plan.label.name!r} to take the label from, nor a "class"')
    for feature in plan.features:
        if feature.name not in columns:
            raise SimulationError(f"there is no column {feature.name!r}")
    codes = encode_table(plan, {feature.name: columns[feature.name] for feature in plan.features})
    return np.asfortranarray(codes), encode_labels(plan, columns[label])


def _splits(count: int, repeats: int, seed: int) -> list[_Split]:
    middle = min(max(round(TRAINING_SHARE * count), 1), count - 1)
    seeds = np.random.SeedSequence(seed).spawn(repeats)
    shuffled: Iterator[IntArray] = (np.random.default_rng(each).permutation(count) for each in seeds)
    return [_Split(order[:middle], order[middle:]) for order in shuffled]


def _trial(
    plan: Plan, codes: IntArray, labels: IntArray, split: _Split, estimator: str, rng: FastStream
) -> float:
    snapshot = collect(plan, codes, labels, rng, users=split.train)
    estimated = estimate_probabilities(snapshot, estimator)
    tables = Tables.of(estimated.prior, estimated.conditionals)
    return _accuracy(tables, codes, labels, split.test)


def _accuracy(tables: Tables, codes: IntArray, labels: IntArray, test: IntArray) -> float:
    return float(np.mean(tables.scores(codes, test).argmax(axis=1) == labels[test]))


def _yardsticks(
    survey: Survey, codes: IntArray, labels: IntArray, splits: Sequence[_Split]
) -> tuple[float, float]:
    """Return the mean accuracies of non-private Naive Bayes and of the majority class."""
    k = len(survey.label.values)
    sizes = [feature.size for feature in survey.features]
    trained, most = [], []
    for split in splits:
        counts = np.bincount(labels[split.train], minlength=k)
        tables = _count_tables(codes, labels, split.train, sizes, k)
        trained.append(_accuracy(tables, codes, labels, split.test))
        most.append(float(np.mean(labels[split.test] == counts.argmax())))
    return math.fsum(trained) / len(splits), math.fsum(most) / len(splits)


def _count_tables(codes: IntArray, labels: IntArray, users: IntArray, sizes: Sequence[int], k: int) -> Tables:
    """Count P(label) and P(value | label) without privacy, one added to every count (Laplace)."""
    own = labels[users]
    prior = np.bincount(own, minlength=k) + 1.0
    joints = (
        np.bincount(column[users] * k + own, minlength=size * k).reshape(size, k) + 1.0
        for column, size in zip(codes.T, sizes, strict=True)
    )
    return Tables.of(prior / prior.sum(), [joint / joint.sum(axis=0) for joint in joints])


def _mean(accuracies: Sequence[float], tested: int) -> tuple[float, float]:
    mean = math.fsum(accuracies) / len(accuracies)
    if len(accuracies) == 1:
        return mean, math.sqrt(mean * (1 - mean) / tested)
    return mean, float(np.std(accuracies, ddof=1)) / math.sqrt(len(accuracies))
