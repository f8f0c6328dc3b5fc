"""What was measured, in a file of JSON lines: settings first, then one line per cell as it is finished."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from benchmarks.accuracy.grid import Cell
from benchmarks.accuracy.ways import Found
from encoders.errors import LdpError

Floats = NDArray[np.float64]


class ResultsError(LdpError):
    """A file of results that cannot be gone on with."""


class MissingError(LdpError):
    """Something that was not measured."""


@dataclass(frozen=True)
class Settings:
    """What all cells of a file share."""

    repeats: int
    seed: int


class Results:
    """A file of results; what is appended is on the disk before the next cell begins.

    Parameters
    ----------
    path : Path
    settings : Settings, optional
        Of a file that is begun, and of one that is gone on with; by default as the file has them.
    """

    def __init__(self, path: Path, settings: Settings | None = None) -> None:
        self.path, self.found = path, dict[Cell, dict[str, list[float]]]()
        if lines := _whole_lines(path):
            self.settings = self._read(lines)
        elif settings:
            self.settings = settings
            path.parent.mkdir(parents=True, exist_ok=True)
            self._write(asdict(settings))
        else:
            raise ResultsError(f"{path}: there are no results yet")
        if settings and self.settings != settings:
            raise ResultsError(f"{path} was begun with {self.settings}: go on with these, or --fresh")

    def _read(self, lines: Sequence[bytes]) -> Settings:
        try:
            for line in map(json.loads, lines[1:]):
                self.found[Cell(**line["cell"])] = line["found"]
            return Settings(**json.loads(lines[0]))
        except (ValueError, TypeError, KeyError) as error:
            raise ResultsError(f"{self.path} is no file of results: choose another, or --fresh") from error

    def append(self, cell: Cell, repeats: Sequence[Found]) -> None:
        """Keep what the repeats of a cell found."""
        self.found[cell] = {name: [round(each[name], 6) for each in repeats] for name in repeats[0]}
        self._write({"cell": asdict(cell), "found": self.found[cell]})

    def _write(self, line: object) -> None:
        with self.path.open("ab") as file:
            file.write(json.dumps(line).encode() + b"\n")
            file.flush()
            os.fsync(file.fileno())

    def get(self, cell: Cell, name: str = "accuracy") -> Floats:
        """Return what each repeat of a cell found.

        Raises
        ------
        MissingError
            If it was not measured.
        """
        found = self.found.get(cell, {})
        if name not in found:
            what = " ".join(filter(None, (cell.way, name, cell.epsilon and f"at epsilon {cell.epsilon}")))
            raise MissingError(f"{cell.data}, {what}{f', {cell.users:,} users' if cell.users else ''}")
        return np.array(found[name])


def _whole_lines(path: Path) -> list[bytes]:
    """Return a file's lines, and cut off the end that a kill tore."""
    if not path.exists():
        return []
    data = path.read_bytes()
    whole = data[: data.rfind(b"\n") + 1]
    if whole != data:
        os.truncate(path, len(whole))
    return whole.splitlines()
