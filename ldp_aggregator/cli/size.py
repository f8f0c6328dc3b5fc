"""ldp-survey size: prints the expected margins and accuracy of a survey before its launch."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import click

from encoders.survey import Survey, read_survey
from ldp_aggregator.authoring.toml_edit import read_survey_text
from ldp_aggregator.estimation.validation_result import refuse_validation
from ldp_aggregator.sizing.forecast import DEFAULT_REPEATS
from ldp_aggregator.sizing.pilot import Pilot, read_pilot
from ldp_aggregator.sizing.sample_size import MAX_USERS
from ldp_aggregator.sizing.size import (
    FEATURE_STRENGTHS,
    Size,
    compare_sizes,
    size_for_accuracy,
    size_for_margin,
    size_for_users,
)
from ldp_aggregator.sizing.summary import format_comparison, format_people, format_size

_FILE = click.Path(exists=True, dir_okay=False, path_type=Path)


class _Share(click.FloatRange):
    """A share between 0 and 1; the error message shows the form 0.05, for people who write percent."""

    name = "share"

    def __init__(self) -> None:
        super().__init__(0, 1, min_open=True, max_open=True)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        try:
            return super().convert(value, param, ctx)
        except click.BadParameter as error:
            raise click.BadParameter(f"{error.message.rstrip('.')}: write it as in 0.05") from error


@click.command(short_help="Print the expected precision of the estimates of SURVEY.")
@click.argument("survey", type=_FILE)
@click.option(
    "--users",
    type=click.IntRange(1, MAX_USERS),
    help="Number of people who will answer; by default users in [survey].",
)
@click.option(
    "--margin",
    type=_Share(),
    help="Find how many people are needed for margins of at most this, for example 0.05.",
)
@click.option(
    "--accuracy",
    type=_Share(),
    help="Find how many people are needed for a model of this accuracy, for example 0.8.",
)
@click.option("--pilot", type=_FILE, help="The model (from ldp-train) or snapshot of an earlier survey.")
@click.option(
    "--seed", type=click.IntRange(min=0), default=0, show_default=True, help="Seed of the simulations."
)
@click.option(
    "--json", "as_json", is_flag=True, help="Print a JSON list with one object for each number of people."
)
def size(
    survey: Path,
    users: int | None,
    margin: float | None,
    accuracy: float | None,
    pilot: Path | None,
    seed: int,
    as_json: bool,
) -> None:
    """Print the expected margins of SURVEY's estimates and the expected accuracy of a model.

    Margins are computed in closed form from public numbers, accuracies from simulated surveys. If estimates
    would be noise, changes that help are printed. Without --users, --margin, --accuracy and users in
    [survey], a small table compares several numbers of people.
    """
    if sum(each is not None for each in (users, margin, accuracy)) > 1:
        raise click.UsageError("give one of --users, --margin and --accuracy")
    parsed = read_survey(read_survey_text(survey))
    refuse_validation(parsed)
    sizes = _compute_sizes(
        parsed, users or parsed.users, margin, accuracy, read_pilot(pilot) if pilot else None, seed
    )
    if as_json:
        click.echo(json.dumps([each.as_dict() for each in sizes]))
    else:
        click.echo(format_size(sizes[0]) if len(sizes) == 1 else format_comparison(sizes))


def _compute_sizes(
    survey: Survey,
    users: int | None,
    margin: float | None,
    accuracy: float | None,
    pilot: Pilot | None,
    seed: int,
) -> list[Size]:
    if margin is not None:
        return [size_for_margin(survey, margin, pilot)]
    if accuracy is not None:
        if pilot is None:
            raise click.UsageError(
                "--accuracy needs --pilot: accuracy depends on how strongly the features are related to the "
                "label, which is unknown before people answer. Train a model on the reports of some people "
                "and give it as --pilot; or use --users for weakly and for strongly related features"
            )

        def on_attempt(users: int) -> None:
            click.echo(f"simulating {format_people(users)}", err=True)

        return [size_for_accuracy(survey, accuracy, pilot, seed=seed, on_attempt=on_attempt)]
    if users is None:
        return compare_sizes(survey, pilot)
    length = DEFAULT_REPEATS * (1 if pilot else len(FEATURE_STRENGTHS))
    with click.progressbar(length=length, label="simulating", file=sys.stderr) as bar:
        return [size_for_users(survey, users, pilot, seed=seed, progress=bar.update)]
