"""ldp-audit: audits whether a device, trainings by a curator, or messages of silos reveal at most epsilon."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from fractions import Fraction
from pathlib import Path
from typing import Any, NoReturn

import click

from encoders.errors import LdpError
from encoders.progress import show_progress
from encoders.survey import Plan, Survey
from encoders.survey.plan_checks import CENTRAL, SILO
from encoders.survey.plan_files import read_survey_text
from encoders.survey.toml_reader import read_curator_survey
from ldp_aggregator.atomic_file import write_atomically
from ldp_aggregator.cli.amounts import amount_parser
from ldp_aggregator.cli.file_options import INPUT_FILE, OutputFile, require_no_input
from ldp_aggregator.cli.version_option import version_option
from ldp_audit.audit import audit, list_stages
from ldp_audit.outcomes import LEAST_TRIALS, format_leaks
from ldp_audit.render import render_html, render_text
from ldp_audit.result import AuditResult
from ldp_audit.served_surveys import describe_served_surveys
from ldp_audit.silo import audit_silo, count_stages
from ldp_client import load_plan
from ldp_silo.silo_survey import load_silo_plan_file

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
        command = {CENTRAL: audit_central, SILO: audit_silo_command}.get(args[0]) if args else None
        if command:
            return command.make_context(f"{info_name} {args[0]}", args[1:], parent, **extra)
        return super().make_context(info_name, args, parent, **extra)

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command of the context."""
        return super().invoke(ctx) if ctx.command is self else ctx.command.invoke(ctx)


def _shared_options(least: int, default: int, counted: str) -> Callable[[Callable[..., None]], Any]:
    """Return a decorator that passes the context, and adds the options of every audit."""
    options = (
        click.pass_context,
        version_option,
        click.option("--json", "as_json", is_flag=True, help="Print JSON instead of tables."),
        click.option(
            "--trials", type=click.IntRange(least), default=default, show_default=True, help=counted
        ),
    )

    def decorate(command: Callable[..., None]) -> Any:
        for option in options:
            command = option(command)
        return command

    return decorate


@contextmanager
def _exit_on_errors(context: click.Context, survey: str | Path) -> Iterator[None]:
    """Print an error, and exit with 2."""
    try:
        yield
    except LdpError as error:
        click.echo(f"Error: {error}{describe_served_surveys(str(survey), error)}", err=True)
        context.exit(2)


def _finish(
    context: click.Context,
    passed: bool,
    output: dict[str, Any] | str,
    page: Path | None = None,
    html: str = "",
) -> NoReturn:
    """Print a document as JSON, or a text; write the page; exit with 1 if the audit has not passed."""
    click.echo(output if isinstance(output, str) else json.dumps(output, allow_nan=False))
    if page:
        write_atomically(page, html.encode(), public=True)
    context.exit(0 if passed else 1)


_survey_file = click.argument("survey", type=INPUT_FILE)


@click.command(cls=_AuditCommand)
@click.argument("survey")
@_shared_options(
    1000, 20_000, "Number of messages of each made-up person, for each question and for the whole survey."
)
@click.option("--html", "page", type=OutputFile(), help="Also write an HTML page to this file.")
def main(context: click.Context, survey: str, trials: int, as_json: bool, page: Path | None) -> None:
    """Audit SURVEY: a .toml file, a compiled plan, or a survey's URL at a collector.

    Proves that each question's tables keep epsilon. Makes up people with the lowest, middle and highest
    values of the survey, makes their reports with the installed client, and checks these reports and the
    requests of Client.report. Nothing is sent. Warns of people who cannot answer the survey. Exits with 1 if
    a check fails, with 2 if the survey or the client cannot be audited.

    ldp-audit central SURVEY audits trainings by a curator instead, and ldp-audit silo SURVEY the messages of
    organisations: see ldp-audit central --help and ldp-audit silo --help.
    """
    require_no_input(page, [survey])
    with _exit_on_errors(context, survey):
        result = _audit(load_plan(survey), trials)
    output = result.as_dict() if as_json else render_text(result)
    _finish(context, result.passed, output, page, render_html(result) if page else "")


