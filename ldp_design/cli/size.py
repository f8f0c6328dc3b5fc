"""ldp-survey size: prints the expected margins and accuracy of a survey before its launch."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from datetime import date
from decimal import Decimal
from pathlib import Path

import click

from encoders.progress import show_progress
from encoders.survey import Survey, read_survey
from encoders.survey.any_survey import read_any_survey, read_survey_file
from encoders.survey.silo_plan import SiloSurvey
from encoders.survey.wave_calendar import schedule_waves
from encoders.survey.waves import DRAWN, MAX_WAVES, Waves
from ldp_aggregator.cli.file_options import INPUT_FILE
from ldp_aggregator.cli.help import Command, advanced_option, argument, option
from ldp_aggregator.estimation.validation_result import refuse_validation
from ldp_aggregator.wording.values import count_people
from ldp_design.cli.option_values import Share, count_options, epsilons_option
from ldp_design.sizing import assumed_people, survey_size
from ldp_design.sizing.forecast import DEFAULT_REPEATS
from ldp_design.sizing.silo_size import compare_silo_sizes, find_rows_for_margin
from ldp_design.sizing.size_summary import format_comparison, format_questions, format_silo_sizes, format_size


@click.command(cls=Command)
@argument("survey", type=INPUT_FILE, help="The survey, a TOML file.")
@count_options
@option(
    "--margin",
    type=Share(),
    help="Compute how many people or rows are needed for margins of at most this, for example 0.05.",
)
@option(
    "--accuracy",
    type=Share(),
    help="Compute how many people are needed for a model of this accuracy, for example 0.8. Needs --pilot.",
)
@option(
    "--questions",
    is_flag=True,
    help="Compute how many people 1, 5 and 10 yes/no questions need, with and without a label.",
)
@option("--pilot", type=INPUT_FILE, help="The model, from ldp-train, or a snapshot of an earlier survey.")
@epsilons_option
@option(
    "--waves",
    type=click.IntRange(1, MAX_WAVES),
    metavar="N",
    show_default="count in [waves]",
    help="The number of waves, to try another one.",
)
@option(
    "--label-shares",
    "shares_text",
    metavar="LABEL=SHARE,...",
    show_default="equal shares",
    help="The expected shares of the labels, for example yes=0.1,no=0.9.",
)
@option(
    "--json", "as_json", is_flag=True, help="Print a JSON list with one object for each number of people."
)
@advanced_option("--seed", type=click.IntRange(min=0), default=0, help="The seed of the simulations.")
def size(
    survey: Path,
    users: int | None,
    rows: int | None,
    silos: int | None,
    margin: float | None,
    accuracy: float | None,
    questions: bool,
    epsilons: list[Decimal],
    waves: int | None,
    shares_text: str | None,
    pilot: Path | None,
    seed: int,
    as_json: bool,
) -> None:
    """Print the expected precision of the estimates of SURVEY.

    Margins are computed in closed form from public numbers. If the survey has a label, margins for the people
    of one class are added, and the accuracy of a model, which is computed from simulated surveys. A
    margin is half of a 95% interval. A feature is noise if its margin is more than 60% of the typical
    estimate or, if it is a share, more than 25%; changes that prevent this are printed.

    If neither --users, --margin, --accuracy nor users in [survey] is given, a table compares several numbers
    of people. If --epsilon has several values, a table compares them, without accuracies unless --accuracy is
    given. Of a survey with waves, --users is the number of people in all waves together; margins of levels,
    changes and slopes follow, and what other numbers of waves, questions and people would change. For a silo
    survey, give --rows and --silos instead of --users; their margins follow from the noise.

    $ ldp-survey size survey.toml
    $ ldp-survey size survey.toml --users 2000
    $ ldp-survey size survey.toml --margin 0.05 --epsilon 1,2
    $ ldp-survey size survey.toml --accuracy 0.8 --pilot model.json
    $ ldp-survey size survey.toml --questions --margin 0.05
    $ ldp-survey size survey.toml --users 20000 --waves 4
    """
    if sum(each is not None for each in (users or rows, margin, accuracy)) > 1:
        raise click.UsageError("give one of --users, --margin and --accuracy (of silos: --rows or --margin)")
    if questions and (users or accuracy or pilot or shares_text):
        raise click.UsageError("--questions goes with --margin, --epsilon and --json only")
    written = read_survey_file(survey, read_any_survey)
    if isinstance(written, SiloSurvey):
        if users or accuracy or pilot or questions or waves:
            raise click.UsageError("people do not answer this survey: give --rows, --silos or --margin")
        _print_silos(written, rows, silos, margin, epsilons, shares_text, as_json)
        return
    if rows or silos:
        raise click.UsageError("--rows and --silos are for silo surveys: give --users")
    parsed = read_survey_file(survey, read_survey)
    refuse_validation(parsed)
    whole = _choose_waves(parsed, waves, users)
    parsed = whole.of_one_wave()
    users = parsed.users if whole.waves else users or parsed.users
    surveys = [replace(parsed, epsilon=each) for each in epsilons] or [parsed]
    if questions:
        _print_questions(surveys, margin or survey_size.DEFAULT_MARGIN, as_json)
        return
    shares = _parse_shares(shares_text, parsed.label.values, pilot)
    known = assumed_people.read_pilot(pilot) if pilot else None
    common = users, margin, accuracy, known, seed, shares, len(surveys) > 1
    sizes = [size for each in surveys for size in _compute_sizes(each, *common)]
    if whole.waves and len(sizes) == 1:
        total = None if margin or accuracy else whole.users
        sizes = [survey_size.add_series(sizes[0], len(whole.waves.list), total)]
    _print_sizes(sizes, len(surveys) > 1, as_json)


def _choose_waves(survey: Survey, count: int | None, users: int | None) -> Survey:
    """Return the survey with so many waves, and with so many people if it has waves."""
    if count:
        steps = schedule_waves(date(2000, 1, 1), "day", count, None)
        survey = replace(survey, waves=Waves(DRAWN, steps) if count > 1 else None)
    if waves := survey.waves:
        survey, count = replace(survey, users=users or survey.users), len(waves.list)
        waves.check(len(survey.of_one_wave().compile().questions))
        click.echo(
            f"the survey has {count} waves: numbers of people and margins are those of one wave, which has "
            f"1/{count} of the people, but for the tables of the whole series",
            err=True,
        )
    return survey


def _print_sizes(sizes: Sequence[survey_size.Size], by_epsilon: bool, as_json: bool) -> None:
    if as_json:
        click.echo(json.dumps([each.as_dict() for each in sizes]))
    elif len(sizes) == 1:
        click.echo(format_size(sizes[0]))
    else:
        click.echo(format_comparison(sizes, by_epsilon=by_epsilon))


def _parse_shares(
    text: str | None, labels: Sequence[str], pilot: Path | None
) -> assumed_people.LabelShares | None:
    if text is None:
        return None
    if pilot:
        raise click.UsageError("give --label-shares or --pilot, not both: a pilot estimates the shares")
    try:
        return assumed_people.parse_label_shares(text, labels)
    except assumed_people.LabelSharesError as error:
        raise click.UsageError(f"--label-shares: {error}") from error


def _print_questions(surveys: Sequence[Survey], margin: float, as_json: bool) -> None:
    found = [each for survey in surveys for each in survey_size.size_questions(survey, margin)]
    rows = [each._asdict() for each in found]
    click.echo(json.dumps(rows) if as_json else format_questions(found, margin))


def _print_silos(
    survey: SiloSurvey,
    rows: int | None,
    silos: int | None,
    margin: float | None,
    epsilons: list[Decimal],
    shares_text: str | None,
    as_json: bool,
) -> None:
    shares = _parse_shares(shares_text, survey.label.values, None)
    surveys = [replace(survey, epsilon=each) for each in epsilons] or [survey]
    if margin is None:
        sizes = [size for each in surveys for size in compare_silo_sizes(each, rows, silos, shares)]
    elif silos is None:
        raise click.UsageError("--margin needs --silos: the noise grows with the number of messages")
    else:
        sizes = [find_rows_for_margin(each, margin, silos, shares) for each in surveys]
    text = json.dumps([each.as_dict() for each in sizes]) if as_json else format_silo_sizes(sizes)
    click.echo(text)


def _compute_sizes(
    survey: Survey,
    users: int | None,
    margin: float | None,
    accuracy: float | None,
    pilot: assumed_people.Pilot | None,
    seed: int,
    label_shares: assumed_people.LabelShares | None,
    is_comparison: bool,
) -> list[survey_size.Size]:
    if margin is not None:
        return [survey_size.size_for_margin(survey, margin, pilot, label_shares)]
    if accuracy is not None:
        if not survey.label.exists:
            raise click.UsageError("--accuracy is about a model that predicts a label: this survey has none")
        if pilot is None:
            raise click.UsageError(
                "--accuracy needs --pilot: accuracy depends on how strongly the features are related to the "
                "label, which is unknown before people answer. Train a model on the reports of some people "
                "and give it as --pilot; or use --users for weakly and for strongly related features"
            )

        def on_attempt(users: int) -> None:
            click.echo(f"simulating {count_people(users)}", err=True)

        return [survey_size.size_for_accuracy(survey, accuracy, pilot, seed=seed, on_attempt=on_attempt)]
    if users is None:
        return survey_size.compare_sizes(survey, pilot, label_shares=label_shares)
    if is_comparison:
        return survey_size.compare_sizes(survey, pilot, [users], label_shares)
    if not survey.label.exists:
        return [survey_size.size_for_users(survey, users, pilot)]
    length = DEFAULT_REPEATS * (1 if pilot else len(assumed_people.FEATURE_STRENGTHS))
    with show_progress("simulating", length, "surveys") as progress:
        return [
            survey_size.size_for_users(
                survey, users, pilot, DEFAULT_REPEATS, seed, progress.advance, label_shares
            )
        ]
