"""ldp-audit: hold what leaves a device against epsilon."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import click

from encoders.errors import LdpError
from ldp_audit.audit import audit
from ldp_audit.pages import as_html, as_text
from ldp_client import load_plan

TIMED = 20_000
"""Timed reports of each person: fewer would tell noise from a difference of 2 % too seldom."""

_OUTPUT = click.Path(dir_okay=False, path_type=Path)


@click.command()
@click.argument("survey")
@click.option(
    "--trials",
    type=click.IntRange(1000),
    default=20_000,
    show_default=True,
    help="Messages of each made-up person, for each question and for the survey as it is.",
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON instead of tables.")
@click.option("--html", "page", type=_OUTPUT, help="Write a page for a browser too.")
@click.pass_context
def main(context: click.Context, survey: str, trials: int, as_json: bool, page: Path | None) -> None:
    """Audit SURVEY: a .toml file, a compiled plan, or a survey's URL at a collector.

    Proves each question's tables, makes up people as different as the survey allows, lets this
    installation's client answer for them, and looks at the bytes only. Nothing is sent anywhere.
    Exits with 1 if anything is wrong.
    """
    try:
        found = audit(load_plan(survey), trials, timed=TIMED, progress=_say)
        if page:
            page.write_text(as_html(found), "utf-8")
    except (LdpError, OSError) as error:
        raise click.ClickException(str(error)) from error
    click.echo(json.dumps(found.as_dict()) if as_json else as_text(found))
    if not found.passed:
        sys.stdout.flush()
        context.exit(1)


def _say(text: str) -> None:
    click.echo(f"{text} ...", err=True)
