"""ldp-audit: the command that audits whether the messages of a device reveal at most epsilon."""

from __future__ import annotations

import json
from typing import Any, TextIO

import click

from encoders import __version__
from encoders.errors import LdpError
from encoders.progress import show_progress
from encoders.survey import Plan
from encoders.survey.plan_checks import CENTRAL, SILO
from ldp_audit.audit import audit, list_stages
from ldp_audit.render import render_html, render_text
from ldp_audit.result import AuditResult
from ldp_audit.served_surveys import describe_served_surveys
from ldp_client import load_plan

TIMED_REPORTS = 20_000
"""Timed reports of each person."""


class _AuditCommand(click.Command):
    """The command; its first argument "central" or "silo" runs the audit of trainings or of silos instead."""

    def make_context(
        self,
        info_name: str | None,
        args: list[str],
        parent: click.Context | None = None,
        **extra: Any,
    ) -> click.Context:
        """Return the context of the command that the arguments name."""
        if args[:1] == [CENTRAL]:
            from ldp_audit.central_cli import audit_central

            return audit_central.make_context(f"{info_name} {CENTRAL}", args[1:], parent, **extra)
        if args[:1] == [SILO]:
            from ldp_audit.silo_cli import audit_silo_command

            return audit_silo_command.make_context(f"{info_name} {SILO}", args[1:], parent, **extra)
        return super().make_context(info_name, args, parent, **extra)

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command of the context."""
        return super().invoke(ctx) if ctx.command is self else ctx.command.invoke(ctx)


@click.command(cls=_AuditCommand)
@click.argument("survey")
@click.option(
    "--trials",
    type=click.IntRange(1000),
    default=20_000,
    show_default=True,
    help="Number of messages of each made-up person, for each question and for the whole survey.",
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON instead of tables.")
@click.option(
    "--html", "page", type=click.File("w", "utf-8", lazy=False), help="Also write an HTML page to this file."
)
@click.version_option(__version__, message="%(prog)s %(version)s")
@click.pass_context
def main(context: click.Context, survey: str, trials: int, as_json: bool, page: TextIO | None) -> None:
    """Audit SURVEY: a .toml file, a compiled plan, or a survey's URL at a collector.

    Proves that each question's tables keep epsilon. Makes up people with the lowest, middle and highest
    values of the survey, makes their reports with the installed client, and checks these reports and the
    requests of Client.report. Nothing is sent. Warns of people who cannot answer the survey. Exits with 1 if
    a check fails, with 2 if the survey or the client cannot be audited.

    ldp-audit central SURVEY audits trainings by a curator instead, and ldp-audit silo SURVEY the messages of
    organisations: see ldp-audit central --help and ldp-audit silo --help.
    """
    try:
        result = _audit(load_plan(survey), trials)
    except LdpError as error:
        click.echo(f"Error: {error}{describe_served_surveys(survey, error)}", err=True)
        context.exit(2)
    click.echo(json.dumps(result.as_dict(), allow_nan=False) if as_json else render_text(result))
    if page:
        page.write(render_html(result))
    if not result.passed:
        context.exit(1)


def _audit(plan: Plan, trials: int) -> AuditResult:
    stages = list_stages(plan, TIMED_REPORTS)
    with show_progress("auditing", len(stages), "stages") as progress:

        def begin(stage: str) -> None:
            progress.begin_stage(stage, done=stages.index(stage))

        result = audit(plan, trials, timed=TIMED_REPORTS, progress=begin)
        progress.advance()
        return result