def _audit(plan: Plan, trials: int) -> AuditResult:
    stages = list_stages(plan, TIMED_REPORTS)
    with show_progress("auditing", len(stages), "stages") as progress:

        def begin(stage: str) -> None:
            progress.begin_stage(stage, done=stages.index(stage))

        result = audit(plan, trials, timed=TIMED_REPORTS, progress=begin)
        progress.advance()
        return result


@click.command()
@_survey_file
@click.option(
    "--epsilon",
    callback=amount_parser(Fraction(1, 100), Fraction(100)),
    metavar="NUMBER",
    default="1",
    show_default=True,
    help="What each training spends.",
)
@_shared_options(LEAST_TRIALS, 2000, "Number of trainings of each learner on each of two data sets.")
def audit_central(
    context: click.Context, survey: Path, epsilon: Fraction, trials: int, as_json: bool
) -> None:
    """Audit trainings by a curator with the features and labels of SURVEY (a .toml file).

    Trains each learner of ldp-central many times on two sets of made-up rows that differ by one row, and
    bounds from below what the models reveal about it. No real rows are read. Exits with 1 if a bound is above
    epsilon, with 2 if the survey cannot be audited. A bound below epsilon proves nothing:
    docs/central-guarantee.md.
    """
    from ldp_audit.central import AUDITED, audit_trainings

    with _exit_on_errors(context, survey):
        parsed = _read_curator_survey(survey)
        with show_progress("auditing", trials * len(AUDITED), "trials") as progress:
            leaks = audit_trainings(parsed, epsilon, trials, advance=progress.advance)
    passed = all(leak.passed for leak in leaks)
    if as_json:
        learners = [{"learner": leak.name, "epsilon": str(leak.epsilon)} | leak.as_dict() for leak in leaks]
        _finish(context, passed, {"passed": passed, "learners": learners})
    result = f"central audit {'passed' if passed else 'FAILED'}"
    _finish(context, passed, "\n".join([*format_leaks("learner", leaks), result]))


def _read_curator_survey(path: Path) -> Survey:
    text = read_survey_text(path)
    try:
        return read_curator_survey(text)
    except LdpError as error:
        raise LdpError(f"{path.name}: {error}") from error


@click.command()
@_survey_file
@_shared_options(LEAST_TRIALS, 2000, "Number of messages of each of two files, for each made-up person.")
def audit_silo_command(context: click.Context, survey: Path, trials: int, as_json: bool) -> None:
    """Audit the messages of silos for SURVEY (a .toml file or a compiled plan with kind = "silo").

    Reports many times two files of made-up rows that differ by the rows of one person, and bounds from below
    what the messages reveal about that person. Also checks that retries send the same bytes. Nothing is sent,
    and no real rows are read. Exits with 1 if a check fails, with 2 if the survey cannot be audited. A bound
    below epsilon proves nothing: docs/silos-guarantee.md.
    """
    with _exit_on_errors(context, survey):
        plan = load_silo_plan_file(survey)
        with show_progress("auditing", count_stages(plan), "stages") as progress:
            found = audit_silo(plan, trials, advance=progress.advance)
    if as_json:
        messages = [
            {"name": leak.name, "epsilon": float(leak.epsilon)} | leak.as_dict() for leak in found.leaks
        ]
        document = {"passed": found.passed, "messages": messages, "faults": found.faults}
        _finish(context, found.passed, document)
    faults = [f"FAILED: {fault}" for fault in found.faults]
    result = f"silo audit {'passed' if found.passed else 'FAILED'}"
    _finish(context, found.passed, "\n".join([*format_leaks("person added", found.leaks), *faults, result]))
