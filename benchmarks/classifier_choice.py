"""Accuracy of the classifier that two validation rounds choose, against that of either one.

    LDP_DATA=DIRECTORY python -m benchmarks.classifier_choice [--repeats 12] [--rows-from shuffled]

A fifth of the people validate: one half of them Naive Bayes, the other half the classifier that was fitted
to 500 rows without labels (docs/unlabelled-rows.md). With `--rows-from shuffled`, each column of these rows
is shuffled by itself, so that they do not show how the features depend on each other. Only repeats count in
which the reports support a fit ("fits"). "Naive Bayes" and "fitted" are the accuracies of the two
classifiers, each with the features that its round selects, "chosen" that of the one that the answers choose,
and "by answers" the number of repeats in which they differ significantly. "gain" is "chosen" minus "fitted",
with its standard error.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from decimal import Decimal
from itertools import product
from pathlib import Path

import click
import numpy as np

from benchmarks.accuracy.grid import DATA_SETS, UNLABELLED_ROWS
from benchmarks.accuracy.tables import shown
from benchmarks.accuracy.ways import coded
from encoders.progress import show_progress
from encoders.randomness import FastStream
from encoders.text_table import format_table
from ldp_aggregator.estimation import estimate_snapshot
from ldp_aggregator.estimation.unlabelled_summary import ChosenBy
from ldp_aggregator.models.classifier_choice import choose_classifier
from ldp_aggregator.models.scoring import LogProbabilities
from ldp_aggregator.models.unlabelled_fit import RowFit
from ldp_aggregator.models.unlabelled_rows import UnlabelledRows
from ldp_design.simulation.trial import EncodedRows, train_model
from ldp_design.simulation.variants import Variant
from ldp_design.validation_round import VALIDATION_SHARE, build_validation

FAIR, SHUFFLED = "fair", "shuffled"
HEAD = ["", "people", "eps", "fits", "Naive Bayes", "fitted", "chosen", "by answers", "gain"]


@dataclass(frozen=True)
class Repeat:
    """Accuracies on the test rows, and whether the answers chose."""

    naive_bayes: float
    fitted: float
    chosen: float
    by_answers: bool


def measure(view: EncodedRows, users: int, epsilon: str, rows_from: str, seed: int) -> Repeat | None:
    """Collect reports, let people validate both classifiers, and choose; None if there is no fit."""
    rng = np.random.default_rng([seed, users])
    people = rng.choice(view.split.train[UNLABELLED_ROWS:], users)
    validators, respondents = np.split(people, [round(VALIDATION_SHARE * users)])
    codes = view.codes[view.split.train[:UNLABELLED_ROWS]].copy()
    if rows_from == SHUFFLED:
        codes = rng.permuted(codes, axis=0)
    rows = UnlabelledRows(codes, frozenset(range(codes.shape[1])))
    survey = Variant(epsilon=Decimal(epsilon)).apply(replace(view.table.survey, users=users))
    devices = FastStream(np.random.SeedSequence([seed, users, int(Decimal(epsilon) * 1000)]))
    snapshot = view.simulate_reports(survey, respondents, devices)
    estimates = estimate_snapshot(snapshot)
    fit = choose_classifier(snapshot, estimates, rows).fit
    if not fit.kept:
        return None
    plain = (estimates.prior, tuple(feature.smoothed for feature in estimates.features))
    rounds = []
    for classifier, group in zip(
        (plain, (fit.prior, fit.conditionals)), np.array_split(validators, 2), strict=True
    ):
        model = build_validation(snapshot.plan, *classifier)
        rounds.append(view.simulate_reports(survey.with_validation(model), group, devices))
    validated = [estimate_snapshot(snapshot, validation=each) for each in rounds]
    choice = choose_classifier(snapshot, validated[0], rows, rounds[1])
    fitted = choose_classifier(snapshot, validated[1], rows).fit
    return Repeat(
        naive_bayes=view.compute_accuracy(train_model(snapshot, validation=rounds[0])),
        fitted=_measure_accuracy(view, fitted),
        chosen=_measure_accuracy(view, choice.fit),
        by_answers=choice.chosen_by == ChosenBy.ANSWERS,
    )


def _measure_accuracy(view: EncodedRows, fit: RowFit) -> float:
    return view.compute_accuracy(LogProbabilities.from_probabilities(fit.prior, fit.conditionals))


def summarise(name: str, users: int, epsilon: str, repeats: list[Repeat | None]) -> tuple[list[str], float]:
    """Return the line of a cell, and its mean gain; it is not a number without a fit."""
    found = [each for each in repeats if each]
    start = [name, f"{users:,}", epsilon, f"{len(found)} of {len(repeats)}"]
    if not found:
        return [*start, *[""] * 5], math.nan
    gains = np.array([each.chosen - each.fitted for each in found])
    means = [np.mean([getattr(each, key) for each in found]) for key in ("naive_bayes", "fitted", "chosen")]
    by_answers = str(sum(each.by_answers for each in found))
    return [*start, *(f"{each:.3f}" for each in means), by_answers, shown(gains, "+")], float(gains.mean())


def measure_all(
    directory: Path, sets: list[str], users: list[int], epsilons: list[str], repeats: int, rows_from: str
) -> Iterator[list[str]]:
    """Yield the line of each cell, then the mean, the least and the largest gain of all cells."""
    gains = []
    cells = list(product(sets, users, epsilons))
    with show_progress("measuring", len(cells) * repeats, "repeats") as progress:
        for name, count, epsilon in cells:
            found = []
            for number, view in enumerate(coded(directory / f"{name}.csv", repeats, 0)):
                found.append(measure(view, count, epsilon, rows_from, number))
                progress.advance(1)
            line, gain = summarise(name, count, epsilon, found)
            gains.append(gain)
            yield line
    for label, function in (("mean", np.nanmean), ("least", np.nanmin), ("largest", np.nanmax)):
        yield [label, *[""] * 7, f"{function(gains):+.4f}"]


@click.command(help=(__doc__ or "").partition("\n")[0])
@click.argument("directory", envvar="LDP_DATA", type=click.Path(exists=True, file_okay=False, path_type=Path))
@click.option("--sets", default=",".join(DATA_SETS), show_default=True, help="Files NAME.csv of DIRECTORY.")
@click.option("--users", default="100000,1000000", show_default=True)
@click.option("--epsilon", default="0.5,1,2", show_default=True)
@click.option("--repeats", type=click.IntRange(min=1), default=12, show_default=True)
@click.option("--rows-from", type=click.Choice([FAIR, SHUFFLED]), default=FAIR, show_default=True)
def main(directory: Path, sets: str, users: str, epsilon: str, repeats: int, rows_from: str) -> None:
    counts = [int(each) for each in users.split(",")]
    lines = measure_all(directory, sets.split(","), counts, epsilon.split(","), repeats, rows_from)
    click.echo("\n".join(format_table([HEAD, *lines], "<" + ">" * 8)))


if __name__ == "__main__":
    main()
