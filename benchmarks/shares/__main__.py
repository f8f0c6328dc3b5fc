"""Measure shares, means and comparisons of classes, and write the tables of docs/results/shares.md.

    LDP_DATA=DIRECTORY python -m benchmarks.shares [--surveys 400] [--page COPY.md]

DIRECTORY contains yrbss.csv; without it, only made-up people are measured. A stopped run continues after the
last finished part. `--fresh` begins again.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from functools import partial
from pathlib import Path

import click

from benchmarks.shares.coverage import SETTINGS, measure_coverage
from benchmarks.shares.looks import CHUNK, SURVEYS, watch_surveys
from benchmarks.shares.page import Results, write_page
from benchmarks.shares.people import measure_people
from benchmarks.shares.populations import MADE_UP
from encoders.progress import show_progress

Rows = list[dict[str, object]]
_FILE = click.Path(dir_okay=False, path_type=Path)
_FOLDER = click.Path(exists=True, file_okay=False, path_type=Path)


def list_jobs(surveys: int, directory: Path | None) -> Iterator[tuple[str, str, Callable[[], Rows]]]:
    """Yield the table, the name and the work of each part."""
    for setting in SETTINGS:
        if directory or setting.data == MADE_UP:
            yield "coverage", str(setting), partial(measure_coverage, setting, surveys, directory)
    yield "people", "people", partial(measure_people, surveys)
    for what in SURVEYS:
        for start in range(0, surveys, CHUNK):
            count = min(CHUNK, surveys - start)
            yield "looks", f"{what} {start}", partial(watch_surveys, what, start, count)


def measure(surveys: int, directory: Path | None, path: Path, processes: int | None) -> Results:
    """Run the parts that the file of results does not contain, and return all of its rows by table."""
    path.parent.mkdir(parents=True, exist_ok=True)
    lines = [json.loads(line) for line in path.read_text("utf-8").splitlines()] if path.exists() else []
    found = {(line["surveys"], line["name"]): line for line in lines}
    jobs = list(list_jobs(surveys, directory))
    missing = [job for job in jobs if (surveys, job[1]) not in found]
    with (
        ProcessPoolExecutor(processes) as pool,
        show_progress("measuring", len(missing), "parts") as progress,
        path.open("a", encoding="utf-8") as file,
    ):
        futures = {pool.submit(work): name for _, name, work in missing}
        for done in as_completed(futures):
            line = {"surveys": surveys, "name": futures[done], "rows": done.result()}
            file.write(json.dumps(line) + "\n")
            file.flush()
            found[surveys, futures[done]] = line
            progress.advance()
    results: Results = {}
    for table, name, _ in jobs:
        results.setdefault(table, []).extend(found[surveys, name]["rows"])
    return results


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
    for line in write_page(page, measure(surveys, directory, results, processes)):
        click.echo(line)


if __name__ == "__main__":
    main()
