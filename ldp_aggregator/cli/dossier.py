"""ldp-survey dossier: writes the document about a survey that a review board files."""

from __future__ import annotations

from pathlib import Path

import click

from ldp_aggregator.atomic_file import write_atomically
from ldp_aggregator.cli.output_file import OutputFile, require_no_input
from ldp_aggregator.dossier.page import render_dossier
from ldp_aggregator.dossier.source import read_source
from ldp_aggregator.sizing.label_shares import LabelSharesError
from ldp_aggregator.sizing.sample_size import MAX_USERS
from ldp_aggregator.sizing.summary import format_people

_FILE = click.Path(exists=True, dir_okay=False, path_type=Path)


def _announce_simulation(users: int) -> None:
    click.echo(f"simulating {format_people(users)}", err=True)


@click.command()
@click.argument("survey", type=_FILE)
@click.option("-o", "--output", type=OutputFile(), required=True, help="The HTML page to write.")
@click.option("--audit", type=_FILE, help="An audit of SURVEY, from ldp-audit --json.")
@click.option(
    "--users",
    type=click.IntRange(1, MAX_USERS),
    help="Number of people who will answer; by default users in [survey].",
)
@click.option(
    "--label-shares",
    metavar="LABEL=SHARE,...",
    help="Expected shares of the labels, for example yes=0.1,no=0.9; by default equal shares and a share of "
    "10% are compared.",
)
def dossier(
    survey: Path, output: Path, audit: Path | None, users: int | None, label_shares: str | None
) -> None:
    """Write the document about SURVEY for a review board.

    SURVEY is a TOML file. The document is one HTML page, for a review board or a data-protection officer. It
    contains what is asked, who sees what, how much a report can reveal, whether the survey can reach its
    aim, what the board must check, the audit, a draft of a consent text, and a technical annex. Each
    statement is marked as computed, assumed, or declared by the author in [about]. The page needs no other
    file, no script and no network.
    """
    require_no_input(output, [survey, audit])
    try:
        source = read_source(survey, users, audit, _announce_simulation, label_shares)
    except LabelSharesError as error:
        raise click.UsageError(f"--label-shares: {error}") from error
    try:
        write_atomically(output, render_dossier(source))
    except OSError as error:
        raise click.ClickException(f"{output}: cannot be written: {error.strerror}") from error
    click.echo(f"wrote {output}")
