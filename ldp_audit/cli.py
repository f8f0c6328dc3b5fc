"""ldp-audit: hold what leaves a device against epsilon."""

from __future__ import annotations

import json
from typing import TextIO

import click

from encoders.errors import LdpError
from ldp_audit.audit import audit
from ldp_audit.render import as_html, as_text
from ldp_client import load_plan

TIMED = 20_000
"""Timed reports of each person."""


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
@click.option(
    "--html", "page", type=click.File("w", "utf-8", lazy=False), help="Write a page for a browser too."
)
@click.pass_context
def main(context: click.Context, survey: str, trials: int, as_json: bool, page: TextIO | None) -> None:
    """Audit SURVEY: a .toml file, a compiled plan, or a survey's URL at a collector.

    Proves each question's tables, makes up people at the ends of what the survey allows and in its middle,
    lets this installation's client answer for them, and looks at their reports and at the requests of
    Client.report only. Nothing is sent anywhere. Warns of people who cannot answer the survey. Exits with 1
    if anything is wrong, with 2 if there is nothing to audit.
    """
    try:
        found = audit(load_plan(survey), trials, timed=TIMED, progress=_say)
    except LdpError as error:
        click.echo(f"Error: {error}", err=True)
        context.exit(2)
    click.echo(json.dumps(found.as_dict(), allow_nan=False) if as_json else as_text(found))
    if page:
        page.write(as_html(found))
    if not found.passed:
        context.exit(1)


def _say(text: str) -> None:
    click.echo(f"{text} ...", err=True)
