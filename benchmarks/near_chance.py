"""Accuracy near chance: the default estimator and the paper's five mechanisms, with many repeats.

    LDP_DATA=DIRECTORY python -m benchmarks.near_chance                                # twenty minutes
    LDP_DATA=DIRECTORY python -m benchmarks.near_chance --cells mushroom:0.1 --shares 0.5,0.6,0.7,0.8,0.9
    LDP_DATA=DIRECTORY python -m benchmarks.near_chance --cells mushroom:0.25 --users 348 --halves 16

`make accuracy` compares ours with the best of five means, each with an error, so that the best one is partly
chosen by its error. Here the best mechanism is chosen in one half of the repeats, and the difference is
measured in the other half ("ours - best"). "of 100" is the mean difference if the best is chosen in hindsight
among the same 100 repeats.

"shares known" and "shares equal" are our estimator on the same reports, if it is given the true shares of the
classes, or equal shares. With --shares, the people and the test rows are drawn with replacement so that one
class has this share; each class in turn. With --halves, only the most informative features are asked, whether
their value is in one half of the values or in the other: the halves that say most about the label.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from decimal import Decimal
from itertools import product
from operator import itemgetter
from pathlib import Path

import click
import numpy as np

from benchmarks.accuracy.grid import OURS, PAPER
from benchmarks.accuracy.tables import shown
from benchmarks.accuracy.ways import CLASS, coded, drawn
from encoders.explain.text import format_table
from encoders.progress import show_progress
from encoders.randomness import FastStream
from ldp_aggregator.arrays import BoolArray, FloatArray, IntArray
from ldp_aggregator.classifiers.naive_bayes import infer_survey
from ldp_aggregator.estimation.bayes.posterior import smooth_tables
from ldp_aggregator.estimation.discrete.frequencies import Frequencies
from ldp_aggregator.estimation.raw_estimates import compute_raw_estimates
from ldp_aggregator.estimation.relevance import compute_relevance
from ldp_aggregator.prediction.scoring import LogProbabilities
from ldp_design.simulation.experiment import (
    EncodedRows,
    Trial,
    encode_repeats,
    read_labelled_table,
    run_trial,
)
from ldp_design.simulation.variants import Variant

SEED = 7
"""Another seed than that of `make accuracy`, so that all repeats are new ones."""
HINDSIGHT_REPEATS = 100
COLUMNS = [*PAPER, OURS, "shares known", "shares equal"]
HEAD = ["", "eps", "share", *COLUMNS, "ours - best", "of 100"]


def measure(view: EncodedRows, epsilon: str, number: int) -> list[float]:
    """Return the accuracies of one repeat, in the order of COLUMNS."""
    accuracies = []
    for place, method in enumerate([*PAPER, OURS]):
        mechanism, estimator = ("auto", "default") if method == OURS else (method, "paper")
        variant = Variant(epsilon=Decimal(epsilon), mechanism=mechanism, estimator=estimator)
        devices = FastStream(np.random.SeedSequence(SEED, spawn_key=(number, place)))
        trial = run_trial(view, variant, devices)
        accuracies.append(trial.quality.accuracy)
    k = len(view.table.survey.label.values)
    labels = view.table.labels[view.split.train]
    for shares in (np.bincount(labels, minlength=k) / len(labels), np.full(k, 1 / k)):
        accuracies.append(view.measure(train_with_shares(trial, shares)).accuracy)
    return accuracies


def train_with_shares(trial: Trial, shares: FloatArray) -> LogProbabilities:
    """Train our model of a trial's reports, with given shares of the classes."""
    raw = compute_raw_estimates(trial.snapshot)
    frequencies = [each if isinstance(each, Frequencies) else None for each in raw.feature_estimates]
    tables = smooth_tables(frequencies, [feature.size for feature in raw.features], shares)
    return LogProbabilities.from_probabilities(shares, tables)


def draw_share(view: EncodedRows, share: float, number: int) -> EncodedRows:
    """Draw the people and the test rows with replacement, so that one class has the given share."""
    rng = np.random.default_rng([SEED, number, round(1000 * share)])
    labels = view.table.labels
    chosen = np.unique(labels)[number % len(np.unique(labels))]

    def draw(rows: IntArray) -> IntArray:
        inside = labels[rows] == chosen
        weights = np.where(inside, share / inside.mean(), (1 - share) / (~inside).mean())
        drawn: IntArray = rng.choice(rows, len(rows), p=weights / weights.sum())
        return drawn

    return replace(view, split=replace(view.split, train=draw(view.split.train), test=draw(view.split.test)))


