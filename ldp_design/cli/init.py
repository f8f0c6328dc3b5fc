"""ldp-survey init: writes a new survey file, an example, or a draft from a sample or an XLSForm."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from pathlib import Path

import click

from encoders.late_imports import LateImport
from ldp_aggregator.atomic_file import write_atomically
from ldp_aggregator.cli.file_options import INPUT_FILE, OutputFile
from ldp_aggregator.cli.help import Command, multiline_option, option
from ldp_design.authoring.draft import draft_survey
from ldp_design.authoring.sample_row import read_sample

_CONVERT_XLSFORM = LateImport(
    "ldp_design.authoring.xlsform.survey_file:convert_xlsform", "author", "an XLSForm"
)
_EXAMPLE = Path(__file__).parent.parent / "authoring" / "example.toml"
_XLSFORM_SUFFIXES = (".xlsx", ".xlsm", ".xls")
_FROM_HELP = "Draft the survey from this file: a PUBLIC sample (CSV), or an XLSForm (.xlsx, .xlsm or .xls)."


@click.command(cls=Command)
@option("-o", "--output", type=OutputFile(), show_default="standard output", help="The new file to write.")
@option("--from", "sample", type=INPUT_FILE, help=_FROM_HELP)
@option(
    "--label",
    metavar="NAME",
    show_default="a survey without a label",
    help="The column or question to predict, or by whose values people are compared.",
)
@option(
    "--language",
    "languages",
    multiple=True,
    metavar="TAG|NAME=TAG",
    help="The tag of an XLSForm's default language, such as en, or of a named one: English=en. Repeatable.",
)
@multiline_option
def init(
    sample: Path | None, label: str | None, languages: Sequence[str], multiline: bool, output: Path | None
) -> None:
    """Write a new survey file: an example, or a draft from a file.

    The example has comments. A draft contains the range of every column of numbers, and the values of every
    column of text that occur at least twice. Cells that list several values, separated by semicolons, become
    a feature with several answers. Columns that are left out, such as identifiers and dates, are listed with
    the reason. Without a label, a survey estimates shares and averages only. A survey file is public, so
    never make a draft from private rows.

    An XLSForm is a questionnaire of ODK or KoboToolbox (.xlsx, .xlsm or .xls).
    Each question that the draft leaves out is printed with its row and the reason, and listed in the file.

    $ ldp-survey init -o survey.toml
    $ ldp-survey init --from sample.csv -o survey.toml
    $ ldp-survey init --from sample.csv --label ill -o survey.toml
    $ ldp-survey init --from form.xlsx -o survey.toml
    $ ldp-survey init --from form.xlsx --language en -o survey.toml
    """
    if label is not None and sample is None:
        raise click.UsageError("--label needs --from: the sample that has this column, or an XLSForm")
    is_form = sample is not None and sample.suffix.lower() in _XLSFORM_SUFFIXES
    if languages and not is_form:
        raise click.UsageError("--language needs --from with an XLSForm (.xlsx, .xlsm or .xls)")
    if output and output.exists():  # it may contain an author's edits
        raise click.UsageError(f"--output: {output} exists and is not replaced; give the name of a new file")
    notes: list[str] = []
    if sample is None:
        text = _EXAMPLE.read_text("utf-8")
    elif is_form:
        text, notes = _CONVERT_XLSFORM.load()(sample, label, languages)
    else:
        columns, choices, notes = read_sample(sample, multiline=multiline)
        text = draft_survey(columns, label, sample.stem, choices=choices, notes=notes)
    for note in notes:
        click.echo(note, err=True)
    if output is None:
        click.echo(text.encode(), nl=False)  # TOML is UTF-8 in any terminal
        return
    write_atomically(output, text.encode(), public=True)
    click.echo(f"wrote {output}\nnext: edit it, then ldp-survey check {shlex.quote(str(output))}")
