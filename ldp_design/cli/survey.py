"""ldp-survey: writes, checks, sizes, previews and signs a survey, and writes its further rounds."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Any

import click

from encoders.errors import LdpError
from encoders.explain.preview import preview
from encoders.randomness import SystemEntropy
from encoders.survey.any_survey import load_any_plan_file
from encoders.survey.plan_files import load_plan_file, read_survey_text
from encoders.survey.silo_plan import SiloPlan
from ldp_aggregator.cli.file_options import INPUT_FILE
from ldp_aggregator.cli.multiline_option import multiline_option
from ldp_aggregator.cli.version_option import version_option
from ldp_aggregator.models.model_file import read_model
from ldp_aggregator.rows.csv_rows import read_text_columns
from ldp_design.authoring.project import write_projection
from ldp_design.authoring.sample_row import (
    compare_mechanisms,
    find_questions,
    format_row,
    make_sample_row,
    read_csv_row,
    read_json_row,
)
from ldp_design.authoring.signing import sign_file, write_key
from ldp_design.authoring.survey_texts import write_plan
from ldp_design.cli.check import check
from ldp_design.cli.dossier import dossier
from ldp_design.cli.init import init
from ldp_design.cli.size import size
from ldp_design.rounds.learn_toml import write_learned_round
from ldp_design.rounds.narrow_toml import write_narrowed_round
from ldp_design.rounds.validate_toml import write_validation_round
from reduction.dca import DEFAULT_RIDGE
from reduction.fit import METHODS


class _SurveyGroup(click.Group):
    """A group of commands whose errors are printed without a traceback."""

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except LdpError as error:
            raise click.ClickException(str(error)) from error


@click.group(cls=_SurveyGroup)
@version_option
def main() -> None:
    """Write, check, size, preview and sign surveys.

    SURVEY is a TOML file or a compiled plan.
    """


def _print_toml(text: str) -> None:
    click.echo(text.encode(), nl=False)  # TOML is UTF-8 in any terminal


@main.command("compile", short_help="Write the plan of SURVEY as canonical JSON.")
@click.argument("survey", type=INPUT_FILE)
@click.option(
    "-o",
    "--output",
    type=click.Path(dir_okay=False, allow_dash=True, path_type=Path),
    default="-",
    help="Standard output by default, without the texts.",
)
def compile_(survey: Path, output: Path) -> None:
    """Write the plan of SURVEY: canonical JSON, whose digest every report contains.

    If the survey has texts, they are written beside the plan: plan.texts.json beside plan.json. The plan
    contains their SHA-256.
    """
    plan = load_any_plan_file(survey)
    if str(output) != "-":
        try:
            write_plan(plan, output)
        except OSError as error:
            raise click.ClickException(f"{output}: cannot be written: {error.strerror}") from error
        click.echo(f"wrote {output}, digest {plan.digest}")
        path = shlex.quote(str(output))
        preview_first = "" if isinstance(plan, SiloPlan) else f"ldp-survey preview {path}, then "
        click.echo(f"next: {preview_first}ldp-collector serve {path}")
        return
    click.echo(plan.json, nl=False)
    if plan.texts_digest:
        click.echo("the survey has texts: -o PLAN.json writes them too, beside the plan", err=True)


@main.command("preview", short_help="Show for one row what is asked, sent and revealed.")
@click.argument("survey", type=INPUT_FILE)
@click.option(
    "--row",
    "row_file",
    type=INPUT_FILE,
    help="JSON file with one object that has each feature and the label by name.",
)
@click.option("--csv", "table", type=INPUT_FILE, help="A CSV file of rows.")
@click.option(
    "--row-number", type=click.IntRange(min=1), default=1, help="Row of the CSV file; 1 by default."
)
@multiline_option
@click.option("--label", help="The label; overrides the label of the row.")
@click.option(
    "--question",
    help="Name of the question or feature to show, instead of a drawn one; of a number, both questions.",
)
@click.option("--language", default="", help="Language of the survey's texts, for example de.")
def preview_(
    survey: Path,
    row_file: Path | None,
    table: Path | None,
    row_number: int,
    multiline: bool,
    label: str | None,
    question: str | None,
    language: str,
) -> None:
    """Show for one row which question is asked, what would be sent, and which answers could have led to it.

    Without --row and --csv, a random row is made up. Nothing is sent or stored.
    """
    if row_file and table:
        raise click.UsageError("give --row or --csv, not both")
    plan = load_plan_file(survey)
    names = [each.name for each in find_questions(plan, question)] if question else [None]
    if row_file:
        row = read_json_row(row_file, plan)
    elif table:
        row = read_csv_row(table, row_number, plan, multiline)
    else:
        row = make_sample_row(plan, SystemEntropy())
        click.echo(f"A row, made up from the survey's values:\n{format_row(row)}\n")
    label_value = row.get(plan.row_label.name) if label is None else label
    for index, name in enumerate(names):
        report_preview = preview(plan, row, label_value, SystemEntropy(), name, language=language)
        click.echo(f"\n{'-' * 80}\n\n" * (index > 0) + str(report_preview))
        if comparison := compare_mechanisms(plan, report_preview.randomised.question):
            click.echo(f"\n{comparison}")


@main.command("project", short_help="Print SURVEY with its numbers projected to a few components.")
@click.argument("survey", type=INPUT_FILE)
@click.option(
    "--from", "sample", type=INPUT_FILE, required=True, help="Fit on these PUBLIC rows, a CSV file."
)
@multiline_option
@click.option("--method", type=click.Choice(METHODS), default="dca", show_default=True)
@click.option("--components", type=click.IntRange(min=1), default=1, show_default=True)
@click.option("--bins", type=click.IntRange(2, 1000), help="Bins of each component; numbers by default.")
@click.option(
    "--ridge",
    type=click.FloatRange(min=0),
    help=f"Ridge of DCA, in units of the mean within-class variance of an input; {DEFAULT_RIDGE} by default.",
)
def project_(
    survey: Path,
    sample: Path,
    multiline: bool,
    method: str,
    components: int,
    bins: int | None,
    ridge: float | None,
) -> None:
    """Project the numbers of SURVEY to a few components, and print the new survey.

    DCA finds the directions that separate the classes, PCA those of the largest variance. Weights and
    ranges are fitted on the rows of --from and are public from then on. Epsilon does NOT cover the fit:
    never fit on private rows.
    """
    if method != "dca" and ridge is not None:
        raise click.UsageError("--ridge is an option of --method dca only")
    _print_toml(
        write_projection(
            read_survey_text(survey),
            read_text_columns(sample, multiline=multiline),
            sample.name,
            method=method,
            components=components,
            bins=bins,
            ridge=DEFAULT_RIDGE if ridge is None else ridge,
        )
    )


@main.command("learn", short_help="Learn a projection, and print the survey of the next round.")
@click.argument("survey", type=INPUT_FILE)
@click.option(
    "--pilot", type=INPUT_FILE, required=True, help="The model that ldp-train wrote for the first round."
)
@click.option("--components", type=click.IntRange(min=1), default=1, show_default=True)
@click.option("--bins", type=click.IntRange(2, 1000), help="Bins of each component; numbers by default.")
@click.option(
    "--people",
    type=click.IntRange(min=1),
    help="Number of people who will answer both rounds; by default the first round's reports / 0.7.",
)
def learn_(survey: Path, pilot: Path, components: int, bins: int | None, people: int | None) -> None:
    """Learn a projection from a first round, and print the survey of the second round.

    SURVEY is the survey of the first round, best answered by 70% of the people and with bins = 2 for every
    number. The class means, estimated from its randomised reports, give the weights of the projection. A
    person who answered one round answers no other round of the family, so two rounds cost nobody more
    epsilon. The comments of the new survey state whether two rounds are recommended.
    """
    _print_toml(
        write_learned_round(read_survey_text(survey), read_model(pilot), pilot.name, components, bins, people)
    )


@main.command("narrow", short_help="Leave out uninformative features, for the next round.")
@click.argument("survey", type=INPUT_FILE)
@click.option(
    "--pilot", type=INPUT_FILE, required=True, help="The model that ldp-train wrote for all rounds so far."
)
def narrow_(survey: Path, pilot: Path) -> None:
    """Leave out uninformative features, and print the survey of the next round.

    SURVEY is the survey of the latest round. A person who answered one round answers no other round of the
    family, so further rounds cost nobody more epsilon. The comments of the new survey state how much of the
    label each feature explains. Train on all rounds in one command: ldp-train URL URL-round2 -o model.json.
    """
    _print_toml(write_narrowed_round(read_survey_text(survey), read_model(pilot), pilot.name))


@main.command("validate", short_help="Print the survey in which devices validate a model.")
@click.argument("survey", type=INPUT_FILE)
@click.option(
    "--model", type=INPUT_FILE, required=True, help="The model that ldp-train wrote for all rounds so far."
)
def validate_(survey: Path, model: Path) -> None:
    """Print the survey of a validation round, in which devices report whether a model predicts right.

    SURVEY is a survey that people answered (to find mistakes in a survey, use ldp-survey check). A person who
    answered one round answers no other round of the family, so a further round costs nobody more epsilon.
    Devices validate the model with all of its features, and with its most relevant features only. Train on
    all rounds in one command: ldp-train URL URL-validation -o model.json. The model keeps the features with
    which it is most accurate, and ldp-train prints its accuracy.
    """
    _print_toml(write_validation_round(read_survey_text(survey), read_model(model), model.name))


@main.command(short_help="Make a key pair for signing.")
@click.argument("keyfile", type=click.Path(path_type=Path))
def keygen(keyfile: Path) -> None:
    """Make a key pair for signing: write the private key to KEYFILE, and print the public key.

    Apps pin the public key. Keep KEYFILE secret, above all from collectors, and keep a copy: without it you
    can no longer sign surveys for these apps.
    """
    click.echo(write_key(keyfile))


@main.command("sign", short_help="Sign the plan of SURVEY.")
@click.argument("survey", type=INPUT_FILE)
@click.option("--key", type=INPUT_FILE, required=True, help="The private key that ldp-survey keygen wrote.")
@click.option(
    "-o",
    "--output",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Signature file; by default SURVEY with .sig added to its name, where a collector finds it.",
)
def sign_(survey: Path, key: Path, output: Path | None) -> None:
    """Sign the plan of SURVEY, so that apps that pin your public key accept it.

    Sign only one plan per survey id: a collector can serve any plan that you signed.
    """
    signed = sign_file(survey, key, output)
    click.echo(f"wrote {signed.path}\ndigest {signed.digest}\npublic key {signed.public_key}")


for _command in (init, check, size, dossier):
    main.add_command(_command)
