"""ldp-simulate: how well a survey would do on rows like these."""

from __future__ import annotations

import json
import sys
from decimal import Decimal, InvalidOperation
from pathlib import Path

import click

from encoders.errors import LdpError
from encoders.mechanisms import check_name
from encoders.survey import Survey, read_survey
from ldp_aggregator.csv_rows import read_rows
from ldp_aggregator.estimation import ESTIMATORS
from ldp_aggregator.plotting import plot_simulation
from ldp_aggregator.simulation import Simulation, simulate


def _epsilons(_context: click.Context, _parameter: click.Parameter, text: str) -> list[Decimal]:
    try:
        return [Decimal(part.strip()) for part in text.split(",")]
    except InvalidOperation:
        raise click.BadParameter("give numbers separated by commas, for example 0.5,1,2") from None


def _mechanisms(_context: click.Context, _parameter: click.Parameter, text: str) -> list[str]:
    names = [part.strip() for part in text.split(",")]
    try:
        return [check_name(name) for name in names]
    except LdpError as error:
        raise click.BadParameter(str(error)) from error


@click.command()
@click.argument("survey", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.argument("rows", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option("--epsilon", "epsilons", callback=_epsilons, required=True, help="As in 0.5,1,2")
@click.option("--mechanism", "mechanisms", callback=_mechanisms, default="auto", help="As in auto,DE,OUE")
@click.option("--estimator", type=click.Choice(list(ESTIMATORS)), default="default", show_default=True)
@click.option("--repeats", type=click.IntRange(min=1), default=10, show_default=True)
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True)
@click.option("--json", "as_json", is_flag=True, help="Print JSON instead of a table.")
@click.option("--plot", type=click.Path(dir_okay=False, path_type=Path), help="Draw a picture.")
def main(
    survey: Path,
    rows: Path,
    epsilons: list[Decimal],
    mechanisms: list[str],
    estimator: str,
    repeats: int,
    seed: int,
    as_json: bool,
    plot: Path | None,
) -> None:
    """Simulate SURVEY (a .toml file) on the labelled ROWS (a .csv file).

    Each repeat trains on the randomised reports of 80% of the rows and predicts the rest. Accuracies
    stand beside those of non-private Naive Bayes and of always guessing the most frequent label.
    """
    try:
        agreed = read_survey(survey.read_text("utf-8"))
        table = read_rows(rows, agreed.features)
        length = len(epsilons) * len(mechanisms) * repeats
        with click.progressbar(length=length, label="simulating", file=sys.stderr) as bar:
            result = simulate(
                agreed,
                table,
                epsilons=epsilons,
                mechanisms=mechanisms,
                estimator=estimator,
                repeats=repeats,
                seed=seed,
                progress=bar.update,
            )
        if plot:
            plot_simulation(result, plot, title=agreed.id)
    except (LdpError, OSError, UnicodeDecodeError) as error:
        raise click.ClickException(str(error)) from error
    click.echo(json.dumps(result.as_dict()) if as_json else _table(result, agreed))


def _table(result: Simulation, survey: Survey) -> str:
    width = max(len("mechanism"), *(len(row.mechanism) for row in result.rows))
    repeats, estimator = result.rows[0].repeats, result.rows[0].estimator
    lines = [f"{survey.id}: accuracy over {repeats} repeats, estimator {estimator}", ""]
    lines.append(f"{'epsilon':>8}  {'mechanism':<{width}}  accuracy  +- s.e.")
    lines += [
        f"{row.epsilon:>8g}  {row.mechanism:<{width}}  {row.accuracy:8.4f}  {row.stderr:.4f}"
        for row in result.rows
    ]
    lines += ["", f"non-private Naive Bayes {result.non_private:.4f}, majority class {result.majority:.4f}"]
    return "\n".join(lines)
