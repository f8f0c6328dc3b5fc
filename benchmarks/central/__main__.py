"""Measure training by a trusted curator side by side with other libraries; write docs/results/central.md.

    make accuracy LDP_DATA=DIRECTORY
    python -m benchmarks.central DIRECTORY [--sets car,chess] [--splits 20] [--page COPY.md] [--only-write]

The other libraries are diffprivlib and interpret; without them, only ours is measured. Surveys are drafted by
`ldp-survey init` from the whole files, which is allowed for public data only. Noise comes from the operating
system, so results differ a little between runs. A stopped run continues after the last finished cell; with
other data or other code it is refused.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
from collections.abc import Iterable, Sequence
from functools import partial
from pathlib import Path

import click

from benchmarks.accuracy.grid import Cell
from benchmarks.accuracy.origin import digest_of, digest_of_code
from benchmarks.accuracy.page import fill, parted
from benchmarks.accuracy.results import MissingError, Results, Settings, begun
from benchmarks.central import peers
from benchmarks.central.cells import Task, accuracy_cells, is_measurable, measure, timed_cells
from benchmarks.central.data_sets import DATA_SETS
from benchmarks.central.tables import SUMMARIES, data_set
from encoders.errors import LdpError
from encoders.progress import show_progress

SOURCES = (
    "encoders/exact_samplers.py",
    "encoders/randomness.py",
    "encoders/survey/**/*.py",
    "ldp_design/authoring/column_types.py",
    "ldp_design/authoring/draft.py",
    "ldp_central/**/*.py",
    "ldp_aggregator/estimation/bayes/*.py",
    "ldp_aggregator/estimation/numeric/*.py",
    "benchmarks/central/cells.py",
    "benchmarks/central/data_sets.py",
    "benchmarks/central/ours.py",
    "benchmarks/central/peers.py",
)
_FOLDER = click.Path(exists=True, file_okay=False, path_type=Path)
_FILE = click.Path(dir_okay=False, path_type=Path)


@click.command(help=(__doc__ or "").partition("\n")[0])
@click.argument("directory", envvar="LDP_DATA", required=False, type=_FOLDER)
@click.option("--sets", default=",".join(DATA_SETS), show_default=True, help="Files NAME.csv of DIRECTORY.")
@click.option("--splits", type=click.IntRange(min=2), default=20, show_default=True)
@click.option("--seed", type=click.IntRange(min=0), default=1, show_default=True, help="Of the splits.")
@click.option("--processes", type=click.IntRange(min=1), default=os.cpu_count(), show_default=True)
@click.option("--results", type=_FILE, default=Path("build/central.jsonl"), show_default=True)
@click.option("--fresh", is_flag=True, help="Delete the results in the file of results first.")
@click.option("--page", type=_FILE, default=Path("docs/results/central.md"), show_default=True)
@click.option("--only-write", is_flag=True, help="Measure nothing; write the tables from the results.")
def main(
    directory: Path | None,
    sets: str,
    splits: int,
    seed: int,
    processes: int,
    results: Path,
    fresh: bool,
    page: Path,
    only_write: bool,
) -> None:
    names = [name for name in DATA_SETS if name in sets.split(",")]
    if not names:
        raise click.UsageError(f"--sets names none of {', '.join(DATA_SETS)}")
    if fresh and only_write:
        raise click.UsageError("--fresh deletes the results that --only-write would write")
    try:
        if fresh and begun(results):
            results.unlink()
        if only_write:
            found = Results(results)
        elif directory is None:
            raise click.UsageError("give the DIRECTORY of the data sets, or set LDP_DATA to it")
        else:
            digests = {name: digest_of(directory / f"{name}.csv") for name in names}
            found = Results(results, Settings(splits, seed, digest_of_code(SOURCES)), digests)
            measure_missing(found, directory, names, processes)
        for line in write(found, names, page):
            click.echo(line)
    except (LdpError, OSError) as error:
        raise click.ClickException(str(error)) from error


def measure_missing(found: Results, directory: Path, names: Sequence[str], processes: int) -> None:
    """Measure the missing cells: accuracies in several processes, times in one process after them."""
    if not peers.INSTALLED:
        click.echo("diffprivlib or interpret is not installed: only ours is measured", err=True)
    for cells, workers in ((accuracy_cells(names), processes), (timed_cells(names), 1)):
        wanted = [cell for cell in cells if is_measurable(cell) and cell not in found.found]
        with show_progress("measuring", len(wanted), "cells") as progress:
            for _ in measure_cells(found, wanted, directory, workers):
                progress.advance(1)


def measure_cells(found: Results, wanted: Sequence[Cell], directory: Path, processes: int) -> Iterable[Cell]:
    """Measure cells in new processes of one thread each; yield each cell after it is stored."""
    if not wanted:
        return
    for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
        os.environ[name] = "1"
    tasks = [Task(directory, cell, found.settings.repeats, found.settings.seed) for cell in wanted]
    context = multiprocessing.get_context("spawn")  # new interpreters, which read the environment
    with context.Pool(processes, signal.signal, (signal.SIGINT, signal.SIG_IGN)) as pool:
        for cell, repeats in zip(wanted, pool.imap(measure, tasks), strict=True):
            found.append(cell, repeats)
            yield cell


def write(found: Results, names: Sequence[str], page: Path) -> Iterable[str]:
    """Write every table whose cells are all measured; yield a line on each table."""
    tables = {name: partial(data_set, found, name) for name in names}
    tables |= {name: partial(table, found, DATA_SETS) for name, table in SUMMARIES.items()}
    text = page.read_text("utf-8")
    for name in tables:
        parted(page, text, name)  # a page without a place for a table is refused before any is written
    for name, table in tables.items():
        try:
            fill(page, name, table())
        except MissingError as error:
            yield f"{name}: not changed, not measured: {error}"
        else:
            yield f"{name}: written"


if __name__ == "__main__":
    main()
