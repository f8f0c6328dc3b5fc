"""Accuracy of the paper's five mechanisms if every person answers every question at the full epsilon.

    LDP_DATA=DIRECTORY python -m benchmarks.every_question [--set mushroom] [--epsilon 0.5] [--repeats 20]

A person then spends epsilon once per question, and not epsilon in all. Yilmaz et al. 2019 let a person answer
one question (section 3.1); the rows "one question" are this protocol.
"""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path

import click
import numpy as np

from benchmarks.accuracy.grid import PAPER, REAL_SHE
from benchmarks.accuracy.tables import mean_error
from benchmarks.accuracy.ways import coded, train_real_noise
from encoders.explain.text import format_table
from encoders.randomness import FastStream
from ldp_aggregator.prediction.scoring import LogProbabilities
from ldp_aggregator.simulated_population import simulate_total, true_answers
from ldp_aggregator.snapshot import Snapshot
from ldp_design.simulation.experiment import EncodedRows, compile_survey, run_trial, train_model
from ldp_design.simulation.variants import Variant


def train(view: EncodedRows, way: str, epsilon: Decimal, seed: int, every_question: bool) -> LogProbabilities:
    """Train the paper's estimator on one answer of each person, or on an answer to every question."""
    if way == REAL_SHE:
        return train_real_noise(view, float(epsilon), np.random.default_rng(seed), every_question)
    variant, rng = Variant(epsilon=epsilon, mechanism=way, estimator="paper"), FastStream(seed)
    if not every_question:
        return run_trial(view, variant, rng).model
    plan = compile_survey(variant.apply(view.table.survey))
    totals = {
        question.key: simulate_total(
            question, true_answers(question, view.codes, view.table.labels, view.split.train), rng
        )
        for question in plan.questions
    }
    return train_model(Snapshot(plan, totals), "paper")


def measure(path: Path, epsilon: Decimal, repeats: int) -> Iterator[list[str]]:
    """Yield the mean accuracies of both protocols, one row per mechanism."""
    views = coded(path, repeats, 0)
    for way in (*PAPER, REAL_SHE):
        found = []
        for every_question in (False, True):
            models = (train(view, way, epsilon, seed, every_question) for seed, view in enumerate(views))
            accuracies = [view.measure(model).accuracy for view, model in zip(views, models, strict=True)]
            found.append("{:.3f} ± {:.3f}".format(*mean_error(np.array(accuracies))))
        yield [way, *found]


@click.command()
@click.option("--set", "name", default="mushroom", show_default=True)
@click.option("--epsilon", type=Decimal, default=Decimal("0.5"), show_default=True)
@click.option("--repeats", type=click.IntRange(min=1), default=20, show_default=True)
@click.argument("directory", envvar="LDP_DATA", type=click.Path(exists=True, file_okay=False, path_type=Path))
def main(name: str, epsilon: Decimal, repeats: int, directory: Path) -> None:
    """Print the accuracies with one question and with every question per person."""
    head = ["", "one question", "every question"]
    rows = measure(directory / f"{name}.csv", epsilon, repeats)
    click.echo("\n".join(format_table([head, *rows], "<>>")))


if __name__ == "__main__":
    main()
