"""ldp-survey check: prints the mistakes in a survey, or an overview of it, as text or as JSON."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import click

from encoders.errors import SurveyError
from encoders.explain.text import Counted
from encoders.survey import Survey
from encoders.survey.any_survey import load_checked_file
from encoders.survey.silo_plan import SiloPlan
from ldp_aggregator.cli.help import Command, argument, option
from ldp_design.authoring.central_overview import format_central_overview
from ldp_design.authoring.check_result import describe_any_plan, describe_mistakes, describe_unreadable
from ldp_design.authoring.overview import format_overview
from ldp_design.authoring.silo_overview import format_silo_overview


class _CheckedFile(click.Path):
    """A file to check; with --json, the error that it cannot be opened is JSON too."""

    def __init__(self) -> None:
        super().__init__(exists=True, dir_okay=False, path_type=Path)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        try:
            return super().convert(value, param, ctx)
        except click.BadParameter as error:
            if ctx is None or not ctx.params.get("as_json"):
                raise
            click.echo(json.dumps(describe_unreadable(Path(value).name, error.message)))
            raise click.exceptions.Exit(error.exit_code) from error


@click.command(cls=Command)
@argument("survey", type=_CheckedFile(), help="A survey, as a TOML file or a compiled plan.")
@option(
    "--json",
    "as_json",
    is_flag=True,
    is_eager=True,  # known when SURVEY is read
    help="Print the overview or the mistakes as JSON.",
)
def check(survey: Path, as_json: bool) -> None:
    """Print the mistakes in SURVEY, or an overview of it.

    Each mistake is printed with its line and field. The overview shows what the survey asks for, and how much
    noise protects the answers. The exit code is 1 if there is a mistake, and 2 if the file cannot be opened.

    $ ldp-survey check survey.toml
    $ ldp-survey check survey.toml --json
    """
    try:
        plan = load_checked_file(survey)
    except SurveyError as error:
        count = len(error.problems)
        if as_json:
            click.echo(json.dumps(describe_mistakes(error)))
        else:
            click.echo(f"{error}\n{Counted(count, 'mistake')}", err=True)
        raise click.exceptions.Exit(1) from error
    if as_json:
        click.echo(json.dumps(describe_any_plan(plan, survey.name, survey.read_text("utf-8-sig"))))
    elif isinstance(plan, Survey):
        click.echo(format_central_overview(plan))
    elif isinstance(plan, SiloPlan):
        click.echo(format_silo_overview(plan))
    else:
        click.echo(format_overview(plan))
