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

from benchmarks.central.data_sets import read_columns
from encoders.randomness import SystemEntropy
from encoders.survey import Feature, Label
from encoders.survey.silo_plan import SiloPlan
from encoders.survey.toml_reader import read_survey
from encoders.text_table import format_table
from ldp_aggregator.arrays import IntArray
from ldp_aggregator.authoring.draft import draft_survey
from ldp_aggregator.estimation import estimate_parameters
from ldp_aggregator.models.scoring import LogProbabilities
from ldp_aggregator.rows.encode_columns import encode_columns, encode_values
from ldp_aggregator.simulation.labelled_table import split_rows
from ldp_aggregator.simulation.silos import simulate_silos

DATA_SETS = ("mushroom", "chess", "car", "australian", "pima")
EPSILONS = ("0.1", "0.5", "1", "2", "5")
SILOS = (1, 10, 100)


def read_rows(path: Path) -> tuple[SiloPlan, IntArray, IntArray]:
    """Return a plan of silos for a data set, its coded rows and the codes of its labels."""
    texts, label = read_columns(path)
    survey = read_survey(draft_survey(texts, label, path.stem))
    plan = make_plan(survey.label, survey.features, EPSILONS[0], len(texts[label]))
    columns = {each.name: [each.from_text(cell) for cell in texts[each.name]] for each in survey.features}
    labels = encode_values(texts[label], survey.label.code, label)
    return plan, encode_columns(survey.features, columns), labels


def make_plan(label: Label, features: tuple[Feature, ...], epsilon: str, rows: int) -> SiloPlan:
    return SiloPlan(id="silos", epsilon=Decimal(epsilon), label=label, features=features, rows=rows)


def measure(
    plan: SiloPlan, codes: IntArray, labels: IntArray, silos: int, splits: int, seed: int
) -> Iterator[float]:
    """Yield the accuracy on the test rows of each split."""
    for split in split_rows(len(labels), splits, seed, 0.0):
        snapshot = simulate_silos(plan, codes[split.train], labels[split.train], silos, SystemEntropy())
        found = estimate_parameters(snapshot)
        model = LogProbabilities.from_probabilities(found.prior, found.conditionals)
        best = model.compute_scores(codes[split.test]).argmax(axis=1)
        yield float((best == labels[split.test]).mean())


@click.command()
@click.option("--data", envvar="LDP_DATA", type=click.Path(path_type=Path), required=True)
@click.option("--splits", default=10, show_default=True)
@click.option("--seed", default=1, show_default=True, help="Of the splits.")
@click.option("--only", multiple=True, type=click.Choice(DATA_SETS), help="A data set; may be repeated.")
def main(data: Path, splits: int, seed: int, only: tuple[str, ...]) -> None:
    """Print the accuracy for each data set, number of silos and epsilon, with its standard error."""
    lines = [["data set", "silos", *(f"eps {each}" for each in EPSILONS)]]
    for name in only or DATA_SETS:
        plan, codes, labels = read_rows(data / f"{name}.csv")
        for silos in SILOS:
            cells = []
            for epsilon in EPSILONS:
                private = make_plan(plan.label, plan.features, epsilon, len(labels))
                found = list(measure(private, codes, labels, silos, splits, seed))
                cells.append(f"{np.mean(found):.3f} +- {np.std(found, ddof=1) / np.sqrt(splits):.3f}")
            lines.append([name, str(silos), *cells])
            click.echo(" ".join(lines[-1]), err=True)
    click.echo("\n".join(format_table(lines, "<>>>>>>")))


if __name__ == "__main__":
    main()