def halve_features(views: Sequence[EncodedRows], kept: int) -> list[EncodedRows]:
    """Return the same repeats with the most informative features, each as a yes/no feature."""
    first = views[0]
    labels, names = first.table.labels, np.array(first.plan.label.values)
    found = []
    for codes, feature in zip(first.codes.T, first.plan.features, strict=True):
        counts = np.zeros((feature.size, len(names)))
        np.add.at(counts, (codes, labels), 1)
        order = np.argsort(counts[:, 0] / np.maximum(counts.sum(axis=1), 1))
        for cut in range(1, feature.size):
            halves = np.stack([counts[order[:cut]].sum(axis=0), counts[order[cut:]].sum(axis=0)])
            relevance = compute_relevance(halves / halves.sum(axis=0), halves.sum(axis=0) / halves.sum())
            found.append((relevance, feature.name, np.isin(codes, order[cut:])))
    best: dict[str, tuple[float, str, BoolArray]] = {}
    for each in sorted(found, key=itemgetter(0)):
        best[each[1]] = each
    columns = {
        name: np.where(high, "yes", "no").tolist()
        for _, name, high in sorted(best.values(), key=itemgetter(0))[-kept:]
    }
    survey = infer_survey(columns, first.plan.label.values)
    table = read_labelled_table(survey, {**columns, CLASS: names[labels].tolist()})
    return encode_repeats(table, [view.split for view in views], Variant(epsilon=Decimal(1)))


def compute_split_gains(accuracies: FloatArray) -> FloatArray:
    """Return ours minus the best of the five, (repeats,), chosen in the other half of the repeats."""
    paper, ours = accuracies[:, : len(PAPER)], accuracies[:, len(PAPER)]
    gains = np.empty(len(accuracies))
    for half in (0, 1):
        best = paper[1 - half :: 2].mean(axis=0).argmax()
        gains[half::2] = ours[half::2] - paper[half::2, best]
    return gains


def compute_hindsight_gains(accuracies: FloatArray) -> FloatArray:
    """Return ours minus the best of the five, chosen in hindsight in each group of 100 repeats."""
    count = max(len(accuracies) // HINDSIGHT_REPEATS, 1)
    groups = np.array_split(accuracies, count)
    return np.array(
        [each[:, len(PAPER)].mean() - each[:, : len(PAPER)].mean(axis=0).max() for each in groups]
    )


def measure_all(
    directory: Path,
    cells: Sequence[str],
    shares: Sequence[str],
    repeats: int,
    users: int | None = None,
    halves: int | None = None,
) -> Iterator[list[str]]:
    """Yield the line of each cell."""
    with show_progress("measuring", len(cells) * len(shares) * repeats, "repeats") as progress:
        for cell, share in product(cells, shares):
            name, _, epsilon = cell.partition(":")
            found = []
            views = coded(directory / f"{name}.csv", repeats, SEED)
            for number, view in enumerate(halve_features(views, halves) if halves else views):
                chosen = draw_share(view, float(share), number) if share else view
                chosen = drawn(chosen, users, SEED, number) if users else chosen
                found.append(measure(chosen, epsilon, number))
                progress.advance(1)
            accuracies = np.array(found)
            means = [f"{each:.3f}" for each in accuracies.mean(axis=0)]
            gains = (compute_split_gains(accuracies), compute_hindsight_gains(accuracies))
            yield [name, epsilon, share or "own", *means, *(shown(each, "+") for each in gains)]


@click.command(help=(__doc__ or "").partition("\n")[0])
@click.argument("directory", envvar="LDP_DATA", type=click.Path(exists=True, file_okay=False, path_type=Path))
@click.option("--cells", default="chess:0.1,chess:0.25,mushroom:0.1", show_default=True)
@click.option("--shares", default="", help="Shares of one class; by default those of the rows.")
@click.option("--repeats", type=click.IntRange(min=2), default=3000, show_default=True)
@click.option("--users", type=click.IntRange(min=1), help="Number of people; by default, that of the rows.")
@click.option(
    "--halves", type=click.IntRange(min=1), help="Number of features, which become yes/no features."
)
def main(
    directory: Path, cells: str, shares: str, repeats: int, users: int | None, halves: int | None
) -> None:
    lines = measure_all(directory, cells.split(","), shares.split(","), repeats, users, halves)
    click.echo("\n".join(format_table([HEAD, *lines], "<" + ">" * (len(HEAD) - 1))))


if __name__ == "__main__":
    main()
