"""ldp-audit central: the command that audits trainings by a curator."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path

import click

from encoders import __version__
from encoders.errors import LdpError
from encoders.progress import show_progress
from encoders.survey.survey import Survey
from encoders.survey.toml_reader import read_curator_survey
from ldp_audit.central import AUDITED, audit_trainings
from ldp_audit.outcomes import LEAST_TRIALS, MeasuredLeak, format_leaks


@click.command()
@click.argument("survey", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option(
    "--epsilon",
    type=click.FloatRange(0.01, 100),
    default=1.0,
    show_default=True,
    help="What each training spends.",
)
@click.option(
    "--trials",
    type=click.IntRange(LEAST_TRIALS),
    default=2000,
    show_default=True,
    help="Number of trainings of each learner on each of two data sets.",
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON instead of a table.")
@click.version_option(__version__, message="%(prog)s %(version)s")
@click.pass_context
def audit_central(context: click.Context, survey: Path, epsilon: float, trials: int, as_json: bool) -> None:
    """Audit trainings by a curator with the features and labels of SURVEY (a .toml file).

    Trains each learner of ldp-central many times on two sets of made-up rows that differ by one row, and
    bounds from below what the models reveal about it. No real rows are read. Exits with 1 if a bound is above
    epsilon, with 2 if the survey cannot be audited. A bound below epsilon proves nothing: docs/central.md.
    """
    try:
        parsed = _read(survey)
        with show_progress("auditing", trials * len(AUDITED), "trials") as progress:
            leaks = audit_trainings(parsed, Fraction(str(epsilon)), trials, advance=progress.advance)
    except LdpError as error:
        click.echo(f"Error: {error}", err=True)
        context.exit(2)
    passed = all(leak.passed for leak in leaks)
    if as_json:
        learners = [{"learner": leak.name, "epsilon": str(leak.epsilon)} | leak.as_dict() for leak in leaks]
        click.echo(json.dumps({"passed": passed, "learners": learners}))
    else:
        click.echo(_render(leaks))
    if not passed:
        context.exit(1)


def _read(path: Path) -> Survey:
    try:
        return read_curator_survey(path.read_bytes().decode("utf-8-sig"))
    except UnicodeDecodeError as error:
        raise LdpError(f"{path}: is not UTF-8 text") from error
    except LdpError as error:
        raise LdpError(f"{path.name}: {error}") from error


def _render(leaks: list[MeasuredLeak]) -> str:
    result = "passed" if all(leak.passed for leak in leaks) else "FAILED"
    return "\n".join([*format_leaks("learner", leaks), f"central audit {result}"])
