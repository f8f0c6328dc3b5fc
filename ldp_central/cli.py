"""ldp-central: trains a model on rows that a curator holds, under differential privacy."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from fractions import Fraction
from pathlib import Path

import click

from encoders.explain.text import format_table
from encoders.extras import EXPECTED_ERRORS, describe_error
from encoders.survey.any_survey import read_survey_file
from encoders.survey.toml_reader import read_curator_survey
from ldp_aggregator.atomic_file import write_atomically
from ldp_aggregator.cli.file_options import (
    INPUT_FILE,
    Count,
    OutputFile,
    amount_parser,
    print_notes,
    require_distinct,
)
from ldp_aggregator.cli.help import Group, advanced_option, argument, multiline_option, option, version_option
from ldp_aggregator.prediction import NAIVE_BAYES
from ldp_aggregator.privacy_statement import ADD_REMOVE, MAX_CURATOR_EPSILON, REPLACE
from ldp_aggregator.results_file import parse_results
from ldp_aggregator.views.estimate_rows import build_table, dump_table
from ldp_aggregator.wording.values import format_amount
from ldp_central.curator_ledger import Ledger
from ldp_central.curator_training import CuratorTraining, read_curator_rows
from ldp_central.learner import AUTO, LEARNERS, require_learner
from ldp_central.ledger_file import LOCK_SUFFIX, SUFFIX, LedgerTerms, find_ledger, read_ledger, train_once
from ldp_central.promise import MIN_ROW_EPSILON, Promise

_PRIVATE = "This error may depend on the rows: do not publish it, nor that the training failed."
_REPEATED = "This training was finished before, so its model is written again, and nothing more is spent."
_OTHER_FORM = "The rows are the same, in another order or form."
_CAPS_IGNORED = "--cap and --cap-delta are ignored, because a repetition does not change the totals."
_name_option = advanced_option(
    "--name", show_default="the name of ROWS", help="Your name for the rows. The ledger is NAME.ledger."
)


@click.group(cls=Group)
@version_option
def main() -> None:
    """Train on rows that a curator holds, and publish a model that is differentially private.

    People have to trust the curator with their answers. A local survey needs no such trust: see ldp-survey.
    docs/central.md compares the two.

    $ ldp-central train survey.toml rows.csv --epsilon 1 -o model.json
    $ ldp-central status rows.csv
    """


@main.command()
@argument("survey", type=INPUT_FILE, help="The survey, a TOML file with the features and, if any, the label.")
@argument("rows", type=INPUT_FILE, help="The rows that the curator holds, a CSV file with a header.")
@option("-o", "--output", type=OutputFile(), required=True, help="The model file to write.")
@option(
    "--epsilon",
    callback=amount_parser(MIN_ROW_EPSILON, Fraction(MAX_CURATOR_EPSILON)),
    metavar="NUMBER",
    required=True,
    help="The epsilon that this training spends, for example 1.",
)
@option(
    "--learner",
    type=click.Choice(LEARNERS),
    default=AUTO,
    help="The kind of model; auto chooses one by the survey, epsilon and the number of rows. A survey "
    "without a label has tables only (nb).",
)
@option("--person", metavar="COLUMN", help="The column that identifies people, to check --rows-per-person.")
@option("--rows-per-person", type=Count(1), default=1, help="The most rows that one person has.")
@option(
    "--csv",
    "csv_file",
    type=OutputFile(),
    help="Write all estimates to this CSV file, too (only with --learner nb). This spends nothing more.",
)
@advanced_option(
    "--adjacency",
    type=click.Choice([ADD_REMOVE, REPLACE]),
    default=ADD_REMOVE,
    help="What epsilon hides: whether a person is in the rows (add-remove), or what the person's rows "
    "contain (replace).",
)
@advanced_option(
    "--delta",
    callback=amount_parser(Fraction(0), Fraction(1, 1000)),
    metavar="NUMBER",
    default="0",
    help="The probability with which epsilon may fail (only with --learner nb). If it is above 0, the noise "
    "is Gaussian.",
)
@advanced_option(
    "--cap",
    callback=amount_parser(MIN_ROW_EPSILON, Fraction(10_000)),
    metavar="TOTAL",
    show_default="the ledger's cap; for a new ledger --epsilon",
    help="The total epsilon that all trainings may spend on these rows.",
)
@advanced_option(
    "--cap-delta",
    callback=amount_parser(Fraction(0), Fraction(1, 1000)),
    metavar="TOTAL",
    show_default="the ledger's cap; for a new ledger --delta, and at least 1e-9 for linear models",
    help="The total delta that all trainings may spend on these rows.",
)
@_name_option
@advanced_option(
    "--rows-changed", is_flag=True, help="Confirm that the rows were edited since the last training."
)
@multiline_option
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
    """Train a model on ROWS, and record in a ledger what it spends.

    The ledger is a file beside ROWS, ROWS.ledger or NAME.ledger. It adds up what all trainings spend, and a
    training that would exceed --cap or --cap-delta is refused. The ledger also keeps the finished models, so
    the same command again writes the same model and spends nothing. Protect it like the rows. A training
    that fails or is killed has spent its epsilon.

    Errors may describe the rows. They are for you: do not publish them, nor that a training failed.

    $ ldp-central train survey.toml rows.csv --epsilon 1 -o model.json
    $ ldp-central train survey.toml rows.csv --epsilon .5 --cap 2 --learner nb --csv estimates.csv -o nb.json
    $ ldp-central train survey.toml visits.csv --epsilon 1 --person patient --rows-per-person 4 -o model.json
    """
    _check_outputs({"--output": output, "--csv": csv_file}, survey, rows)
    ledger_path, full_name = find_ledger(rows, name)
    promise = Promise(epsilon, delta, adjacency, rows_per_person)
    parsed = read_survey_file(survey, read_curator_survey)
    learner = require_learner(learner, len(parsed.label.values))
    if csv_file and learner != NAIVE_BAYES:
        raise click.UsageError("--csv: only Naive Bayes has a table of estimates; add --learner nb")
    with _print_private_errors():
        data = read_curator_rows(parsed, rows, rows_per_person, person, multiline)
        print_notes(data.notes)
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
    _write_files(model, output, csv_file)
    if is_repetition:
        click.echo(" ".join(_explain_repetition(training, terms, ledger)), err=True)
    written = f"{output} and {csv_file}" if csv_file else output
    click.echo(f"wrote {written}; {_format_spent(ledger)} ({ledger_path.name})")


def _write_files(model: bytes, output: Path, csv_file: Path | None) -> None:
    write_atomically(output, model)
    if csv_file:
        results = parse_results(model, str(output))
        write_atomically(csv_file, dump_table(build_table(results.estimates, results.plan)).encode())


def _explain_repetition(training: CuratorTraining, terms: LedgerTerms, ledger: Ledger) -> Iterator[str]:
    yield _REPEATED
    if all(entry.request != training.request for entry in ledger.entries):
        yield _OTHER_FORM
    if terms.cap not in (None, ledger.cap) or terms.delta_cap not in (None, ledger.delta_cap):
        yield _CAPS_IGNORED


@main.command()
@argument("rows", type=click.Path(dir_okay=False, path_type=Path), help="The file of rows; it is not read.")
@_name_option
def status(rows: Path, name: str | None) -> None:
    """Print what was spent on ROWS, the caps, and all trainings.

    Nothing is changed. The output is as secret as the rows. A training that is not finished is still running
    or has failed: in both cases its epsilon is spent.

    $ ldp-central status rows.csv
    """
    path, _ = find_ledger(rows, name)
    ledger = read_ledger(path)
    if ledger is None:
        others = sorted(each.name for each in path.parent.glob(f"*{SUFFIX}"))
        found = "" if rows.exists() else f"there is no file {rows}, and "
        names = f"{', '.join(others)}; --name NAME chooses NAME{SUFFIX}" if others else "none"
        raise click.ClickException(f"{found}there is no ledger {path}. Ledgers in this folder: {names}")
    table = [["date (UTC)", "learner", "epsilon", "delta", "finished", "rows edited before"]]
    for entry, is_edited in zip(ledger.entries, ledger.edited, strict=True):
        learner = json.loads(entry.model)["classifier"]["kind"] if entry.model else "unknown"
        amounts = map(format_amount, (entry.request.epsilon, entry.request.delta))
        table.append(
            [entry.date, learner, *amounts, *("yes" if each else "no" for each in (entry.model, is_edited))]
        )
    click.echo(f"{path}: adjacency {ledger.adjacency}, rows per person at most {ledger.rows_per_person}")
    click.echo("\n".join([_format_spent(ledger), "", *format_table(table, "<<>><<")]))


def _check_outputs(outputs: dict[str, Path | None], survey: Path, rows: Path) -> None:
    """Raise UsageError if an output would replace an input or a ledger, which must never be lost."""
    require_distinct(outputs, [survey, rows])
    for output in filter(None, outputs.values()):
        if output.name.lower().endswith((SUFFIX, SUFFIX + LOCK_SUFFIX)):
            raise click.UsageError(
                f"{output}: only ledgers end in {SUFFIX} or {SUFFIX}{LOCK_SUFFIX}; give another output file"
            )


@contextmanager
def _print_private_errors() -> Iterator[None]:
    """Return a context that prints errors, and that they must not be published."""
    try:
        yield
    except EXPECTED_ERRORS as error:
        raise click.ClickException(f"{describe_error(error)}\n{_PRIVATE}") from error


def _format_spent(ledger: Ledger) -> str:
    amounts = (ledger.spent, ledger.cap, ledger.spent_delta, ledger.delta_cap)
    epsilon, cap, delta, delta_cap = map(format_amount, amounts)
    return f"epsilon {epsilon} of {cap} and delta {delta} of {delta_cap} are spent"
