"""Measure the whole comparison of accuracy, and write it into docs/results/accuracy.md.

    make accuracy LDP_DATA=DIRECTORY
    python -m benchmarks.accuracy DIRECTORY [--sets car,chess] [--repeats 5] [--page COPY.md] [--only-write]

DIRECTORY (or LDP_DATA) contains one CSV file per data set, with the label in the column `class`. Categories
are inferred from the rows, which is allowed for public data only. A stopped run continues after the last
finished cell; with other data or other code it is refused. To measure one method again, delete its lines from
the file of results.
"""

from __future__ import annotations

import os
from pathlib import Path

import click

from benchmarks.accuracy.grid import DATA_SETS, cells
from benchmarks.accuracy.origin import digest_of, digest_of_code
from benchmarks.accuracy.page import check, write
from benchmarks.accuracy.plain import INSTALLED
from benchmarks.accuracy.results import Results, Settings, begun
from benchmarks.accuracy.run import run
from benchmarks.accuracy.ways import table_of
from encoders.errors import LdpError
from encoders.progress import show_progress

_FOLDER = click.Path(exists=True, file_okay=False, path_type=Path)
_FILE = click.Path(dir_okay=False, path_type=Path)


@click.command(help=(__doc__ or "").partition("\n")[0])
@click.argument("directory", envvar="LDP_DATA", required=False, type=_FOLDER)
@click.option("--sets", default=",".join(DATA_SETS), show_default=True, help="Files NAME.csv of DIRECTORY.")
@click.option("--repeats", type=click.IntRange(min=1), default=100, show_default=True)
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True)
@click.option("--processes", type=click.IntRange(min=1), default=os.cpu_count(), show_default=True)
@click.option("--results", type=_FILE, default=Path("build/accuracy.jsonl"), show_default=True)
@click.option("--fresh", is_flag=True, help="Delete the results in the file of results first.")
@click.option("--page", type=_FILE, default=Path("docs/results/accuracy.md"), show_default=True)
@click.option(
    "--only-write", is_flag=True, help="Measure nothing; write the tables from the file of results."
)
def main(
    directory: Path | None,
    sets: str,
    repeats: int,
    seed: int,
    processes: int,
    results: Path,
    fresh: bool,
    page: Path,
    only_write: bool,
) -> None:
    names = list(dict.fromkeys(filter(None, map(str.strip, sets.split(",")))))
    if not names:
        raise click.UsageError("--sets contains no data set")
    if fresh and only_write:
        raise click.UsageError("--fresh deletes the results that --only-write would write")
    if not (directory or only_write):
        raise click.UsageError("give the DIRECTORY of the data sets, or set LDP_DATA to it")
    measured = None if only_write else directory
    files = {name: measured / f"{name}.csv" for name in names} if measured else {}
    try:
        for file in files.values():
            table_of(file)  # errors are found before anything is measured
        check(page, names)
        if measured:
            found = begin(results, Settings(repeats, seed, digest_of_code()), files, fresh)
            measure(found, names, measured, processes)
        else:
            found = Results(results)
        for line in write(found, names, page):
            click.echo(line)
    except (LdpError, OSError) as error:
        raise click.ClickException(str(error)) from error
    except KeyboardInterrupt:
        click.echo(f"\nstopped: the same command{', without --fresh,' * fresh} continues", err=True)
        raise


def begin(path: Path, settings: Settings, files: dict[str, Path], fresh: bool) -> Results:
    """Open the file of results, to continue or to begin it."""
    if fresh and begun(path):
        path.unlink()
    return Results(path, settings, {name: digest_of(file) for name, file in files.items()})


def measure(found: Results, names: list[str], directory: Path, processes: int) -> None:
    """Measure the missing cells, and show the progress."""
    if not INSTALLED:
        click.echo("multi-freq-ldpy is not installed: its estimators are left out", err=True)
    wanted = [cell for cell in cells(names) if cell not in found.found]
    length = sum(cell.repeats(found.settings.repeats) for cell in wanted)
    with show_progress("measuring", length, "repeats") as progress:
        run(found, wanted, directory, processes, progress.advance)


if __name__ == "__main__":
    main()
