"""ldp-audit: audits whether a device, trainings by a curator, or messages of silos reveal at most epsilon."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from fractions import Fraction
from pathlib import Path
from typing import Any, NoReturn
from urllib.parse import urlsplit

import click

from encoders.errors import LdpError, Reason
from encoders.late_imports import LateImport
from encoders.progress import show_progress
from encoders.survey import Plan
from encoders.survey.any_survey import SILO_PLANS, read_survey_file
from encoders.survey.compiled_plan import CENTRAL, SILO, is_survey_id
from encoders.survey.toml_reader import read_curator_survey
from ldp_aggregator.atomic_file import write_atomically
from ldp_aggregator.cli.file_options import INPUT_FILE, Count, OutputFile, amount_parser, require_no_input
from ldp_aggregator.cli.help import Command, argument, option, version_option
from ldp_audit.audit import audit, list_stages
from ldp_audit.outcomes import LEAST_TRIALS, format_leaks
from ldp_audit.render import render_html, render_text
from ldp_audit.result import AuditResult
from ldp_audit.silo_audit import audit_silo, count_stages
from ldp_client import HttpTransport, TransportError, load_plan

_CURATOR_AUDIT = LateImport("ldp_audit.curator_audit")  # loads scikit-learn
TIMED_REPORTS = 20_000


class _AuditCommand(Command):
    """The command; its first argument "central" or "silo" runs the audit of trainings or of silos instead."""

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, each.get_short_help_str(80)) for name, each in _AUDITS.items()])
        super().format_options(ctx, formatter)

    def make_context(
        self, info_name: str | None, args: list[str], parent: click.Context | None = None, **extra: Any
    ) -> click.Context:
        command = _AUDITS.get(args[0]) if args else None
        if command:
            return command.make_context(f"{info_name} {args[0]}", args[1:], parent, **extra)
        return super().make_context(info_name, args, parent, **extra)

    def invoke(self, ctx: click.Context) -> Any:
        return super().invoke(ctx) if ctx.command is self else ctx.command.invoke(ctx)


def _shared_options(least: int, default: int, counted: str) -> Callable[[Callable[..., None]], Any]:
    options = (
        click.pass_context,
        version_option,
        option("--json", "as_json", is_flag=True, help="Print JSON instead of tables."),
        option("--trials", type=Count(least), default=default, show_default=True, help=counted),
    )

    def decorate(command: Callable[..., None]) -> Any:
        for add_option in options:
            command = add_option(command)
        return command

    return decorate


@contextmanager
def _exit_on_errors(context: click.Context, survey: str | Path) -> Iterator[None]:
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


@click.command(cls=_AuditCommand)
@argument("survey", help="A TOML file, a compiled plan, or the URL of a survey at a collector.")
@option("--html", "page", type=OutputFile(), help="Write the result to this HTML page, too.")
@_shared_options(1000, 20_000, "The number of reports of each made-up person, for each question and in all.")
def main(context: click.Context, survey: str, trials: int, as_json: bool, page: Path | None) -> None:
    """Audit whether a report to SURVEY reveals at most epsilon.

    Proves for each question that its probability tables keep epsilon. Then makes up people with the lowest,
    middle and highest values, makes their reports with the installed client, and checks these reports and
    the requests of Client.report. Nothing is sent. The audit also warns if some people cannot answer the
    survey. In a survey with a relay, it also checks the sealed messages, as the relay, the collector and a
    watcher of the device see them. The exit code is 1 if a check fails, and 2 if the survey or the client
    cannot be audited.

    The commands central and silo audit trainings by a curator and messages of organisations instead.

    $ ldp-audit survey.toml
    $ ldp-audit survey.toml --json
    $ ldp-audit http://localhost:8000/v1/surveys/health-2027 --html audit.html
    $ ldp-audit central survey.toml --epsilon 2
    $ ldp-audit silo survey.toml
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


