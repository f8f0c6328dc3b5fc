"""The option --version of every command."""

from __future__ import annotations

import click

from encoders import __version__

version_option = click.version_option(
    __version__,
    message="%(prog)s %(version)s",
    allow_from_autoenv=False,  # LDP_COLLECTOR_VERSION must not make ldp-collector print its version and exit
)
