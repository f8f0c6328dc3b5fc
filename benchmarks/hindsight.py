"""Accuracy at epsilon 1 if the most informative features were known beforehand.

    LDP_DATA=DIRECTORY python -m benchmarks.hindsight [--users 1000000]       # ten minutes on one core

Everybody is asked about the features that explain most of the label in the true rows, which no survey knows;
the best number of features is chosen on the test rows. The last column is the median standard error of
P(value | label) if all features are asked.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from decimal import Decimal
from pathlib import Path

import click
import numpy as np

from benchmarks.accuracy.grid import DATA_SETS
from benchmarks.accuracy.ways import coded, drawn
from encoders.explain.text import format_table
from encoders.randomness import FastStream
from encoders.survey import Survey
from ldp_aggregator.estimation import FeatureResult, estimate_snapshot
from ldp_aggregator.estimation.relevance import compute_relevance
from ldp_design.simulation.experiment import EncodedRows, run_trial
from ldp_design.simulation.variants import Variant

EPSILON = Decimal(1)
KEPT = (1, 2, 3, 4, 6, 8, 12, 20)


def ask_most_relevant(rows: EncodedRows, kept: int, users: int) -> Survey:
    """Return the survey about the features that explain most of the label in the rows that report."""
    survey = rows.table.survey
    labels, prior = rows.table.labels[rows.split.train], np.exp(rows.baseline.prior)
    relevance = []
    for place, feature in enumerate(survey.features):
        counts = np.zeros((feature.size, len(prior)))
        np.add.at(counts, (rows.codes[rows.split.train, place], labels), 1)
        relevance.append(compute_relevance(counts / counts.sum(axis=0), prior))
    best = set(np.argsort(relevance)[::-1][:kept].tolist())
    weights = (0, *(int(place in best) for place in range(len(survey.features))))
    return replace(survey, epsilon=EPSILON, users=users, weights=weights)


def rows(directory: Path, users: int, repeats: int, seed: int) -> Iterator[list[str]]:
    """Measure one data set after the other."""
    for name in DATA_SETS:
        splits = coded(directory / f"{name}.csv", repeats, seed)
        seen = [drawn(view, users, seed, number) for number, view in enumerate(splits)]
        features = len(seen[0].table.survey.features)
        found: dict[int, list[float]] = {}
        for kept in (*(each for each in KEPT if each < features), features):
            trials = [
                run_trial(
                    view, Variant(epsilon=EPSILON), FastStream(seed), ask_most_relevant(view, kept, users)
                )
                for view in seen
            ]
            found[kept] = [trial.quality.accuracy for trial in trials]
        known = estimate_snapshot(trials[0].snapshot).features  # of all features
        errors = [each.conditionals.stderr.ravel() for each in known if isinstance(each, FeatureResult)]
        best = max(found, key=lambda kept: float(np.mean(found[kept])))
        shown = (f"{np.mean(found[kept]):.3f}" for kept in (features, best))
        without = np.mean([view.non_private for view in seen])
        yield [
            name,
            str(features),
            *shown,
            str(best),
            f"{without:.3f}",
            f"{np.median(np.concatenate(errors)):.3f}",
        ]


@click.command()
@click.option("--users", type=click.IntRange(min=1), default=1_000_000, show_default=True)
@click.option("--repeats", type=click.IntRange(min=1), default=5, show_default=True)
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True)
@click.argument("directory", envvar="LDP_DATA", type=click.Path(exists=True, file_okay=False, path_type=Path))
def main(directory: Path, users: int, repeats: int, seed: int) -> None:
    """Print accuracies: with all features, with the best in hindsight, and without privacy."""
    head = ["", "features", "all", "best", "of them", "non-private", "s.e. of P(value | label)"]
    click.echo("\n".join(format_table([head, *rows(directory, users, repeats, seed)], "<>>>>>>")))


if __name__ == "__main__":
    main()
