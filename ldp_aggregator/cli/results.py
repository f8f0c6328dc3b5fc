"""ldp-results: writes the results of a survey, or the comparison of two, as one HTML page."""

from __future__ import annotations

from pathlib import Path

import click

from ldp_aggregator.atomic_file import write_atomically
from ldp_aggregator.cli.file_options import OutputFile, language_options, read_language, require_distinct
from ldp_aggregator.cli.help import Command, argument, option, version_option
from ldp_aggregator.results_file import read_results
from ldp_aggregator.statements import TEXTS
from ldp_aggregator.views.estimate_rows import dump_table
from ldp_aggregator.views.results_page import render_page
from ldp_aggregator.views.series_sections import build_full_table
from ldp_aggregator.wording.language import write_in
from ldp_aggregator.wording.values import WORDS

_PATH = click.Path(dir_okay=False, path_type=Path)


@click.command(cls=Command)
@argument("file", type=_PATH, help="A model file, from ldp-train or ldp-central, or a snapshot.")
@argument("other", type=_PATH, required=False, help="A second file, to compare. No report may be in both.")
@option("-o", "--output", type=OutputFile(), required=True, help="The HTML page to write.")
@option("--csv", "csv_file", type=OutputFile(), help="Write all estimates of FILE to this CSV file, too.")
@option(
    "--independent",
    is_flag=True,
    help="Confirm that no report is in both files. Needed to compare two files of one survey, or two of its "
    "rounds.",
)
@language_options
@option("--note", default="", help="A sentence to show in the summary, for example on a test of the model.")
@version_option
def main(
    file: Path,
    other: Path | None,
    output: Path,
    csv_file: Path | None,
    independent: bool,
    language: str,
    words: tuple[Path, ...],
    note: str,
) -> None:
    """Write the results in FILE as one HTML page.

    The page works alone: it loads no other file, no script, and nothing from the network. If OTHER is given,
    the page also lists the estimates that differ between the two surveys by more than their noise. Models of
    ldp-central cannot be compared.

    The page is in English, German, or a language whose words you translate: see docs/page.md.

    $ ldp-results model.json -o results.html
    $ ldp-results model.json --language de -o ergebnisse.html
    $ ldp-results model-2026.json model-2027.json -o comparison.html
    """
    require_distinct({"--output": output, "--csv": csv_file}, [file, other, *words])
    results, compared = read_results(file), read_results(other) if other else None
    with write_in(read_language(language, results.plan.texts, words, [WORDS, TEXTS])):
        page = render_page(results, compared, independent=independent, note=note)
    contents = {output: page}
    if csv_file:
        contents[csv_file] = dump_table(build_full_table(results)).encode()
    for path, content in contents.items():
        write_atomically(path, content, public=True)
        click.echo(f"wrote {path}")
