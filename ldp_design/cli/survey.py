"""ldp-survey: writes, checks, sizes, previews and signs a survey, and writes its validation round."""

from __future__ import annotations

import json
import shlex
from pathlib import Path

import click

from encoders.errors import SurveyError
from encoders.explain.preview import preview
from encoders.late_imports import LateImport
from encoders.randomness import SystemEntropy
from encoders.survey import Plan, read_survey
from encoders.survey.any_survey import ANY_PLANS, read_survey_file
from encoders.survey.compiled_plan import SILO
from encoders.survey.plan_files import PEOPLE_PLANS, texts_path
from ldp_aggregator.atomic_file import write_atomically
from ldp_aggregator.cli.file_options import INPUT_FILE, Count, print_notes, read_rows
from ldp_aggregator.cli.help import (
    Group,
    advanced_option,
    argument,
    json_option,
    multiline_option,
    option,
    version_option,
)
from ldp_aggregator.results_file import read_trained
from ldp_aggregator.rows.encode_table import describe_rows
from ldp_aggregator.rows.table_input import parse_typed_columns, read_text_columns
from ldp_design.authoring import sample_row
from ldp_design.authoring.project import projection_inputs, write_projection
from ldp_design.authoring.signing import sign_file, write_key
from ldp_design.cli.answer_page import page
from ldp_design.cli.check import check
from ldp_design.cli.dossier import dossier
from ldp_design.cli.init import init
from ldp_design.cli.size import size
from ldp_design.model_validation import write_validation_round
from reduction.fit import DEFAULT_RIDGE, METHODS

_STUDIO = LateImport("ldp_design.studio.server:serve_studio", "author", "ldp-survey studio")


@click.group(cls=Group)
@version_option
def main() -> None:
    """Write, check, size, preview and sign surveys.

    $ ldp-survey init -o survey.toml
    $ ldp-survey check survey.toml
    $ ldp-survey size survey.toml --users 2000
    $ ldp-survey preview survey.toml
    $ ldp-survey compile survey.toml -o plan.json
    """


_survey = argument("survey", type=INPUT_FILE, help="The survey, a TOML file.")
_survey_or_plan = argument("survey", type=INPUT_FILE, help="A survey, as a TOML file or a compiled plan.")


def _print_toml(text: str) -> None:
    click.echo(text.encode(), nl=False)  # TOML is UTF-8 in any terminal


@main.command("compile")
@_survey_or_plan
@option(
    "-o",
    "--output",
    type=click.Path(dir_okay=False, allow_dash=True, path_type=Path),
    default="-",
    show_default="standard output",
    help="The plan to write.",
)
def compile_(survey: Path, output: Path) -> None:
    """Write the plan of SURVEY as canonical JSON.

    Every report contains the digest of this plan. The texts of the survey are written beside the
    plan, plan.texts.json beside plan.json, but not to standard output. The plan contains their SHA-256.

    $ ldp-survey compile survey.toml -o plan.json
    """
    plan = ANY_PLANS.load(survey)
    if str(output) != "-":
        if plan.texts_digest and not plan.texts:
            raise SurveyError("the file of its texts is not beside the plan: compile the TOML survey instead")
        if isinstance(plan, Plan) and plan.relay and not plan.relay.has_keys:
            raise SurveyError("needs collector_key and relay_key", "relay")
        if plan.texts:
            write_atomically(texts_path(output), plan.texts.json, public=True)
        write_atomically(output, plan.json, public=True)
        click.echo(f"wrote {output}, digest {plan.digest}")
        path = shlex.quote(str(output))
        preview_first = "" if plan.kind == SILO else f"ldp-survey preview {path}, then "
        click.echo(f"next: {preview_first}ldp-collector serve {path}")
        return
    click.echo(plan.json, nl=False)
    if plan.texts_digest:
        click.echo("the survey has texts: give -o PLAN.json to write them beside the plan", err=True)


