"""Input and output files of commands; an output file is checked before the command computes its result."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryFile
from typing import Any

import click

from encoders.survey import Feature
from ldp_aggregator.atomic_file import require_replaceable
from ldp_aggregator.rows.csv_rows import read_typed_columns
from ldp_aggregator.rows.spellings import describe_rows


def read_rows(path: Path, features: Sequence[Feature], multiline: bool) -> dict[str, Sequence[object]]:
    """Read a CSV file of rows, and print how many cells are clipped and how many rows are left out."""
    columns = read_typed_columns(path, features, multiline=multiline)
    print_notes(describe_rows(features, columns))
    return columns


def print_notes(notes: Iterable[str]) -> None:
    """Print what only those who hold the rows may see; it is in no output file and no log."""
    for note in notes:
        click.echo(note, err=True)


INPUT_FILE = click.Path(exists=True, dir_okay=False, path_type=Path)


class OutputFile(click.Path):
    """The path of a file that :func:`~ldp_aggregator.atomic_file.write_atomically` will write."""

    def __init__(self) -> None:
        super().__init__(dir_okay=False, path_type=Path)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        path = Path(os.fsdecode(super().convert(value, param, ctx)))
        option = param.opts[-1] if param else "output"
        if not path.parent.is_dir():
            raise click.UsageError(f"{option}: there is no folder {path.parent}", ctx)
        try:
            require_replaceable(path)
        except OSError as error:
            raise click.UsageError(f"{option}: {path} {error.strerror}", ctx) from error
        try:
            TemporaryFile(dir=path.parent).close()  # permissions alone do not show a read-only file system
        except OSError as error:
            why = f"no file can be written to {path.parent}: {error.strerror}; choose another folder"
            raise click.UsageError(f"{option}: {why}", ctx) from error
        return path


def require_no_input(output: Path | None, inputs: Iterable[str | Path | None]) -> None:
    """Raise UsageError if the output is also an input of the command: a path, or a URL of a store."""
    for each in filter(None, inputs):
        path = str(each).removeprefix("sqlite:///")
        if output and output.exists() and os.path.exists(path) and os.path.samefile(output, path):
            raise click.UsageError(f"{output} is an input of this command too; give another output file")


def require_distinct(outputs: Mapping[str, Path | None], inputs: Iterable[str | Path | None]) -> None:
    option_of: dict[Path, str] = {}
    for option, path in outputs.items():
        require_no_input(path, inputs)
        if path and (other := option_of.setdefault(path.resolve(), option)) != option:
            raise click.UsageError(
                f"{other} and {option} are the same file, {path}: give two different files"
            )
