"""Where a command writes its result, checked before the command computes it."""

from __future__ import annotations

import os
from pathlib import Path
from tempfile import TemporaryFile
from typing import Any

import click

from ldp_aggregator.atomic_file import require_replaceable


class OutputFile(click.Path):
    """The path of a file to write by :func:`~ldp_aggregator.atomic_file.write_whole`."""

    def __init__(self) -> None:
        super().__init__(dir_okay=False, path_type=Path)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Refuse a path where nothing can be written, by the name of its option."""
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
