"""Results in a file of JSON lines: the settings first, then one line per finished cell."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import cast

import numpy as np
from numpy.typing import NDArray

from benchmarks.accuracy.grid import Cell
from benchmarks.accuracy.ways import Found
from encoders.errors import LdpError

Floats = NDArray[np.float64]
FIRST_LINE = 1000
NO_RESULTS = "is not a file of results: give another by --results, or remove it"


class ResultsError(LdpError):
    """A file of results that cannot be continued."""


class MissingError(LdpError):
    """A cell that was not measured."""


@dataclass(frozen=True)
class Settings:
    """The settings that all cells of a file share; `code` is the digest of the source code."""

    repeats: int
    seed: int
    code: str = ""


class Results:
    """A file of results; an appended cell is on disk before the next one begins.

    Parameters
    ----------
    path : Path
    settings : Settings, optional
        Settings of a new file, or the expected settings of an existing one; by default those of the file.
    digests : dict of str to str
        SHA-256 of the data sets that will be measured, by name.
    """

    def __init__(
        self, path: Path, settings: Settings | None = None, digests: Mapping[str, str] | None = None
    ) -> None:
        self.path, self.found = path, dict[Cell, dict[str, list[float]]]()
        self.digests = dict[str, str]()
        first, self._whole = begun(path), 0
        if not (first or settings):
            raise ResultsError(f"{path}: there are no results yet")
        self.settings = self._read() if first else cast(Settings, settings)
        if settings:
            self._agree(settings, digests or {})
        if not first:
            path.parent.mkdir(parents=True, exist_ok=True)
            self._write(asdict(self.settings))

    def _read(self) -> Settings:
        data = self.path.read_bytes()
        self._whole = data.rfind(b"\n") + 1  # a kill may have left an incomplete last line
        try:
            first, *lines = map(json.loads, data[: self._whole].splitlines())
            for line in lines:
                cell = Cell(**line["cell"])
                self.found[cell], self.digests[cell.data] = line["found"], line.get("sha256", "")
            return Settings(**first)
        except (ValueError, TypeError, KeyError) as error:
            raise ResultsError(f"{self.path} {NO_RESULTS}") from error

    def _agree(self, settings: Settings, digests: Mapping[str, str]) -> None:
        """Refuse results that cannot be compared; otherwise record the data sets' digests."""
        was = self.settings
        if (was.repeats, was.seed) != (settings.repeats, settings.seed):
            begun_with = f"--repeats {was.repeats} --seed {was.seed}"
            raise ResultsError(f"{self.path} was begun with {begun_with}: use these settings, or --fresh")
        if was.code != settings.code:
            raise ResultsError(f"{self.path} was measured by other code: measure again with --fresh")
        for name, digest in digests.items():
            if self.digests.setdefault(name, digest) != digest:
                raise ResultsError(
                    f"{self.path} was measured on another {name}.csv: use that file, or --fresh"
                )

    def append(self, cell: Cell, repeats: Sequence[Found]) -> None:
        """Store the results of a cell's repeats."""
        self.found[cell] = {name: [round(each[name], 6) for each in repeats] for name in repeats[0]}
        self._write({"cell": asdict(cell), "sha256": self.digests[cell.data], "found": self.found[cell]})

    def _write(self, line: object) -> None:
        with self.path.open("ab") as file:
            if self._whole:
                file.truncate(self._whole)
                self._whole = 0
            file.write(json.dumps(line).encode() + b"\n")
            file.flush()
            os.fsync(file.fileno())

    def get(self, cell: Cell, name: str = "accuracy") -> Floats:
        """Return one result of a cell (repeats,).

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


def begun(path: Path) -> bool:
    """Return whether a file of results exists.

    Raises
    ------
    ResultsError
        If it is another file, which is not changed.
    """
    if not (path.exists() and path.stat().st_size):
        return False
    try:
        with path.open("rb") as file:
            first = json.loads(file.readline(FIRST_LINE))
        if isinstance(first, dict) and {"repeats", "seed"} <= first.keys():
            return True
    except ValueError:
        pass
    raise ResultsError(f"{path} {NO_RESULTS}")
