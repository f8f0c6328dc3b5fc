"""ldp-central: trains a model on rows that a curator holds, under differential privacy."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from fractions import Fraction
from pathlib import Path

import click

from encoders.errors import LdpError
from encoders.survey.plan_files import read_survey_text
from encoders.survey.toml_reader import read_curator_survey
from encoders.text_table import format_table
from ldp_aggregator.atomic_file import write_atomically
from ldp_aggregator.central.learner import AUTO, LEARNERS, NAIVE_BAYES
from ldp_aggregator.central.ledger import Ledger
from ldp_aggregator.central.ledger_file import (
    LOCK_SUFFIX,
    SUFFIX,
    LedgerTerms,
    find_ledger,
    read_ledger,
    train_once,
)
from ldp_aggregator.central.promise import ADD_REMOVE, MAX_EPSILON, MIN_ROW_EPSILON, REPLACE, Promise
from ldp_aggregator.cli.amounts import amount_parser
from ldp_aggregator.cli.error_messages import print_errors
from ldp_aggregator.cli.file_options import INPUT_FILE, OutputFile, require_distinct, require_no_input
from ldp_aggregator.cli.multiline_option import multiline_option
from ldp_aggregator.cli.version_option import version_option
from ldp_aggregator.findings.bounds import format_amount
from ldp_aggregator.models.central_estimates import build_central_table
from ldp_aggregator.models.central_file import read_central_content
from ldp_aggregator.models.central_training import CuratorTraining, read_curator_rows
from ldp_aggregator.models.model_document import parse_content
from ldp_aggregator.results.table import dump_table

_PRIVATE = "This error may depend on the rows: do not publish it, nor that the training failed."
_REPEATED = "This training was finished before, so its model is written again, and nothing more is spent."
_OTHER_FORM = "The rows are the same, in another order or form."
_CAPS_IGNORED = "--cap and --cap-delta are ignored, because a repetition does not change the totals."
_name_option = click.option(
    "--name", help="Your name for the rows, which names the ledger; by default the file's name."
)


@click.group()
@version_option
def main() -> None:
    """Train on rows that a curator holds, and publish a model that is differentially private.

    In a local survey nobody has to trust a curator: see ldp-survey. docs/central.md compares the promises.
    """


@main.command()
@click.argument("survey", type=INPUT_FILE)
@click.argument("rows", type=INPUT_FILE)
@click.option(
    "--epsilon",
    callback=amount_parser(MIN_ROW_EPSILON, Fraction(MAX_EPSILON)),
    metavar="NUMBER",
    required=True,
    help="What this training spends, for example 1.",
)
@click.option(
    "--delta",
    callback=amount_parser(Fraction(0), Fraction(1, 1000)),
    metavar="NUMBER",
    default="0",
    show_default=True,
    help="Only with --learner nb: the probability with which epsilon may fail. The noise is then Gaussian.",
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
    callback=amount_parser(MIN_ROW_EPSILON, Fraction(10_000)),
    metavar="TOTAL",
    help="The total epsilon that may be spent on these rows. By default it stays; at first it is --epsilon.",
)
@click.option(
    "--cap-delta",
    callback=amount_parser(Fraction(0), Fraction(1, 1000)),
    metavar="TOTAL",
    help="The total delta that may be spent on these rows. By default it stays; at first it is --delta, and "
    "at least 1e-9 for the tails of linear models.",
)
@_name_option
@click.option("--rows-changed", is_flag=True, help="The rows were edited since the last training.")
@multiline_option
@click.option("-o", "--output", type=OutputFile(), required=True, help="The model file to write.")
@click.option(
    "--csv",
    "csv_file",
    type=OutputFile(),
    help="With --learner nb: write all estimates as a table too (CSV). It spends nothing more.",
)
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
    cap_delta: Fraction | None,
    name: str | None,
    rows_changed: bool,
    multiline: bool,
    output: Path,
    csv_file: Path | None,
) -> None:
    """Train a model on ROWS (a .csv file) of SURVEY (a .toml file), and record what it spends.

    The ledger, ROWS.ledger or NAME.ledger beside ROWS, adds up what all trainings spend, and refuses one that
    exceeds --cap or --cap-delta. It also keeps the finished models: the same command again writes the same
    model, and spends nothing. Protect it like the rows. A training that fails or is killed has spent its
    epsilon.

    Errors may describe the rows. They are for you: do not publish them, nor that a training failed.
    """
    _check_outputs({"--output": output, "--csv": csv_file}, survey, rows)
    if csv_file and learner != NAIVE_BAYES:
        raise click.UsageError("--csv: only Naive Bayes has a table of estimates; add --learner nb")
    with print_errors():
        ledger_path, full_name = find_ledger(rows, name)
        promise = Promise(epsilon, delta, adjacency, rows_per_person)
        parsed = read_curator_survey(read_survey_text(survey))
    with _print_private_errors():
        data = read_curator_rows(parsed, rows, rows_per_person, person, multiline)
        training = CuratorTraining(data, promise, learner)
        terms = LedgerTerms(
            name=full_name,
            adjacency=adjacency,
            rows_per_person=rows_per_person,
            cap=cap,
            delta_cap=cap_delta,
            rows_changed=rows_changed,
        )
        model, ledger, is_repetition = train_once(ledger_path, terms, training.request, training.run)
    with print_errors():
        write_atomically(output, model)
        if csv_file:
            content = read_central_content(parse_content(model, str(output)), str(output))
            write_atomically(csv_file, dump_table(build_central_table(content)).encode())
    if is_repetition:
        click.echo(" ".join(_explain_repetition(training, terms, ledger)), err=True)
    written = f"{output} and {csv_file}" if csv_file else output
    click.echo(f"wrote {written}; {_format_spent(ledger)} ({ledger_path.name})")


def _explain_repetition(training: CuratorTraining, terms: LedgerTerms, ledger: Ledger) -> Iterator[str]:
    yield _REPEATED
    if all(entry.request != training.request for entry in ledger.entries):
        yield _OTHER_FORM
    if terms.cap not in (None, ledger.cap) or terms.delta_cap not in (None, ledger.delta_cap):
        yield _CAPS_IGNORED


@main.command()
@click.argument("rows", type=click.Path(dir_okay=False, path_type=Path))
@_name_option
def status(rows: Path, name: str | None) -> None:
    """Print what was spent on ROWS, of which totals, and by which trainings.

    Nothing is changed. What is printed is as secret as the rows. A training that is not finished still runs,
    or has failed: its amounts are spent.
    """
    with print_errors():
        path, _ = find_ledger(rows, name)
        ledger = read_ledger(path)
    if ledger is None:
        others = sorted(each.name for each in path.parent.glob(f"*{SUFFIX}"))
        found = "" if rows.exists() else f"there is no file {rows}, and "
        names = f"{', '.join(others)}; --name NAME chooses NAME{SUFFIX}" if others else "none"
        raise click.ClickException(f"{found}there is no ledger {path}. Ledgers in this folder: {names}")
    table = [["date (UTC)", "learner", "epsilon", "delta", "finished", "rows edited before"]]
    for entry, is_edited in zip(ledger.entries, ledger.edited, strict=True):
        learner = json.loads(entry.model)["learner"] if entry.model else "unknown"
        amounts = map(format_amount, (entry.request.epsilon, entry.request.delta))
        table.append(
            [entry.date, learner, *amounts, *("yes" if each else "no" for each in (entry.model, is_edited))]
        )
    click.echo(f"{path}: adjacency {ledger.adjacency}, rows per person at most {ledger.rows_per_person}")
    click.echo("\n".join([_format_spent(ledger), "", *format_table(table, "<<>><<")]))


def _check_outputs(outputs: dict[str, Path | None], survey: Path, rows: Path) -> None:
    """Raise UsageError if an output would replace an input or a ledger, which must never be lost."""
    require_distinct(outputs)
    for output in filter(None, outputs.values()):
        require_no_input(output, [survey, rows])
        if output.name.lower().endswith((SUFFIX, SUFFIX + LOCK_SUFFIX)):
            raise click.UsageError(
                f"{output}: only ledgers end in {SUFFIX} or {SUFFIX}{LOCK_SUFFIX}; give another output file"
            )


@contextmanager
def _print_private_errors() -> Iterator[None]:
    """Return a context that prints errors, and that they must not be published."""
    try:
        yield
    except (LdpError, OSError, UnicodeDecodeError) as error:
        raise click.ClickException(f"{error}\n{_PRIVATE}") from error


def _format_spent(ledger: Ledger) -> str:
    amounts = (ledger.spent, ledger.cap, ledger.spent_delta, ledger.delta_cap)
    epsilon, cap, delta, delta_cap = map(format_amount, amounts)
    return f"epsilon {epsilon} of {cap} and delta {delta} of {delta_cap} are spent"
