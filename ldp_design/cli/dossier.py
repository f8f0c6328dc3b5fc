"""ldp-survey dossier: writes the document about a survey that a review board files."""

from __future__ import annotations

from pathlib import Path

import click

from encoders.survey.any_survey import read_any_survey, read_survey_file
from encoders.survey.silo_plan import SiloSurvey
from ldp_aggregator import statements
from ldp_aggregator.atomic_file import write_atomically
from ldp_aggregator.cli.file_options import (
    INPUT_FILE,
    OutputFile,
    language_options,
    read_language,
    require_no_input,
)
from ldp_aggregator.cli.help import Command, argument, option
from ldp_aggregator.wording.language import write_in
from ldp_aggregator.wording.values import WORDS
from ldp_design.cli.option_values import count_options
from ldp_design.dossier.dossier_page import TEXTS
from ldp_design.dossier.people_dossier import render_dossier
from ldp_design.dossier.silo_dossier import read_silo_source, render_silo_dossier
from ldp_design.dossier.source import read_source
from ldp_design.sizing import size_facts
from ldp_design.sizing.assumed_people import LabelSharesError

_NEEDED = (
    *("wording/", "statements/privacy.", "dossier/"),
    *(f"sizing/{each}." for each in ("accuracy", "cells", "margins", "silo_margins")),
)
"""The beginnings of the names of the words that a dossier has."""


@click.command(cls=Command)
@argument("survey", type=INPUT_FILE, help="The survey, a TOML file.")
@option("-o", "--output", type=OutputFile(), required=True, help="The HTML page to write.")
@option("--audit", type=INPUT_FILE, help="An audit of SURVEY, from ldp-audit --json.")
@language_options
@count_options
@option(
    "--label-shares",
    metavar="LABEL=SHARE,...",
    show_default="equal shares and, if people answer, also a share of 10%",
    help="The expected shares of the labels, for example yes=0.1,no=0.9.",
)
def dossier(
    survey: Path,
    output: Path,
    audit: Path | None,
    users: int | None,
    rows: int | None,
    silos: int | None,
    label_shares: str | None,
    language: str,
    words: tuple[Path, ...],
) -> None:
    """Write a document about SURVEY for a review board.

    The document also serves a data-protection officer. It is one HTML page, which loads no other file, no
    script, and nothing from the network. It contains what is asked, who sees what, how much a report can
    reveal, whether the survey can reach its aim, what the board must check, the audit, a draft of a consent
    text, and a technical annex. Each statement is marked as computed, assumed, or declared by the author in
    [about].

    It is in English, German, or a language whose words you translate: see docs/page.md.

    $ ldp-survey dossier survey.toml -o dossier.html
    $ ldp-survey dossier survey.toml --users 2000 --audit audit.json -o dossier.html
    """
    require_no_input(output, [survey, audit, *words])
    written = read_survey_file(survey, read_any_survey)
    is_silo = isinstance(written, SiloSurvey)
    if is_silo and (users or audit):
        raise click.UsageError(
            "a silo survey has rows instead of --users: give --rows and --silos. Instead of --audit, "
            "file what ldp-audit silo printed beside the document"
        )
    if not is_silo and (rows or silos):
        raise click.UsageError("--rows and --silos are for silo surveys: give --users")
    chosen = read_language(
        language, written.texts, words, [WORDS, statements.TEXTS, size_facts.TEXTS, TEXTS], _NEEDED
    )
    try:
        with write_in(chosen):
            if isinstance(written, SiloSurvey):
                page = render_silo_dossier(read_silo_source(written, survey, rows, silos, label_shares))
            else:
                page = render_dossier(read_source(survey, users, audit, _announce, label_shares))
    except LabelSharesError as error:
        raise click.UsageError(f"--label-shares: {error}") from error
    write_atomically(output, page, public=True)
    click.echo(f"wrote {output}")


def _announce(users: int) -> None:
    click.echo(f"simulating {users:,} people", err=True)
