"""Measure shares, means and comparisons of classes, and write the tables of docs/results/shares.md.

    LDP_DATA=DIRECTORY python -m benchmarks.shares [--surveys 400] [--page COPY.md]

DIRECTORY contains yrbss.csv; without it, only made-up people are measured. A stopped run continues after the
last finished part. `--fresh` begins again.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path

import click

from benchmarks.parts import Job, measure
from benchmarks.shares.coverage import SETTINGS, measure_coverage
from benchmarks.shares.looks import CHUNK, SURVEYS, watch_surveys
from benchmarks.shares.page import write_page
from benchmarks.shares.people import measure_people
from benchmarks.shares.populations import MADE_UP

_FILE = click.Path(dir_okay=False, path_type=Path)
_FOLDER = click.Path(exists=True, file_okay=False, path_type=Path)


def list_jobs(surveys: int, directory: Path | None) -> Iterator[Job]:
    """Yield the table, the name and the work of each part."""
    for setting in SETTINGS:
        if directory or setting.data == MADE_UP:
            yield "coverage", str(setting), partial(measure_coverage, setting, surveys, directory)
    yield "people", "people", partial(measure_people, surveys)
    for what in SURVEYS:
        for start in range(0, surveys, CHUNK):
            count = min(CHUNK, surveys - start)
            yield "looks", f"{what} {start}", partial(watch_surveys, what, start, count)


@click.command(help=(__doc__ or "").partition("\n")[0])
@click.argument("directory", envvar="LDP_DATA", required=False, type=_FOLDER)
@click.option("--surveys", type=click.IntRange(min=2), default=400, show_default=True)
@click.option("--processes", type=click.IntRange(min=1), default=None, help="By default one for each core.")
@click.option("--results", type=_FILE, default=Path("build/shares.jsonl"), show_default=True)
@click.option("--page", type=_FILE, default=Path("docs/results/shares.md"), show_default=True)
@click.option("--fresh", is_flag=True, help="Delete the results in the file of results first.")
def main(
    directory: Path | None, surveys: int, processes: int | None, results: Path, page: Path, fresh: bool
) -> None:
    if fresh:
        results.unlink(missing_ok=True)
    for line in write_page(page, measure(list_jobs(surveys, directory), surveys, results, processes)):
        click.echo(line)


if __name__ == "__main__":
    main()
