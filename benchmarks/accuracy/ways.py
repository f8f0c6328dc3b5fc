"""Measure one repeat of each method: split rows, draw users, send reports, train and test a model."""

from __future__ import annotations

import math
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from decimal import Decimal
from functools import lru_cache
from pathlib import Path

import numpy as np

from benchmarks.accuracy.grid import (
    LABEL,
    NON_PRIVATE,
    OURS,
    PAPER,
    REAL_SHE,
    VALIDATED,
    Cell,
)
from benchmarks.accuracy.plain import clip_and_normalise, estimators_of, plug_in
from encoders.errors import LdpError
from encoders.mechanisms import design
from encoders.randomness import FastStream
from ldp_aggregator.classifiers.naive_bayes import infer_survey
from ldp_aggregator.classifiers.prediction_quality import measure_predictions
from ldp_aggregator.estimation.discrete.frequencies import replace_negatives
from ldp_aggregator.prediction.scoring import LogProbabilities
from ldp_aggregator.rows.table_input import TableError, read_text_columns
from ldp_design.simulation.experiment import (
    EncodedRows,
    LabelledTable,
    Trial,
    encode_repeats,
    read_labelled_table,
    run_trial,
    split_rows,
)
from ldp_design.simulation.variants import Variant

CLASS = "class"
Found = dict[str, float]
"""Results of one repeat by name: "accuracy", calibration "error", and those of other estimators."""


@dataclass(frozen=True)
class Task:
    """The repeats from `first` to before `last` of a cell."""

    directory: Path
    cell: Cell
    repeats: int
    seed: int
    first: int
    last: int


def measure(task: Task) -> list[Found]:
    """Return the results of each repeat; equal for equal seeds, for any division into tasks."""
    cell, numbers = task.cell, range(task.first, task.last)
    seen = coded(task.directory / f"{cell.data}.csv", task.repeats, task.seed)[task.first : task.last]
    if cell.users:
        pairs = zip(seen, numbers, strict=True)
        seen = [drawn(view, cell.users, task.seed, number) for view, number in pairs]
    own = zlib.crc32(repr(cell).encode())
    seeds = [np.random.SeedSequence(task.seed, spawn_key=(number, own)) for number in numbers]
    if cell.way == NON_PRIVATE:
        return [without_privacy(view) for view in seen]
    if cell.way == LABEL:
        return [label_only(view, cell.epsilon, seed) for view, seed in zip(seen, seeds, strict=True)]
    if cell.way == REAL_SHE:
        return [
            evaluate_model(view, train_real_noise(view, float(cell.epsilon), np.random.default_rng(seed)))
            for view, seed in zip(seen, seeds, strict=True)
        ]
    mechanism, estimator = (cell.way, "paper") if cell.way in PAPER else ("auto", "default")
    variant = Variant(
        epsilon=Decimal(cell.epsilon),
        mechanism=mechanism,
        validated=cell.way == VALIDATED,
        estimator=estimator,
    )
    trials = (run_trial(view, variant, FastStream(seed)) for view, seed in zip(seen, seeds, strict=True))
    return [dict(evaluate_trial(trial, cell)) for trial in trials]


@lru_cache(maxsize=1)  # cells are ordered by data set
def coded(path: Path, repeats: int, seed: int) -> list[EncodedRows]:
    """Read and encode a data set once, and split it for every repeat."""
    table = table_of(path)
    splits = split_rows(len(table.labels), repeats, seed, 0)
    return encode_repeats(table, splits, Variant(epsilon=Decimal(1)))


def table_of(path: Path) -> LabelledTable:
    """Read a data set.

    Raises
    ------
    TableError
        If the file cannot be measured.
    """
    rows = read_text_columns(path)
    if CLASS not in rows:
        raise TableError(f"{path}: there is no column {CLASS!r} to take the label from")
    if not rows[CLASS]:
        raise TableError(f"{path}: has no rows")
    features = {name: column for name, column in rows.items() if name != CLASS and len(set(column)) > 1}
    try:
        return read_labelled_table(infer_survey(features, sorted(set(rows[CLASS]))), rows)
    except LdpError as error:
        raise TableError(f"{path}: {error}") from error


