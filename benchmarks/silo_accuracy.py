"""Accuracy of Naive Bayes from messages of silos: the mean over splits of *mushroom* and other data sets.

    LDP_DATA=DIRECTORY python -m benchmarks.silo_accuracy [--splits 10] [--only mushroom]

Four fifths of the rows, in random order, are divided among 1, 10 or 100 silos, each of which sends one
message. The survey is drafted by `ldp-survey init` from the whole file. Noise comes from the operating
system, as in real messages, so results differ a little between runs.
"""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path

import click
import numpy as np

from benchmarks.accuracy.tables import shown
from benchmarks.central.data_sets import OTHER, code_rows, read_columns
from encoders.explain.text import format_table
from encoders.randomness import SystemEntropy
from encoders.survey import CategoricalFeature, Survey
from encoders.survey.silo_plan import SiloPlan
from encoders.survey.toml_reader import read_survey
from ldp_aggregator.estimation import estimate_parameters
from ldp_aggregator.prediction.scoring import LogProbabilities
from ldp_central.coded_rows import CodedRows
from ldp_design.authoring.draft import draft_survey
from ldp_design.comparison.trust_experiment import simulate_silos
from ldp_design.simulation.experiment import compute_accuracy, split_rows

DATA_SETS = ("mushroom", "chess", "car", "australian", "pima")
EPSILONS = ("0.1", "0.5", "1", "2", "5")
SILOS = (1, 10, 100)


def read_rows(path: Path) -> tuple[Survey, CodedRows]:
    """Return the drafted survey of a data set, and its coded rows."""
    texts, label = read_columns(path)
    survey = read_survey(draft_survey(texts, label, path.stem))
    for feature in survey.features:
        if isinstance(feature, CategoricalFeature):  # the draft lists no value that occurs once
            known = {*feature.values, ""}
            texts[feature.name] = [cell if cell in known else OTHER for cell in texts[feature.name]]
    return survey, code_rows(survey, texts)


def make_plan(survey: Survey, epsilon: str, rows: int) -> SiloPlan:
    return SiloPlan(
        id="silos", epsilon=Decimal(epsilon), label=survey.label, features=survey.features, rows=rows
    )


def measure(plan: SiloPlan, rows: CodedRows, silos: int, splits: int, seed: int) -> Iterator[float]:
    """Yield the accuracy on the test rows of each split."""
    codes, labels = rows.codes, rows.labels
    for split in split_rows(len(rows), splits, seed, 0.0):
        snapshot = simulate_silos(plan, codes[split.train], labels[split.train], silos, SystemEntropy())
        found = estimate_parameters(snapshot)
        model = LogProbabilities.from_probabilities(found.prior, found.conditionals)
        yield compute_accuracy(model, codes[split.test], labels[split.test])


@click.command()
@click.option("--data", envvar="LDP_DATA", type=click.Path(path_type=Path), required=True)
@click.option("--splits", default=10, show_default=True)
@click.option("--seed", default=1, show_default=True, help="Of the splits.")
@click.option("--only", multiple=True, type=click.Choice(DATA_SETS), help="A data set; may be repeated.")
def main(data: Path, splits: int, seed: int, only: tuple[str, ...]) -> None:
    """Print the accuracy for each data set, number of silos and epsilon, with its standard error."""
    lines = [["data set", "silos", *(f"eps {each}" for each in EPSILONS)]]
    for name in only or DATA_SETS:
        survey, rows = read_rows(data / f"{name}.csv")
        for silos in SILOS:
            cells = []
            for epsilon in EPSILONS:
                found = measure(make_plan(survey, epsilon, len(rows)), rows, silos, splits, seed)
                cells.append(shown(np.array(list(found))))
            lines.append([name, str(silos), *cells])
            click.echo(" ".join(lines[-1]), err=True)
    click.echo("\n".join(format_table(lines, "<>>>>>>")))


if __name__ == "__main__":
    main()
