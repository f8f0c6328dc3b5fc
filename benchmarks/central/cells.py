"""The cells of the comparison, and how each is measured."""

from __future__ import annotations

import statistics
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np

from benchmarks.accuracy.grid import Cell
from benchmarks.accuracy.ways import Found
from benchmarks.central import ours, peers
from benchmarks.central.data_sets import TWO_CLASSES, DataSet, read_data_set
from benchmarks.central.ours import OURS
from benchmarks.central.peers import BOOSTING, FIVE, PEERS
from ldp_design.simulation.experiment import split_rows

EPSILONS = ("0.1", "0.5", "1", "2", "5")
MAJORITY = "majority class"
LARGE = ("connect-4", "adult", "skin")
"""Data sets with a quarter of the splits: their accuracies differ less between splits."""
TIMED_SETS = ("mushroom", "connect-4")
TIMED_ROWS = 50_000
TIMED_EPSILON = "1"
_TIMED_REPEATS = 3


@dataclass(frozen=True)
class Task:
    """A cell to measure.

    Attributes
    ----------
    directory : Path
        Of the data sets.
    cell : Cell
        Its `way` is a model. With `users` above 0 that number of rows is timed; otherwise it is tested.
    splits, seed : int
        Number and seed of the splits of a data set that is not large.
    """

    directory: Path
    cell: Cell
    splits: int
    seed: int


def accuracy_cells(names: Sequence[str]) -> Iterator[Cell]:
    """Yield the cells of each data set."""
    for name in names:
        yield Cell(name, MAJORITY)
        for model in models_of(name):
            yield from (Cell(name, model, epsilon) for epsilon in EPSILONS)


def timed_cells(names: Sequence[str]) -> Iterator[Cell]:
    for name in TIMED_SETS:
        if name in names:
            models = (each for each in models_of(name) if each not in (ours.AUTO, ours.AUTO_REPLACE))
            yield from (Cell(name, model, TIMED_EPSILON, TIMED_ROWS) for model in models)


def models_of(name: str) -> tuple[str, ...]:
    return (*OURS, *FIVE, *((BOOSTING,) if name in TWO_CLASSES else ()))


def is_measurable(cell: Cell) -> bool:
    """Return whether the model's library is installed."""
    return peers.INSTALLED or cell.way not in PEERS


def measure(task: Task) -> list[Found]:
    """Return the accuracy of a training on each split, or the seconds of one training."""
    cell = task.cell
    rows = read_data_set(task.directory / f"{cell.data}.csv")
    if cell.users:
        drawn = np.random.default_rng(task.seed).integers(0, len(rows.rows), cell.users)
        return [{"seconds": time_training(cell, rows.take(drawn))}]
    splits = split_rows(len(rows.rows), splits_of(cell.data, task.splits), task.seed, 0.0)
    return [
        {"accuracy": measure_accuracy(cell, rows.take(split.train), rows.take(split.test))}
        for split in splits
    ]


def splits_of(name: str, splits: int) -> int:
    return max(splits // 4, 2) if name in LARGE else splits


def measure_accuracy(cell: Cell, training: DataSet, test: DataSet) -> float:
    """Return the share of the test rows that a model, trained on the others, predicts correctly."""
    if cell.way == MAJORITY:
        majority = np.bincount(training.rows.labels).argmax()
        return float((test.rows.labels == majority).mean())
    if cell.way in OURS:
        predicted = ours.predict(ours.fit(cell.way, training, cell.epsilon), test)
    else:
        predicted = peers.Peer(cell.way, training, cell.epsilon).fit().predict(test)
    return float((predicted == test.rows.labels).mean())


def time_training(cell: Cell, rows: DataSet) -> float:
    """Return the median of the processor seconds of a few trainings on the same rows.

    The rows are already coded as the library needs them.
    """
    seconds = []
    for _ in range(_TIMED_REPEATS):
        fit = (
            partial(ours.fit, cell.way, rows, cell.epsilon)
            if cell.way in OURS
            else peers.Peer(cell.way, rows, cell.epsilon).fit
        )
        start = time.process_time()
        fit()
        seconds.append(time.process_time() - start)
    return statistics.median(seconds)
