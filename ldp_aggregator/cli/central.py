"""ldp-central: trains a model on rows that a curator holds, under differential privacy."""

from __future__ import annotations

import re
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path

import click

from encoders.survey import read_survey
from ldp_aggregator.atomic_file import write_atomically
from ldp_aggregator.authoring.toml_edit import read_survey_text
from ldp_aggregator.central.budget import ADD_REMOVE, MAX_EPSILON, MIN_ROW_EPSILON, REPLACE, Promise
from ldp_aggregator.central.learner import AUTO, LEARNERS
from ldp_aggregator.central.ledger_file import LOCK_SUFFIX, LedgerTerms, find_ledger, train_once
from ldp_aggregator.cli.error_messages import print_errors
from ldp_aggregator.cli.output_file import OutputFile, require_no_input
from ldp_aggregator.cli.version_option import version_option
from ldp_aggregator.models.central_training import CuratorTraining, read_curator_rows

_PATH = click.Path(exists=True, dir_okay=False, path_type=Path)
_AMOUNT = re.compile(r"\+?(\d{1,20}(\.\d{0,20})?|\.\d{1,20})([eE][+-]?\d{1,3})?", re.ASCII)


def _amount_parser(low: Fraction, high: Fraction) -> Callable[..., Fraction | None]:
    """Return the callback of an option that reads a decimal as an exact fraction: 0.5 and .5 are one half."""

    def parse(_context: click.Context, _parameter: click.Parameter, text: str | None) -> Fraction | None:
        if text is None:
            return None
        amount = Fraction(text) if _AMOUNT.fullmatch(text) else None
        if amount is None or not low <= amount <= high:
            raise click.BadParameter(f"{text!r} is not a number from {float(low):g} to {float(high):g}")
        return amount

    return parse


@click.group()
@version_option
def main() -> None:
    """Train on rows that a curator holds, and publish a model that is differentially private.

    In a local survey nobody has to trust a curator: see ldp-survey. docs/central.md compares the promises.
    """


@main.command()
@click.argument("survey", type=_PATH)
@click.argument("rows", type=_PATH)
@click.option(
    "--epsilon",
    callback=_amount_parser(MIN_ROW_EPSILON, Fraction(MAX_EPSILON)),
    metavar="NUMBER",
    required=True,
    help="What this training spends, for example 1.",
)
@click.option(
    "--delta",
    callback=_amount_parser(Fraction(0), Fraction(1, 1000)),
    metavar="NUMBER",
    default="0",
    show_default=True,
    help="With --learner nb: the probability with which epsilon may fail. The noise is then Gaussian.",
)
@click.option(
    "--learner",
    type=click.Choice(LEARNERS),
    default=AUTO,
    show_default=True,
    help="auto chooses linear or tree, from public numbers only.",
)
@click.option(
    "--adjacency",
    type=click.Choice([ADD_REMOVE, REPLACE]),
    default=ADD_REMOVE,
    show_default=True,
    help="What epsilon hides: whether a person is in the rows, or what their rows contain.",
)
@click.option(
    "--rows-per-person", type=click.IntRange(1), default=1, show_default=True, help="Most rows of one person."
)
@click.option("--person", metavar="COLUMN", help="The column that names each row's person, to check that.")
@click.option(
    "--cap",
    callback=_amount_parser(MIN_ROW_EPSILON, Fraction(10_000)),
    metavar="TOTAL",
    help="The total epsilon that may be spent on these rows. By default it stays; at first it is --epsilon.",
)
@click.option("--name", help="Your name for the rows, which names the ledger; by default the file's name.")
@click.option("--rows-changed", is_flag=True, help="The rows were edited since the last training.")
@click.option("-o", "--output", type=OutputFile(), required=True, help="The model file to write.")
def train(
    survey: Path,
    rows: Path,
    epsilon: Fraction,
    delta: Fraction,
    learner: str,
    adjacency: str,
    rows_per_person: int,
    person: str | None,
    cap: Fraction | None,
    name: str | None,
    rows_changed: bool,
    output: Path,
) -> None:
    """Train a model on ROWS (a .csv file) of SURVEY (a .toml file), and record what it spends.

    The ledger, ROWS.ledger or NAME.ledger beside ROWS, adds up what all trainings spend, and refuses one that
    exceeds --cap. It also keeps the finished models: the same command again writes the same model, and spends
    nothing. Protect it like the rows. A training that fails or is killed has spent its epsilon.

    Errors describe the rows: they are for you, not for publication.
    """
    require_no_input(output, [survey, rows])
    with print_errors():
        ledger_path, full_name = find_ledger(rows, name)
        lock = ledger_path.with_name(ledger_path.name + LOCK_SUFFIX)
        if output.resolve() in (ledger_path, lock):
            raise click.UsageError(f"{output} is the ledger of the rows; give another output file")
        promise = Promise(epsilon, delta, adjacency, rows_per_person)
        data = read_curator_rows(read_survey(read_survey_text(survey)), rows, rows_per_person, person)
        training = CuratorTraining(data, promise, learner)
        terms = LedgerTerms(full_name, adjacency, rows_per_person, cap, rows_changed)
        model, ledger = train_once(ledger_path, terms, training.request, training.run)
        write_atomically(output, model)
    spent = f"epsilon {_show(ledger.spent)} of {_show(ledger.cap)} is spent"
    click.echo(f"wrote {output}; {spent} ({ledger_path.name})")


def _show(amount: Fraction) -> str:
    return f"{float(amount):g}"
