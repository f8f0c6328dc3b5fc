"""ldp-audit silo: the command that audits the messages of silos."""

from __future__ import annotations

import json
from pathlib import Path

import click

from encoders import __version__
from encoders.errors import LdpError
from encoders.progress import show_progress
from ldp_audit.outcomes import LEAST_TRIALS, format_leaks
from ldp_audit.silo import SiloAudit, audit_silo, count_stages
from ldp_silo.silo_survey import load_silo_plan_file


@click.command()
@click.argument("survey", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option(
    "--trials",
    type=click.IntRange(LEAST_TRIALS),
    default=2000,
    show_default=True,
    help="Number of messages of each of two files, for each made-up person.",
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON instead of a table.")
@click.version_option(__version__, message="%(prog)s %(version)s")
@click.pass_context
def audit_silo_command(context: click.Context, survey: Path, trials: int, as_json: bool) -> None:
    """Audit the messages of silos for SURVEY (a .toml file or a compiled plan with kind = "silo").

    Reports many times two files of made-up rows that differ by the rows of one person, and bounds from below
    what the messages reveal about that person. Also checks that retries send the same bytes. Nothing is sent,
    and no real rows are read. Exits with 1 if a check fails, with 2 if the survey cannot be audited. A bound
    below epsilon proves nothing: docs/silos.md.
    """
    try:
        plan = load_silo_plan_file(survey)
        with show_progress("auditing", count_stages(plan), "stages") as progress:
            found = audit_silo(plan, trials, advance=progress.advance)
    except LdpError as error:
        click.echo(f"Error: {error}", err=True)
        context.exit(2)
    if as_json:
        messages = [
            {"name": leak.name, "epsilon": float(leak.epsilon)} | leak.as_dict() for leak in found.leaks
        ]
        click.echo(json.dumps({"passed": found.passed, "messages": messages, "faults": found.faults}))
    else:
        click.echo(_render(found))
    if not found.passed:
        context.exit(1)


def _render(found: SiloAudit) -> str:
    faults = [f"FAILED: {fault}" for fault in found.faults]
    result = "passed" if found.passed else "FAILED"
    return "\n".join([*format_leaks("person added", found.leaks), *faults, f"silo audit {result}"])
