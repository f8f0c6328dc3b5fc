"""The option --version of every command."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import click

from encoders import __version__

Command = TypeVar("Command", bound=Callable[..., Any] | click.Command)


def version_option(command: Command) -> Command:
    """Add the option --version to a command.

    Each command needs an option of its own: click stores the first program name in it.
    """
    option = click.version_option(
        __version__,
        message="%(prog)s %(version)s",
        allow_from_autoenv=False,  # LDP_COLLECTOR_VERSION=1 must not print the version
    )
    return option(command)
