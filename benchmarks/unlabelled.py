"""Gain in accuracy of scores fitted to the same reports and to rows without labels, over Naive Bayes.

    LDP_DATA=DIRECTORY python -m benchmarks.unlabelled [--repeats 20] [--rows-from shifted]

Rows without labels, people who report and test rows are disjoint. The people are the remaining training rows
("own"), or drawn from them with replacement. With `--rows-from shifted` the rows come from another
population: each class in turn is four times as frequent. With `--rows-from partial` a random third of the
columns is missing. Errors are standard errors of the paired gain over repeats. "plain loss" is the log loss
of Naive Bayes, "loss" that of the fit. "evidence" is the median log evidence of the fit over that of Naive
Bayes, "association" the median significance of all features together (below 3 the fit keeps Naive Bayes),
"chi-square" the mean over features, and "seconds" the most of any fit.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterator
from dataclasses import astuple, dataclass, replace
from decimal import Decimal
from itertools import product
from pathlib import Path

import click
import numpy as np

from benchmarks.accuracy.grid import DATA_SETS
from benchmarks.accuracy.ways import coded
from encoders.progress import show_progress
from encoders.randomness import FastStream
from encoders.text_table import format_table
from ldp_aggregator.arrays import IntArray
from ldp_aggregator.estimation import estimate_parameters
from ldp_aggregator.estimation.discriminative import (
    estimate_label_moments,
    fit_classifier,
)
from ldp_aggregator.prediction.scoring import LogProbabilities, normalise_log_scores
from ldp_design.simulation.trial import EncodedRows
from ldp_design.simulation.variants import Variant

FAIR, SHIFTED, PARTIAL = "fair", "shifted", "partial"
SHIFT = 4
"""How many times as frequent one class is among shifted rows."""
MISSING_SHARE = 1 / 3
HEAD = [
    "",
    "people",
    "eps",
    "Naive Bayes",
    "fitted",
    "gain",
    "z",
    "plain loss",
    "loss",
    "evidence",
    "association",
    "chi-square",
    "seconds",
]


@dataclass(frozen=True)
class Repeat:
    """Results of one repeat: accuracies and log losses of both models, and facts about the fit."""

    plain: float
    fitted: float
    plain_loss: float
    fitted_loss: float
    evidence: float
    association: float
    chi_square: float
    seconds: float


def measure(view: EncodedRows, users: int, epsilon: str, rows: int, rows_from: str, seed: int) -> Repeat:
    """Draw rows and people, collect reports, and test both models on the same rows."""
    rng = np.random.default_rng([seed, users])
    people = view.split.train[rows:]
    unlabelled = draw_rows(view, rows, rows_from, rng, seed)
    if users:
        people = rng.choice(people, users)
    survey = Variant(epsilon=Decimal(epsilon)).apply(replace(view.table.survey, users=len(people)))
    devices = FastStream(np.random.SeedSequence([seed, users, int(Decimal(epsilon) * 1000)]))
    snapshot = view.simulate_reports(survey, people, devices)
    parameters = estimate_parameters(snapshot)
    features = np.arange(len(parameters.conditionals))
    if rows_from == PARTIAL:
        features = rng.permutation(features)[: math.ceil((1 - MISSING_SHARE) * len(features))]
    start = time.perf_counter()
    fit = fit_classifier(
        parameters.prior,
        parameters.conditionals,
        estimate_label_moments(snapshot),
        view.codes[unlabelled],
        sorted(features.tolist()),
    )
    seconds = time.perf_counter() - start
    (plain, plain_loss), (fitted, fitted_loss) = (
        evaluate(view, LogProbabilities.from_probabilities(each.prior, each.conditionals))
        for each in (parameters, fit)
    )
    return Repeat(
        plain=plain,
        fitted=fitted,
        plain_loss=plain_loss,
        fitted_loss=fitted_loss,
        evidence=fit.log_evidence,
        association=fit.association,
        chi_square=float(np.mean(list(fit.chi_squares.values()))),
        seconds=seconds,
    )


def draw_rows(view: EncodedRows, count: int, rows_from: str, rng: np.random.Generator, seed: int) -> IntArray:
    """Return the row numbers of the rows without labels, from the training rows that do not report."""
    pool = view.split.train[:count]
    if rows_from != SHIFTED:
        return pool
    labels = view.table.labels[pool]
    classes = np.unique(labels)
    shares = np.where(labels == classes[seed % len(classes)], SHIFT, 1.0)
    drawn: IntArray = rng.choice(pool, count, p=shares / shares.sum())
    return drawn


def evaluate(view: EncodedRows, model: LogProbabilities) -> tuple[float, float]:
    """Return the accuracy and the log loss of a model on the test rows."""
    labels = view.table.labels[view.split.test]
    scores = normalise_log_scores(model.compute_scores(view.codes, view.split.test))
    loss = -float(np.mean(scores[np.arange(len(labels)), labels]))
    return float(np.mean(scores.argmax(axis=1) == labels)), loss


def summarise(name: str, users: int, epsilon: str, repeats: list[Repeat]) -> tuple[list[str], float]:
    """Return the line of a cell, and its mean gain."""
    columns = np.array([astuple(each) for each in repeats]).T
    plain, fitted, plain_loss, fitted_loss, evidence, association, chi_square, seconds = columns
    gains = fitted - plain
    error = float(gains.std(ddof=1)) / math.sqrt(len(gains)) if len(gains) > 1 else math.nan
    gain = float(gains.mean())
    line = [
        name,
        f"{users:,}" if users else "own",
        epsilon,
        f"{plain.mean():.3f}",
        f"{fitted.mean():.3f}",
        f"{gain:+.3f} ± {error:.3f}",
        f"{gain / error:+.1f}" if error > 0 else "-",
        f"{plain_loss.mean():.3f}",
        f"{fitted_loss.mean():.3f}",
        f"{np.median(evidence):.1f}",
        f"{np.median(association):.1f}",
        f"{chi_square.mean():.1f}",
        f"{seconds.max():.1f}",
    ]
    return line, gain


def measure_all(
    directory: Path,
    sets: list[str],
    users: list[int],
    epsilons: list[str],
    repeats: int,
    rows: int,
    rows_from: str,
) -> Iterator[list[str]]:
    """Yield the line of each cell, then the mean gain of all cells."""
    gains = []
    cells = list(product(sets, users, epsilons))
    with show_progress("measuring", len(cells) * repeats, "repeats") as progress:
        for name, count, epsilon in cells:
            views = coded(directory / f"{name}.csv", repeats, 0)
            found = []
            for number, view in enumerate(views):
                found.append(measure(view, count, epsilon, rows, rows_from, number))
                progress.advance(1)
            line, gain = summarise(name, count, epsilon, found)
            gains.append(gain)
            yield line
    yield ["mean", "", "", "", "", f"{np.mean(gains):+.4f}", *[""] * 7]


@click.command(help=(__doc__ or "").partition("\n")[0])
@click.argument("directory", envvar="LDP_DATA", type=click.Path(exists=True, file_okay=False, path_type=Path))
@click.option("--sets", default=",".join(DATA_SETS), show_default=True, help="Files NAME.csv of DIRECTORY.")
@click.option(
    "--users", default="0,100000,1000000", show_default=True, help="0: the training rows themselves."
)
@click.option("--epsilon", default="0.5,1,2", show_default=True)
@click.option("--repeats", type=click.IntRange(min=1), default=20, show_default=True)
@click.option("--rows", type=click.IntRange(min=2), default=500, show_default=True)
@click.option("--rows-from", type=click.Choice([FAIR, SHIFTED, PARTIAL]), default=FAIR, show_default=True)
def main(
    directory: Path, sets: str, users: str, epsilon: str, repeats: int, rows: int, rows_from: str
) -> None:
    counts = [int(each) for each in users.split(",")]
    lines = measure_all(directory, sets.split(","), counts, epsilon.split(","), repeats, rows, rows_from)
    click.echo("\n".join(format_table([HEAD, *lines], "<" + ">" * 12)))


if __name__ == "__main__":
    main()
