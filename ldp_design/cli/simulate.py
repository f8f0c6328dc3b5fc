"""ldp-simulate: simulates a survey on rows, and prints the expected accuracy, or the errors of shares."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal
from functools import partial
from pathlib import Path
from shlex import quote
from typing import Any

import click
from click.core import ParameterSource

from encoders.explain.text import Counted, format_table, wrap_text
from encoders.mechanisms import check_name
from encoders.progress import show_progress
from encoders.randomness import SystemEntropy
from encoders.survey import Survey, read_survey
from encoders.survey.any_survey import read_survey_file
from ldp_aggregator.atomic_file import write_atomically
from ldp_aggregator.cli.file_options import INPUT_FILE, Count, OutputFile, read_rows, require_distinct
from ldp_aggregator.cli.help import (
    Command,
    advanced_option,
    argument,
    multiline_option,
    option,
    version_option,
)
from ldp_aggregator.codec import to_json
from ldp_aggregator.estimation import ESTIMATORS
from ldp_aggregator.reports.archives.parser import SIMULATED_MARK
from ldp_aggregator.wording.values import NumberMargin, ShareMargin, count_people
from ldp_design.cli.option_values import epsilons_option, list_parser
from ldp_design.simulation import TEXTS
from ldp_design.simulation.accuracies import UNCOVERED_WARNING, Simulation, SimulationRow, simulate
from ldp_design.simulation.plot import plot_simulation, require_plot
from ldp_design.simulation.reports import make_row_reports
from ldp_design.simulation.shares import ShareErrors, simulate_shares
from ldp_design.simulation.variants import (
    AS_AUTHORED,
    NO_PROJECTION,
    SimulationGrid,
    check_numeric,
    check_projection_name,
)
from ldp_design.sizing.simulated_series import simulate_waves


def _default_to_zero(_context: click.Context, _parameter: click.Parameter, count: int | None) -> int:
    return count or 0


@click.command(cls=Command)
@argument("survey", type=INPUT_FILE, help="The survey, a TOML file.")
@argument(
    "rows",
    type=INPUT_FILE,
    help="Rows with the label, if the survey has one; a CSV file with a header. An empty cell is a missing "
    "answer.",
)
@epsilons_option
@option(
    "--users",
    type=Count(min=1),
    callback=_default_to_zero,
    show_default="one for each training row",
    help="The number of people, drawn with replacement from the training rows.",
)
@option(
    "--waves",
    metavar="COLUMN",
    help="The column that names each row's wave, for example 2027-03. Prints errors of levels, changes, "
    "slopes. Each row is a person whose device drew this wave. If the file has a row of each person in each "
    "wave, also give --users.",
)
@option("--repeats", type=Count(min=1), default=10, help="How often the survey is simulated.")
@option("--json", "as_json", is_flag=True, help="Print JSON instead of a table.")
@option("--plot", type=OutputFile(), help="Write a plot of the accuracies to this file.")
@advanced_option(
    "--mechanism",
    "mechanisms",
    metavar="NAME,...",
    callback=list_parser(check_name),
    default="auto",
    help="The frequency oracles to compare, for example auto,DE,OUE.",
)
@advanced_option(
    "--numeric",
    metavar="NAME,...",
    callback=list_parser(check_numeric),
    default=AS_AUTHORED,
    help="How numbers are asked, for example survey,auto,sign,bins:4. The value survey means: as the survey "
    "is written.",
)
@advanced_option(
    "--project",
    "projections",
    metavar="NAME,...",
    callback=list_parser(check_projection_name),
    default=NO_PROJECTION,
    help="Projections of the numbers, for example none,dca:1,pca:6. They are fitted to the rows that report, "
    "which epsilon does NOT cover, unless --public-share gives them public rows.",
)
@advanced_option(
    "--validate",
    is_flag=True,
    help="Let a fifth of the people validate the model of the others, which then keeps the features with "
    "which it is most accurate.",
)
@advanced_option(
    "--public-share",
    type=click.FloatRange(0, 1, max_open=True),
    metavar="SHARE",
    default=0.0,
    help="The share of the training rows that are public. Projections are fitted to these rows, which do not "
    "report.",
)
@advanced_option(
    "--estimator", type=click.Choice(list(ESTIMATORS)), default="default", help="How shares are estimated."
)
@advanced_option("--seed", type=click.IntRange(min=0), default=0, help="The seed of the simulation.")
@advanced_option(
    "--reports",
    "reports_file",
    type=OutputFile(),
    help="Also write one randomised report of each row to this file, for ldp-train. The reports answer the "
    "survey as it is written. The operating system's generator draws them, so --seed does not apply. Use "
    "this only for made-up or public rows: the report of a private row spends its person's epsilon.",
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
    validate: bool,
    as_json: bool,
    plot: Path | None,
    reports_file: Path | None,
    multiline: bool,
    waves: str | None,
    **options: Any,
) -> None:
    """Simulate SURVEY on ROWS, and print the accuracy to expect.

    Each repeat trains on the randomised reports of 80% of the rows and predicts the rest. For comparison, the
    command also prints the accuracy of the same model without privacy, and the accuracy of always predicting
    the most frequent class. With --json, it adds the log loss and the expected calibration error of the
    predicted probabilities.

    If the survey has no label, the command prints the errors of the shares and means instead. All rows are
    then the population, from which the people of each repeat are drawn with replacement.

    $ ldp-simulate survey.toml rows.csv
    $ ldp-simulate survey.toml rows.csv --epsilon 0.5,1,2 --users 2000 --plot accuracy.png
    $ ldp-simulate survey.toml rows.csv --mechanism DE,OUE --json
    $ ldp-simulate monthly.toml rows.csv --waves month
    """
    outputs = {"--plot": plot, "--reports": reports_file}
    require_distinct(outputs, [survey, rows])
    if plot:
        require_plot(plot)
    parsed = read_survey_file(survey, read_survey)
    columns = read_rows(rows, parsed.entries, multiline)
    reports = _make_reports(parsed, columns) if reports_file else []
    if not waves:
        parsed = parsed.of_one_wave()  # the archive has reports of all waves
    grid = SimulationGrid(
        epsilons=epsilons or [parsed.epsilon],
        mechanisms=mechanisms,
        numeric=numeric,
        projections=projections,
        validate=validate,
    )
    if waves or not parsed.label.exists:
        click.echo(_simulate_shares(parsed, columns, grid, options, as_json, waves))
    else:
        with show_progress("simulating", len(grid) * options["repeats"], "trials") as progress:
            result = simulate(parsed, columns, grid, progress=progress.advance, **options)
        click.echo(json.dumps(result.as_dict()) if as_json else _format_table(result, parsed, options))
        if plot:
            plot_simulation(result, plot, title=parsed.id)
    if reports_file:
        write_atomically(reports_file, SIMULATED_MARK + b"".join(reports))
        click.echo(_describe_reports(len(reports), reports_file, survey, parsed.asks_all), err=True)


def _make_reports(survey: Survey, columns: Mapping[str, Sequence[Any]]) -> list[bytes]:
    people = max(map(len, columns.values()), default=0)
    with show_progress("making reports", people, "reports") as progress:
        return make_row_reports(survey, columns, SystemEntropy(), progress.advance)


def _describe_reports(count: int, path: Path, survey: Path, asks_all: bool) -> str:
    train = f"ldp-train {quote(str(path))} --plan {quote(str(survey))} -o model.json --csv estimates.csv"
    return (
        f"wrote {path}: {Counted(count, 'report')}, {'all' if asks_all else 'one'} for each row. "
        "To estimate from them:\n"
        f"  {train}\n"
        "ldp-train marks the model as simulated. Delete the file before the survey starts, because the\n"
        "reports in it look like those of people."
    )


_COLUMNS: dict[str, Callable[[SimulationRow], str]] = {
    "epsilon": lambda row: f"{row.epsilon:g}",
    "mechanism": lambda row: row.mechanism,
    "numeric": lambda row: row.numeric,
    "projection": lambda row: row.projection,
    "accuracy": lambda row: f"{row.accuracy:.4f}",
    "+- s.e.": lambda row: f"{row.stderr:.4f}",
    "": lambda row: "" if row.beats_majority else "*",
    "balanced": lambda row: f"{row.balanced_accuracy:.4f}",
    "non-private": lambda row: f"{row.non_private:.4f}",
}
_TEXT_COLUMNS = {"mechanism", "numeric", "projection"}
_MODEL_OPTIONS = ("plot", "projections", "validate", "public_share", "estimator")


def _simulate_shares(
    survey: Survey,
    columns: Mapping[str, Any],
    grid: SimulationGrid,
    options: Mapping[str, Any],
    as_json: bool,
    waves: str | None,
) -> str:
    context = click.get_current_context()
    flags, source = {each.name: each.opts[0] for each in context.command.params}, context.get_parameter_source
    if given := [flags[each] for each in _MODEL_OPTIONS if source(each) != ParameterSource.DEFAULT]:
        raise click.UsageError(f"no label is predicted: leave {', '.join(given)} out")
    variants = grid.list_variants(survey, "default")
    counts = {name: options[name] for name in ("repeats", "seed", "users")}
    with show_progress("simulating", len(variants) * options["repeats"], "trials") as progress:
        run = partial(simulate_waves, column=waves) if waves else simulate_shares
        rows = list(run(survey, columns, variants=variants, **counts, progress=progress.advance))
    return json.dumps(to_json(rows)) if as_json else _format_shares(rows, survey, counts)


def _format_shares(rows: Sequence[ShareErrors], survey: Survey, options: Mapping[str, int]) -> str:
    cells = [["epsilon", "mechanism", "numeric", "feature", "", "error", "margin", "covered"]]
    for row in rows:
        write: Callable[[float], object] = NumberMargin if row.estimate.startswith("mean") else ShareMargin
        if row.estimate.startswith("share") and row.estimate.endswith("slope"):
            write = "{:.2%}".format
        errors = [str(write(row.error)), str(write(row.margin)), f"{row.coverage:.0%}"]
        cells.append([f"{row.epsilon:g}", row.mechanism, row.numeric, row.feature, row.estimate, *errors])
    people = f" of {count_people(options['users'])}" if options["users"] else ""
    lines = [f"{survey.id}: errors over {Counted(options['repeats'], 'repeat')}{people}", ""]
    return "\n".join(
        [*lines, *format_table(cells, "><<<<>>>"), "", *wrap_text(TEXTS.write("simulation.shares"))]
    )


def _format_table(result: Simulation, survey: Survey, options: Mapping[str, int]) -> str:
    """Return a table of the rows; columns with the default in every row are left out."""
    first = result.rows[0]
    hidden = set()
    if {(row.numeric, row.projection) for row in result.rows} == {(AS_AUTHORED, NO_PROJECTION)}:
        hidden = {"numeric", "projection"}
    if all(row.beats_majority for row in result.rows):
        hidden.add("")
    columns = {name: cell for name, cell in _COLUMNS.items() if name not in hidden}
    cells = [list(columns), *([cell(row) for cell in columns.values()] for row in result.rows)]
    people = f", {options['users']:,} people" if options["users"] else ""
    lines = [f"{survey.id}: accuracy over {first.repeats} repeats{people}, estimator {first.estimator}"]
    lines += ["a fifth of the people validate the model of the others", ""] if first.validated else [""]
    lines += format_table(cells, "".join("<" if name in _TEXT_COLUMNS else ">" for name in columns))
    lines += ["", *wrap_text(TEXTS.write("simulation.legend"))]
    if "" in columns:
        lines += wrap_text(TEXTS.write("simulation.mark", majority=repr(result.majority_class)))
    if result.uncovered:
        lines += ["", UNCOVERED_WARNING]
    majority = f"majority class {result.majority:.4f} (always predicting {result.majority_class!r})"
    return "\n".join([*lines, "", majority])
