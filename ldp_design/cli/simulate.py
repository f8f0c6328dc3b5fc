"""ldp-simulate: simulates a survey on labelled rows, and prints the expected accuracy."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal
from pathlib import Path
from shlex import quote
from typing import Any

import click

from encoders.explain.text import Counted, wrap_text
from encoders.mechanisms import check_name
from encoders.progress import show_progress
from encoders.randomness import SystemEntropy
from encoders.survey import Survey, read_survey
from encoders.text_table import format_table
from ldp_aggregator.atomic_file import write_atomically
from ldp_aggregator.cli.error_messages import print_errors
from ldp_aggregator.cli.file_options import INPUT_FILE, OutputFile, require_distinct, require_no_input
from ldp_aggregator.cli.multiline_option import multiline_option
from ldp_aggregator.cli.version_option import version_option
from ldp_aggregator.estimation import ESTIMATORS
from ldp_aggregator.models.unlabelled_rows import MIN_ROWS
from ldp_aggregator.reports.archives.parser import SIMULATED_MARK
from ldp_aggregator.rows.csv_rows import read_typed_columns
from ldp_design.cli.option_values import list_parser, parse_epsilons
from ldp_design.simulation.plot import plot_simulation, require_plot
from ldp_design.simulation.reports import make_row_reports
from ldp_design.simulation.simulate import UNCOVERED_WARNING, Simulation, SimulationRow, simulate
from ldp_design.simulation.variants import (
    AS_AUTHORED,
    NO_PROJECTION,
    SimulationGrid,
    check_numeric,
    check_projection_name,
)


def _default_to_zero(_context: click.Context, _parameter: click.Parameter, count: int | None) -> int:
    """Return 0 if an option is not given; its type refuses 0 itself."""
    return count or 0


@click.command()
@click.argument("survey", type=INPUT_FILE)
@click.argument("rows", type=INPUT_FILE)
@click.option(
    "--epsilon",
    "epsilons",
    callback=parse_epsilons,
    help="Values, for example 0.5,1,2; by default the survey's epsilon.",
)
@click.option(
    "--mechanism",
    "mechanisms",
    callback=list_parser(check_name),
    default="auto",
    help="Frequency oracles, for example auto,DE,OUE.",
)
@click.option(
    "--numeric",
    callback=list_parser(check_numeric),
    default=AS_AUTHORED,
    help="How numbers are asked, for example survey,auto,sign,bins:4; by default as the survey is written.",
)
@click.option(
    "--project",
    "projections",
    callback=list_parser(check_projection_name),
    default=NO_PROJECTION,
    help="Projections, for example none,dca:1,pca:6,learned:1. DCA and PCA are fitted on the rows that "
    "report, which epsilon does NOT cover, unless --public-share gives them public rows. A learned "
    "projection uses randomised reports of a first round, which asks 70% of the people about numbers in 2 "
    "bins.",
)
@click.option(
    "--rounds",
    callback=list_parser(click.INT),
    default="1",
    help="Numbers of rounds, for example 1,3. Half of the people answer the first round; later rounds leave "
    "out uninformative features.",
)
@click.option(
    "--validate",
    is_flag=True,
    help="A fifth of the people validate the first round's model; it keeps the features with which it is "
    "most accurate.",
)
@click.option(
    "--public-share",
    type=click.FloatRange(0, 1, max_open=True),
    default=0.0,
    help="Share of the training rows that are public: projections are fitted on them; they do not report.",
)
@click.option(
    "--unlabelled-rows",
    "unlabelled",
    type=click.IntRange(min=MIN_ROWS),
    callback=_default_to_zero,
    help="Number of training rows that play rows without labels and do not report; each variant is also "
    "trained with them, on the same reports.",
)
@click.option(
    "--users",
    type=click.IntRange(min=1),
    callback=_default_to_zero,
    help="Number of people, drawn with replacement from the training rows; by default one per row.",
)
@click.option("--estimator", type=click.Choice(list(ESTIMATORS)), default="default", show_default=True)
@click.option("--repeats", type=click.IntRange(min=1), default=10, show_default=True)
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True)
@click.option("--json", "as_json", is_flag=True, help="Print JSON instead of a table.")
@click.option("--plot", type=OutputFile(), help="Write a plot of the accuracies to this file.")
@click.option(
    "--reports",
    "reports_file",
    type=OutputFile(),
    help="Write one randomised report of each row to this file too, under the survey as written, for "
    "ldp-train. The operating system's generator draws them; --seed does not apply. Only for rows that are "
    "made up or public: the report of a private row spends epsilon of its person.",
)
@multiline_option
@version_option
def main(
    survey: Path,
    rows: Path,
    epsilons: list[Decimal],
    mechanisms: list[str],
    numeric: list[str],
    projections: list[str],
    rounds: list[int],
    validate: bool,
    as_json: bool,
    plot: Path | None,
    reports_file: Path | None,
    multiline: bool,
    **options: Any,
) -> None:
    """Simulate SURVEY (a .toml file) on the labelled ROWS (a .csv file).

    Each repeat trains on the randomised reports of 80% of the rows and predicts the rest. The accuracies of
    the same model without privacy and of always guessing the most frequent label are printed too. With
    --json, each row also has the log loss and the expected calibration error of the predicted probabilities.

    The header of ROWS names the features and the label. An empty cell is a missing answer.
    """
    outputs = {"--plot": plot, "--reports": reports_file}
    require_distinct(outputs)
    for each in outputs.values():
        require_no_input(each, [survey, rows])
    with print_errors():
        if plot:
            require_plot(plot)
        parsed = read_survey(survey.read_text("utf-8"))
        columns = read_typed_columns(rows, parsed.entries, multiline=multiline)
        reports = _make_reports(parsed, columns) if reports_file else []
        grid = SimulationGrid(
            epsilons=epsilons or [parsed.epsilon],
            mechanisms=mechanisms,
            numeric=numeric,
            projections=projections,
            rounds=rounds,
            validate=validate,
        )
        length = len(grid) * options["repeats"]
        with show_progress("simulating", length, "trials") as progress:
            result = simulate(parsed, columns, grid, progress=progress.advance, **options)
        click.echo(
            json.dumps(result.as_dict()) if as_json else _format_table(result, parsed, options["users"])
        )
        if plot:
            plot_simulation(result, plot, title=parsed.id)
        if reports_file:
            write_atomically(reports_file, SIMULATED_MARK + b"".join(reports))
            click.echo(_describe_reports(len(reports), reports_file, survey), err=True)


def _make_reports(survey: Survey, columns: Mapping[str, Sequence[Any]]) -> list[bytes]:
    people = max(map(len, columns.values()), default=0)
    with show_progress("making reports", people, "reports") as progress:
        return make_row_reports(survey, columns, SystemEntropy(), progress.advance)


def _describe_reports(count: int, path: Path, survey: Path) -> str:
    train = f"ldp-train {quote(str(path))} --plan {quote(str(survey))} -o model.json --csv estimates.csv"
    return (
        f"wrote {path}: {Counted(count, 'report')}, one of each row; train on them:\n"
        f"  {train}\n"
        "ldp-train marks the model as simulated. But a single report is like that of a person: delete the\n"
        "file before the survey starts."
    )


_MARK = "*"
_COLUMNS: dict[str, Callable[[SimulationRow], str]] = {
    "epsilon": lambda row: f"{row.epsilon:g}",
    "mechanism": lambda row: row.mechanism,
    "numeric": lambda row: row.numeric,
    "projection": lambda row: row.projection,
    "rounds": lambda row: str(row.rounds),
    "unlabelled": lambda row: str(row.unlabelled),
    "accuracy": lambda row: f"{row.accuracy:.4f}",
    "+- s.e.": lambda row: f"{row.stderr:.4f}",
    "": lambda row: "" if row.beats_majority else _MARK,
    "gain +- s.e.": lambda row: f"{row.gain:+.4f} +- {row.gain_stderr:.4f}" if row.unlabelled else "",
    "fitted": lambda row: f"{row.fitted_share:.0%}" if row.unlabelled else "",
    "log loss": lambda row: f"{row.log_loss:.4f}",
    "calibration": lambda row: f"{row.calibration_error:.4f}",
    "balanced": lambda row: f"{row.balanced_accuracy:.4f}",
    "non-private": lambda row: f"{row.non_private:.4f}",
}
_ROWS_COLUMNS = {"unlabelled", "gain +- s.e.", "fitted", "log loss", "calibration"}
_TEXT_COLUMNS = {"mechanism", "numeric", "projection"}
_BALANCED = "balanced: the accuracy within each class, averaged over classes."
_LEGEND = (
    f"s.e.: standard error of the accuracy. {_BALANCED} non-private: the accuracy of the same model without "
    "privacy."
)
_ROWS_LEGEND = (
    "unlabelled: the number of rows without labels that the model got; 0 is Naive Bayes of the same reports. "
    "s.e.: standard error. gain: the difference of the accuracies. fitted: the share of the repeats in which "
    "the reports supported a fit to the rows; in the others the model is Naive Bayes. calibration: the "
    f"expected calibration error. {_BALANCED} non-private: the accuracy of Naive Bayes without privacy."
)


def _format_table(result: Simulation, survey: Survey, users: int) -> str:
    """Return a table of the rows; columns with the default in every row are left out."""
    first = result.rows[0]
    hidden = set()
    if {(row.numeric, row.projection) for row in result.rows} == {(AS_AUTHORED, NO_PROJECTION)}:
        hidden = {"numeric", "projection"}
    if {row.rounds for row in result.rows} == {1}:
        hidden.add("rounds")
    with_rows = any(row.unlabelled for row in result.rows)
    if not with_rows:
        hidden |= _ROWS_COLUMNS
    if all(row.beats_majority for row in result.rows):
        hidden.add("")
    columns = {name: cell for name, cell in _COLUMNS.items() if name not in hidden}
    cells = [list(columns), *([cell(row) for cell in columns.values()] for row in result.rows)]
    people = f", {users:,} people" if users else ""
    lines = [f"{survey.id}: accuracy over {first.repeats} repeats{people}, estimator {first.estimator}"]
    lines += ["a fifth of the people validate the first round's model", ""] if first.validated else [""]
    lines += format_table(cells, "".join("<" if name in _TEXT_COLUMNS else ">" for name in columns))
    lines += ["", *wrap_text(_ROWS_LEGEND if with_rows else _LEGEND)]
    if "" in columns:
        lines += wrap_text(
            f"{_MARK} not better than always predicting {result.majority_class!r}: the accuracy is not more "
            "than two standard errors above that of the majority class."
        )
    if result.uncovered:
        lines += ["", UNCOVERED_WARNING]
    majority = f"majority class {result.majority:.4f} (always predicting {result.majority_class!r})"
    return "\n".join([*lines, "", majority])
