"""ldp-survey studio: opens the browser on an application in which authors write and try a survey."""

from __future__ import annotations

from pathlib import Path

import click

from encoders.late_imports import LateImport
from ldp_aggregator.cli.help import Command, advanced_option, argument, option

_SERVER = LateImport("ldp_design.studio.server:serve_studio", "author", "ldp-survey studio")


@click.command(cls=Command)
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

    _SERVER.load()(survey, port, announce, opens_browser=not no_browser)