@main.command("preview")
@_survey_or_plan
@option("--row", "row_file", type=INPUT_FILE, help="A JSON file with one object: features and label by name.")
@option("--csv", "table", type=INPUT_FILE, help="A CSV file of rows.")
@option("--row-number", type=Count(min=1), default=1, help="The row of the CSV file.")
@option("--label", metavar="VALUE", help="The label of the row; it replaces the label in the file.")
@option(
    "--question",
    metavar="NAME",
    show_default="a random question",
    help="The question or feature to show. If a feature has several questions, such as a number or one with "
    "several answers, all are shown.",
)
@option("--language", metavar="CODE", default="", help="The language of the survey's texts, for example de.")
@multiline_option
@json_option
def preview_(
    survey: Path,
    row_file: Path | None,
    table: Path | None,
    row_number: int,
    multiline: bool,
    label: str | None,
    question: str | None,
    language: str,
    as_json: bool,
) -> None:
    """Show for one row what is asked, sent and revealed.

    Prints the question, the report, and which answers could have led to this report. The row is made up if
    neither --row nor --csv is given. Nothing is sent or stored.

    $ ldp-survey preview survey.toml
    $ ldp-survey preview survey.toml --csv rows.csv --row-number 3
    $ ldp-survey preview survey.toml --question age --language de
    """
    if row_file and table:
        raise click.UsageError("give --row or --csv, not both")
    plan = PEOPLE_PLANS.load(survey)
    names = [each.name for each in sample_row.find_questions(plan, question)] if question else [None]
    if row_file:
        row = sample_row.read_json_row(row_file, plan)
    elif table:
        row = sample_row.take_row(read_rows(table, plan.entries, multiline), row_number, plan, table.name)
    else:
        row = sample_row.make_sample_row(plan, SystemEntropy())
        click.echo(f"A row, made up from the survey's values:\n{sample_row.format_row(row)}\n", err=as_json)
    label_value = row.get(plan.row_label.name) if label is None and plan.row_label.exists else label
    previews = [preview(plan, row, label_value, SystemEntropy(), name, language=language) for name in names]
    if as_json:
        click.echo(json.dumps([each.as_dict() for each in previews]))
        return
    for index, report_preview in enumerate(previews):
        click.echo(f"\n{'-' * 80}\n\n" * (index > 0) + str(report_preview))
        if comparison := sample_row.compare_mechanisms(plan, report_preview.randomised.question):
            click.echo(f"\n{comparison}")


@main.command("project")
@_survey
@option("--from", "sample", type=INPUT_FILE, required=True, help="The PUBLIC rows to fit to, a CSV file.")
@option(
    "--method",
    type=click.Choice(METHODS),
    default="dca",
    help="What is projected to: the directions that separate the classes (dca), or the directions of the "
    "largest variance (pca).",
)
@option("--components", type=click.IntRange(min=1), default=1, help="The number of components.")
@option(
    "--bins",
    type=click.IntRange(2, 1000),
    help="Sort each component into this number of bins.",
    show_default="numbers, without bins",
)
@advanced_option(
    "--ridge",
    type=click.FloatRange(min=0),
    show_default=str(DEFAULT_RIDGE),
    help="The ridge of DCA, in units of the mean within-class variance of an input.",
)
@multiline_option
def project_(
    survey: Path,
    sample: Path,
    multiline: bool,
    method: str,
    components: int,
    bins: int | None,
    ridge: float | None,
) -> None:
    """Print SURVEY with its numbers projected to a few components.

    The weights and ranges of the projection are fitted to the rows of --from, and are public from then on.
    Epsilon does NOT cover the fit: never fit to private rows.

    $ ldp-survey project survey.toml --from public.csv > projected.toml
    $ ldp-survey project survey.toml --from public.csv --method pca --components 3 > projected.toml
    """
    if method != "dca" and ridge is not None:
        raise click.UsageError("--ridge is an option of --method dca only")
    table = read_text_columns(sample, multiline=multiline)

    def project(text: str) -> str:
        inputs = list(projection_inputs(read_survey(text)))
        print_notes(describe_rows(inputs, parse_typed_columns(table, inputs)))
        return write_projection(
            text,
            table,
            sample.name,
            method=method,
            components=components,
            bins=bins,
            ridge=DEFAULT_RIDGE if ridge is None else ridge,
        )

    _print_toml(read_survey_file(survey, project))


