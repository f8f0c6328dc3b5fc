"""The whole comparison of accuracy, measured and written into docs/accuracy.md.

    make accuracy LDP_DATA=DIRECTORY
    python -m benchmarks.accuracy DIRECTORY [--sets car,chess] [--repeats 5] [--page COPY.md] [--only-write]

DIRECTORY (or LDP_DATA) holds one CSV file per data set, the label in the column `class`. Categories are read
off the rows, which is fine for public data and nothing else. A run that was stopped goes on where it was,
after the last finished cell. To measure one way anew, delete its lines from the file of results.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

import click

from benchmarks.accuracy.grid import DATA_SETS, cells
from benchmarks.accuracy.page import write
from benchmarks.accuracy.plain import INSTALLED
from benchmarks.accuracy.results import Results, Settings
from benchmarks.accuracy.run import run
from encoders.errors import LdpError

_FOLDER = click.Path(exists=True, file_okay=False, path_type=Path)
_FILE = click.Path(dir_okay=False, path_type=Path)


@click.command(help=(__doc__ or "").partition("\n")[0])
@click.argument("directory", envvar="LDP_DATA", required=False, type=_FOLDER)
@click.option("--sets", default=",".join(DATA_SETS), show_default=True, help="Files NAME.csv of DIRECTORY.")
@click.option("--repeats", type=click.IntRange(min=1), default=100, show_default=True)
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True)
@click.option("--processes", type=click.IntRange(min=1), default=os.cpu_count(), show_default=True)
@click.option("--results", type=_FILE, default=Path("build/accuracy.jsonl"), show_default=True)
@click.option("--fresh", is_flag=True, help="Forget what the file of results holds.")
@click.option("--page", type=_FILE, default=Path("docs/accuracy.md"), show_default=True)
@click.option("--only-write", is_flag=True, help="Measure nothing: write what the file of results holds.")
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
    names = [name.strip() for name in sets.split(",")]
    try:
        if only_write:
            found = Results(results)
        else:
            if fresh:
                results.unlink(missing_ok=True)
            found = Results(results, Settings(repeats, seed))
            measure(found, names, directory, processes)
        for line in write(found, names, page):
            click.echo(line)
    except (LdpError, OSError) as error:
        raise click.ClickException(str(error)) from error


def measure(found: Results, names: list[str], directory: Path | None, processes: int) -> None:
    """Measure what is missing, and show how far it is."""
    if directory is None:
        raise click.UsageError("name the DIRECTORY of the data sets, or set LDP_DATA to it")
    if not INSTALLED:
        click.echo("multi-freq-ldpy is not installed: its estimators are left out", err=True)
    wanted = [cell for cell in cells(names) if cell not in found.found]
    length = sum(cell.repeats(found.settings.repeats) for cell in wanted)
    with click.progressbar(length=length, label="measuring", file=sys.stderr) as bar:
        run(found, wanted, directory, processes, bar.update)


if __name__ == "__main__":
    main()
