"""Where a command writes its result, checked before the command computes it."""

from __future__ import annotations

import os
from pathlib import Path
from tempfile import TemporaryFile
from typing import Any

import click


class OutputFile(click.Path):
    """The path of a file to write, in a folder that exists and takes new files.

    Parameters
    ----------
    in_place : bool
        Whether an existing file is written to; otherwise a new file in its folder replaces it.
    """

    def __init__(self, in_place: bool = False) -> None:
        super().__init__(dir_okay=False, path_type=Path)
        self._in_place = in_place

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Refuse a path where nothing can be written, by the name of its option."""
        path = Path(os.fsdecode(super().convert(value, param, ctx)))
        option = param.opts[-1] if param else "output"
        if not path.parent.is_dir():
            raise click.UsageError(f"{option}: there is no folder {path.parent}", ctx)
        if path.exists() and (self._in_place or not path.is_file()):
            if not os.access(path, os.W_OK):
                raise click.UsageError(f"{option}: {path} cannot be written; choose another file", ctx)
            return path
        try:
            TemporaryFile(dir=path.parent).close()  # permissions alone do not show a read-only file system
        except OSError as error:
            why = f"no file can be written to {path.parent}: {error.strerror}; choose another folder"
            raise click.UsageError(f"{option}: {why}", ctx) from error
        return path