def drawn(view: EncodedRows, users: int, seed: int, repeat: int) -> EncodedRows:
    """Draw a population from the rows that report, with replacement; equal for all methods and epsilons."""
    rows = np.random.default_rng([seed, repeat, users]).choice(view.split.train, users)
    return replace(view, split=replace(view.split, train=rows))


def without_privacy(view: EncodedRows) -> Found:
    """Test Naive Bayes trained on the true rows, and always predicting the most frequent label."""
    labels = view.table.labels
    majority = np.bincount(labels[view.split.train]).argmax()
    return {
        **evaluate_model(view, view.baseline),
        "majority": float(np.mean(labels[view.split.test] == majority)),
    }


def label_only(view: EncodedRows, epsilon: str, seed: np.random.SeedSequence) -> Found:
    """Ask everybody for the label alone, and always predict the label with the highest estimate."""
    labels, k = view.table.labels[view.split.train], len(view.table.survey.label.values)
    oracle = design("auto", k, Decimal(epsilon))
    counts, _ = oracle.estimate(oracle.tally(oracle.perturb_many(labels, FastStream(seed))), len(labels))
    guess, tested = counts.argmax(), view.table.labels[view.split.test]
    error = abs(float(np.mean(tested == guess)) - float(clip_and_normalise(counts).max()))
    # the difference of the two largest classes over the standard error of its estimate, in closed form
    small, large = np.sort(np.bincount(labels, minlength=k) / len(labels))[-2:].tolist()
    variance = oracle.variance(small) + oracle.variance(large) - 2 * oracle.covariance(small, large)
    z = (large - small) / math.sqrt(variance / len(labels))
    return {"accuracy": float(np.mean(tested == guess)), "error": error, "z": z}


def train_real_noise(
    view: EncodedRows, epsilon: float, rng: np.random.Generator, every_question: bool = False
) -> LogProbabilities:
    """Train the paper's estimator on reports of SHE whose noise is real-valued, as the paper prints it.

    Every user answers one question, or with `every_question` all of them at the full epsilon. The sum of n
    Laplace values is drawn as the difference of two gamma values of shape n.
    """
    users, k = view.split.train, len(view.table.survey.label.values)
    labels, codes = view.table.labels[users], view.codes[users]
    questions = [(labels, k)]
    for feature, column in zip(view.plan.features, codes.T, strict=True):
        questions.append((column * k + labels, feature.size * k))
    asked = rng.integers(0, len(questions), len(users))
    counts = []
    for place, (values, size) in enumerate(questions):
        reported = values if every_question else values[asked == place]
        noise = rng.gamma(len(reported), 2 / epsilon, (2, size))
        counts.append(replace_negatives(np.bincount(reported, minlength=size) + noise[0] - noise[1]))
    prior, *joints = counts
    tables = [joint.reshape(-1, k) / joint.reshape(-1, k).sum(axis=0) for joint in joints]
    return LogProbabilities.from_probabilities(prior / prior.sum(), tables)


def evaluate_trial(trial: Trial, cell: Cell) -> Iterator[tuple[str, float]]:
    """Test a trial's model, and models of other estimators on the same reports."""
    yield from evaluate_model(trial.rows, trial.model).items()
    others: dict[str, Callable[[], LogProbabilities]] = {}
    if cell.way == OURS:
        others = {"plug-in": lambda: plug_in(trial.snapshot)}
    elif not cell.users and cell.way in PAPER:
        others = estimators_of(trial.snapshot, cell.way)
    for name, train in others.items():
        yield from ((f"{name} {what}", value) for what, value in evaluate_model(trial.rows, train()).items())


def evaluate_model(view: EncodedRows, model: LogProbabilities) -> Found:
    """Return a model's accuracy, and the expected calibration error and the log loss of its predictions."""
    test = view.split.test
    found = measure_predictions(model.compute_scores(view.codes, test), view.table.labels[test])
    return {"accuracy": found.accuracy, "error": found.calibration_error, "loss": found.log_loss}