@main.command("validate")
@_survey
@option("--model", type=INPUT_FILE, required=True, help="The model that ldp-train wrote.")
def validate_(survey: Path, model: Path) -> None:
    """Print the survey of a round in which devices validate a model.

    SURVEY is a survey that people answered. (To find mistakes in a survey, use ldp-survey check.) Devices
    report whether the model predicts their label, once with all of its features, and with its most relevant
    features only. A person who answered one round answers no other round of the family, so nobody spends
    more epsilon. Train on all rounds in one command: ldp-train URL URL-validation -o model.json. The new
    model keeps the features with which it is most accurate, and ldp-train prints its accuracy.

    $ ldp-survey validate survey.toml --model model.json > validation.toml
    """
    _, read = read_trained(model.read_bytes(), str(model))
    _print_toml(read_survey_file(survey, lambda text: write_validation_round(text, read, model.name)))


@main.command()
@argument("keyfile", type=click.Path(path_type=Path), help="The new file for the private key.")
def keygen(keyfile: Path) -> None:
    """Make a key pair for signing, and print the public key.

    Apps pin the public key. Keep KEYFILE secret, above all from collectors, and keep a copy: without it you
    can no longer sign surveys for these apps.

    $ ldp-survey keygen author.key
    """
    click.echo(write_key(keyfile))


@main.command("sign")
@_survey_or_plan
@option("--key", type=INPUT_FILE, required=True, help="The private key that ldp-survey keygen wrote.")
@option(
    "-o",
    "--output",
    type=click.Path(dir_okay=False, path_type=Path),
    show_default="SURVEY.sig, where a collector finds it",
    help="The signature to write.",
)
def sign_(survey: Path, key: Path, output: Path | None) -> None:
    """Sign the plan of SURVEY.

    Apps that pin your public key accept the signed plan. Sign only one plan per survey id: a collector can
    serve any plan that you signed.

    $ ldp-survey sign survey.toml --key author.key
    """
    signed = sign_file(survey, key, output)
    click.echo(f"wrote {signed.path}\ndigest {signed.digest}\npublic key {signed.public_key}")


@main.command()
@argument(
    "survey",
    type=click.Path(dir_okay=False, path_type=Path),
    default="survey.toml",
    help="The survey, a TOML file; it need not exist yet.  [default: survey.toml]",
)
@option("--no-browser", is_flag=True, help="Print the address, and open no browser.")
@advanced_option(
    "--port", type=click.IntRange(0, 65_535), default=0, show_default="a free one", help="The port."
)
def studio(survey: Path, no_browser: bool, port: int) -> None:
    """Write, size, try and publish SURVEY in the browser.

    The studio runs on this machine only, and nothing leaves it. The printed address opens it once, in one
    browser. It ends with Ctrl-C, or half a minute after its page was closed. Changes that are not saved are
    there again when you start it the next time.

    $ ldp-survey studio
    $ ldp-survey studio survey.toml
    """

    def announce(address: str) -> None:
        click.echo(f"the studio of {survey} is at\n  {address}\nend it with Ctrl-C")

    _STUDIO.load()(survey, port, announce, opens_browser=not no_browser)


_OTHERS = (preview_, dossier, page, compile_, keygen, sign_, project_, validate_)
main.commands.clear()  # the help lists commands in the order of work
for _command in (init, studio, check, size, *_OTHERS):
    main.add_command(_command)