@click.command(cls=Command)
@argument("survey", type=INPUT_FILE, help="The survey, a TOML file.")
@option(
    "--epsilon",
    callback=amount_parser(Fraction(1, 100), Fraction(100)),
    metavar="NUMBER",
    default="1",
    help="The epsilon that each training spends.",
)
@_shared_options(LEAST_TRIALS, 2000, "The number of trainings of each learner on each of two data sets.")
def audit_central(
    context: click.Context, survey: Path, epsilon: Fraction, trials: int, as_json: bool
) -> None:
    """Audit the trainings of ldp-central for SURVEY.

    Trains each learner many times on two sets of made-up rows that differ by one row, and computes a lower
    bound on what the models reveal about that row. No real rows are read. The exit code is 1 if a bound is
    above epsilon, and 2 if the survey cannot be audited. A bound below epsilon proves nothing: see
    docs/central.md.

    $ ldp-audit central survey.toml
    $ ldp-audit central survey.toml --epsilon 2 --trials 5000
    """
    curator_audit = _CURATOR_AUDIT.load()
    with _exit_on_errors(context, survey):
        parsed = read_survey_file(survey, read_curator_survey)
        total = trials * len(curator_audit.audited_learners(parsed))
        with show_progress("auditing", total, "trials") as progress:
            leaks = curator_audit.audit_trainings(parsed, epsilon, trials, advance=progress.advance)
    passed = all(leak.passed for leak in leaks)
    if as_json:
        learners = [{"learner": leak.name, "epsilon": str(leak.epsilon)} | leak.as_dict() for leak in leaks]
        _finish(context, passed, {"passed": passed, "learners": learners})
    result = f"audit of trainings {'passed' if passed else 'FAILED'}"
    _finish(context, passed, "\n".join([*format_leaks("learner", leaks), result]))


@click.command(cls=Command)
@argument("survey", type=INPUT_FILE, help='A TOML file or a compiled plan with kind = "silo".')
@_shared_options(LEAST_TRIALS, 2000, "The number of messages of each of two files, for each made-up person.")
def audit_silo_command(context: click.Context, survey: Path, trials: int, as_json: bool) -> None:
    """Audit the messages of silos for SURVEY.

    Reports two files of made-up rows many times. The files differ by the rows of one person, and the audit
    computes a lower bound on what the messages reveal about that person. It also checks that retries send the
    same bytes. Nothing is sent, and no real rows are read. The exit code is 1 if a check fails, and 2 if the
    survey cannot be audited. A bound below epsilon proves nothing: see docs/silos.md.

    $ ldp-audit silo survey.toml
    """
    with _exit_on_errors(context, survey):
        plan = SILO_PLANS.load(survey)
        with show_progress("auditing", count_stages(plan), "stages") as progress:
            found = audit_silo(plan, trials, advance=progress.advance)
    if as_json:
        messages = [
            {"name": leak.name, "epsilon": float(leak.epsilon)} | leak.as_dict() for leak in found.leaks
        ]
        document = {"passed": found.passed, "messages": messages, "faults": found.faults}
        _finish(context, found.passed, document)
    faults = [f"FAILED: {fault}" for fault in found.faults]
    result = f"audit of silos {'passed' if found.passed else 'FAILED'}"
    _finish(context, found.passed, "\n".join([*format_leaks("person added", found.leaks), *faults, result]))


_AUDITS = {CENTRAL: audit_central, SILO: audit_silo_command}


_PATH = "/v1/surveys"
_TIMEOUT_SECONDS = 10.0
_MAX_LISTED = 20


def describe_served_surveys(url: str, error: LdpError) -> str:
    """Return the surveys of the collector of `url`, if `error` is that it does not serve this one."""
    if not isinstance(error, TransportError) or error.reason not in (
        Reason.UNKNOWN_SURVEY,
        Reason.NO_SUCH_PAGE,
    ):
        return ""
    list_url = _list_url(url)
    try:
        response = HttpTransport().request("GET", list_url, None, _TIMEOUT_SECONDS)
    except TransportError:
        return ""
    ids = list(_survey_ids(response.entry("surveys")))
    if response.status != 200 or not ids:
        return ""
    more = f" and {len(ids) - _MAX_LISTED} more" if len(ids) > _MAX_LISTED else ""
    return f"; {list_url} lists: {', '.join(ids[:_MAX_LISTED])}{more}"


def _list_url(url: str) -> str:
    """Return the URL of the list of surveys of the collector that serves `url`."""
    base, separator, _ = url.rpartition(f"{_PATH}/")
    if separator:
        return base + _PATH
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc}{_PATH}"


def _survey_ids(entries: object) -> Iterator[str]:
    for entry in entries if isinstance(entries, list) else []:
        identifier = entry.get("id") if isinstance(entry, dict) else None
        if isinstance(identifier, str) and is_survey_id(identifier):
            yield identifier
