"""Accuracy and time of training by a trusted curator: the mean over seven data sets.

    LDP_DATA=DIRECTORY python -m benchmarks.central [--splits 5]              # ten minutes on one core

Surveys are drafted by `ldp-survey init` from the whole file, the training rows are four fifths. Noise comes
from the operating system, as in a real training, so results differ a little between runs.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from pathlib import Path

import click
import numpy as np

from encoders.survey.toml_reader import read_survey
from encoders.text_table import format_table
from ldp_aggregator.arrays import IntArray
from ldp_aggregator.authoring.draft import draft_survey
from ldp_aggregator.central.budget import Promise
from ldp_aggregator.central.coded_rows import CodedRows
from ldp_aggregator.central.learner import CentralModel, Training, train
from ldp_aggregator.central.naive_bayes import CentralNaiveBayes
from ldp_aggregator.models.scoring import LogProbabilities
from ldp_aggregator.rows.csv_rows import read_text_columns
from ldp_aggregator.rows.encode_columns import encode_columns, encode_values
from ldp_aggregator.simulation.labelled_table import split_rows

DATA_SETS = ("car", "chess", "mushroom", "connect-4", "australian", "pima", "yrbss")
TWO_CLASSES = ("chess", "mushroom", "australian", "pima")
EPSILONS = tuple(map(Fraction, ("0.1", "0.5", "1", "2", "5")))
LEARNERS = ("nb", "linear", "tree", "auto")
DRIVING = "text_while_driving_30d"


def read_columns(path: Path) -> tuple[dict[str, list[str]], str]:
    """Return the columns of a data set, and the name of its label."""
    columns = read_text_columns(path)
    if path.stem != "yrbss":
        return columns, "class"
    answers = [{"0": "no", "did not drive": answer, "": ""}.get(answer, "yes") for answer in columns[DRIVING]]
    kept = [row for row, answer in enumerate(answers) if answer]
    columns[DRIVING] = answers
    return {name: [cells[row] for row in kept] for name, cells in columns.items()}, DRIVING


def read_rows(path: Path) -> CodedRows:
    """Return a data set, coded with a survey that `ldp-survey init` drafts from it."""
    texts, label = read_columns(path)
    survey = read_survey(draft_survey(texts, label, path.stem))
    columns = {
        feature.name: [feature.from_text(cell) for cell in texts[feature.name]] for feature in survey.features
    }
    labels = encode_values(texts[label], survey.label.code, label)
    return CodedRows(
        survey.features, len(survey.label.values), encode_columns(survey.features, columns), labels
    )


def take(rows: CodedRows, indices: IntArray) -> CodedRows:
    return CodedRows(rows.features, rows.k, rows.codes[indices], rows.labels[indices])


def predict(model: CentralModel, codes: IntArray) -> IntArray:
    if isinstance(model, CentralNaiveBayes):
        scores = LogProbabilities.from_probabilities(model.prior, model.conditionals).compute_scores(codes)
    else:
        scores = model.scores(codes)
    best: IntArray = scores.argmax(axis=1)
    return best


def measure(
    rows: CodedRows, learner: str, epsilon: Fraction, splits: int, seed: int
) -> Iterator[tuple[Training, float, float]]:
    """Yield the training, its accuracy and its seconds, for each split."""
    for split in split_rows(len(rows), splits, seed, 0.0):
        training_rows = take(rows, split.train)
        start = time.process_time()
        training = train(training_rows, Promise(epsilon), users=len(training_rows), learner=learner)
        seconds = time.process_time() - start
        accuracy = (predict(training.model, rows.codes[split.test]) == rows.labels[split.test]).mean()
        yield training, float(accuracy), seconds


def table(
    means: dict[tuple[str, str, Fraction], float], learners: Sequence[str], cell: Callable[[float], str]
) -> str:
    """Return one line per data set and learner, then the means over all sets, and over two classes."""
    lines = []
    sets = [name for name in DATA_SETS if any(key[0] == name for key in means)]
    groups = {name: (name,) for name in sets} | {f"mean of {len(sets)}": tuple(sets)}
    if set(TWO_CLASSES) <= set(sets):
        groups["mean of two classes"] = TWO_CLASSES
    for group, names in groups.items():
        for learner in learners:
            found = [np.mean([means[name, learner, each] for name in names]) for each in EPSILONS]
            lines.append([group, learner, *(cell(float(each)) for each in found)])
    header = ["", "", *(f"eps {float(each):g}" for each in EPSILONS)]
    return "\n".join(format_table([header, *lines], "<<>>>>>"))


@click.command()
@click.option("--data", envvar="LDP_DATA", type=click.Path(path_type=Path), required=True)
@click.option("--splits", default=5, show_default=True)
@click.option("--seed", default=1, show_default=True, help="Of the splits.")
@click.option("--only", multiple=True, type=click.Choice(DATA_SETS), help="A data set; may be repeated.")
@click.option("--learner", "learners", multiple=True, type=click.Choice(LEARNERS), default=LEARNERS)
def main(data: Path, splits: int, seed: int, only: tuple[str, ...], learners: tuple[str, ...]) -> None:
    """Print the accuracy and the seconds of each learner."""
    accuracies: dict[tuple[str, str, Fraction], float] = {}
    seconds: dict[tuple[str, str, Fraction], float] = {}
    for name in only or DATA_SETS:
        rows = read_rows(data / f"{name}.csv")
        for learner in learners:
            for epsilon in EPSILONS:
                found = list(measure(rows, learner, epsilon, splits, seed))
                accuracies[name, learner, epsilon] = float(np.mean([each[1] for each in found]))
                seconds[name, learner, epsilon] = float(np.mean([each[2] for each in found]))
            shown = "  ".join(f"{accuracies[name, learner, each]:.3f}" for each in EPSILONS)
            click.echo(f"{name} ({len(rows)} rows) {learner}: {shown}", err=True)
    click.echo(table(accuracies, learners, lambda value: f"{value:.3f}"))
    click.echo("\nSeconds of one processor per training")
    click.echo(table(seconds, learners, lambda value: f"{value:.2f}"))


if __name__ == "__main__":
    main()
