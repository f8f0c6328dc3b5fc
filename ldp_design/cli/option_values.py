"""Parses values of options: lists separated by commas, and shares."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import click

from encoders.errors import LdpError, SurveyError
from ldp_aggregator.cli.file_options import Count
from ldp_aggregator.cli.help import option
from ldp_aggregator.simulated_population import parse_epsilon
from ldp_design.sizing.sample_size import MAX_USERS

Value = TypeVar("Value")


def list_parser(
    parse: Callable[[str], Value],
) -> Callable[[click.Context, click.Parameter, str | None], list[Value]]:
    """Return the callback of an option that reads values separated by commas; each value counts once."""

    def read(_context: click.Context, _parameter: click.Parameter, text: str | None) -> list[Value]:
        parts = [] if text is None else text.split(",")
        try:
            return list(dict.fromkeys(parse(part.strip()) for part in parts))
        except SurveyError as error:
            raise click.BadParameter(f"{error.why}; separate several by commas") from None
        except LdpError as error:
            raise click.BadParameter(str(error)) from None

    return read


parse_epsilons = list_parser(parse_epsilon)
epsilons_option = option(
    "--epsilon",
    "epsilons",
    metavar="NUMBER,...",
    callback=parse_epsilons,
    show_default="epsilon in [survey]",
    help="The values of epsilon to compare, for example 0.5,1,2.",
)


class Share(click.FloatRange):
    """A share between 0 and 1; the error message shows the form 0.05, for people who write percent."""

    name = "share"

    def __init__(self) -> None:
        super().__init__(0, 1, min_open=True, max_open=True)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        try:
            return super().convert(value, param, ctx)
        except click.BadParameter as error:
            raise click.BadParameter(f"{error.message.rstrip('.')}: write it as in 0.05") from error


def count_options(command: Callable[..., None]) -> Callable[..., None]:
    """Add the options on how many people answer, or how many rows and messages silos send."""
    options = {
        "--silos": "The number of messages, one for each silo and epoch (silo survey).",
        "--rows": "The number of rows of all silos together (silo survey).",
        "--users": "The number of people who will answer.",
    }
    for name, text in options.items():  # the help lists the last decorator first
        source = "users in [survey]" if name == "--users" else None
        add_option = option(name, type=Count(1, MAX_USERS), show_default=source, help=text)
        command = add_option(command)
    return command
