"""ldp-survey size: the margins and the accuracy to expect of a survey before its launch."""

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
    """A share between 0 and 1; the error explains its form to people who write percent."""

    name = "share"

    def __init__(self) -> None:
        super().__init__(0, 1, min_open=True, max_open=True)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        try:
            return super().convert(value, param, ctx)
        except click.BadParameter as error:
            raise click.BadParameter(f"{error.message.rstrip('.')}: write it as in 0.05") from error


@click.command()
@click.argument("survey", type=_FILE)
@click.option(
    "--users",
    type=click.IntRange(1, MAX_USERS),
    help="How many people will answer; by default what [survey] users says.",
)
@click.option(
    "--margin", type=_Share(), help="How many people it takes for margins of at most this, as in 0.05"
)
@click.option(
    "--accuracy", type=_Share(), help="How many people it takes for a model that is right so often, as in 0.8"
)
@click.option("--pilot", type=_FILE, help="Of people like these: ldp-train's model, or a snapshot.")
@click.option(
    "--seed", type=click.IntRange(min=0), default=0, show_default=True, help="Of simulated surveys."
)
@click.option(
    "--json", "as_json", is_flag=True, help="Print a JSON list: of each number of people every figure."
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
    """Print what to expect of SURVEY before its launch: how exact its estimates and how accurate a model.

    Margins come in closed form from public numbers, accuracies from simulated surveys. Where the estimates
    would be noise it prints what to change. Without --users, --margin, --accuracy and users in [survey] it
    prints a small table of several numbers of people.
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
                "--accuracy needs --pilot: how often a model is right depends on how much the features tell "
                "of the label, which only people can say. Let some answer, train on their reports, and give "
                "that model; or see by --users what features that tell little or much would bring"
            )

        def on_attempt(users: int) -> None:
            click.echo(f"simulating {format_people(users)}", err=True)

        return [size_for_accuracy(survey, accuracy, pilot, seed=seed, on_attempt=on_attempt)]
    if users is None:
        return compare_sizes(survey, pilot)
    length = DEFAULT_REPEATS * (1 if pilot else len(FEATURE_STRENGTHS))
    with click.progressbar(length=length, label="simulating", file=sys.stderr) as bar:
        return [size_for_users(survey, users, pilot, seed=seed, progress=bar.update)]
