"""ldp-results: writes the results of a survey, or the comparison of two, as one HTML page."""

from __future__ import annotations

from pathlib import Path

import click

from encoders.errors import LdpError
from ldp_aggregator.atomic_file import write_atomically
from ldp_aggregator.cli.file_options import OutputFile, require_no_input
from ldp_aggregator.cli.version_option import version_option
from ldp_aggregator.results.page.page import render_page
from ldp_aggregator.results.page.source import read_results

_PATH = click.Path(dir_okay=False, path_type=Path)


@click.command()
@click.argument("file", type=_PATH)
@click.argument("other", type=_PATH, required=False)
@click.option("-o", "--output", type=OutputFile(), required=True, help="The HTML page to write.")
@click.option(
    "--independent",
    is_flag=True,
    help="Compare two files of one survey or of its rounds: no report is in both.",
)
@version_option
def main(file: Path, other: Path | None, output: Path, independent: bool) -> None:
    """Write the results in FILE as one HTML page, which needs no other file, no script and no network.

    FILE is a model file (from ldp-train or ldp-central) or a snapshot. With OTHER, the page also lists the
    estimates that differ between the two surveys by more than their noise. This assumes that nobody's report
    is in both. Models of ldp-central cannot be compared.
    """
    require_no_input(output, [file, other])
    try:
        page = render_page(
            read_results(file), read_results(other) if other else None, independent=independent
        )
        write_atomically(output, page, public=True)
    except (LdpError, OSError) as error:
        raise click.ClickException(str(error)) from error
    click.echo(f"wrote {output}")
