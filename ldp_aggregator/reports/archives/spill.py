"""Counting each report once in bounded memory: by parts of the ids, kept in temporary files until the end.

A report and whatever else carries its id fall into the same part, so parts are counted one after the
other, and only one of them is in memory. Few reports never leave it.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import reduce
from operator import add
from pathlib import Path
from tempfile import TemporaryDirectory, gettempdir
from types import TracebackType

import numpy as np

from encoders.report import ID_BYTES
from encoders.survey import Plan
from ldp_aggregator.reports.archives.dedup import PIECE_BYTES, Partition, count_once
from ldp_aggregator.reports.archives.reader import ArchiveError
from ldp_aggregator.reports.record_format import Records
from ldp_aggregator.snapshot import Snapshot

PARTS = 256


class Spill:
    """Accepted reports on their way to be counted once; a context, since it may hold files.

    Parameters
    ----------
    plan : Plan
    """

    def __init__(self, plan: Plan) -> None:
        self._plan = plan
        self._partition = Partition.fresh(PARTS)
        self._held: dict[int, list[Records]] = {}
        self._held_bytes = 0
        self._folder: TemporaryDirectory[str] | None = None

    def __enter__(self) -> Spill:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._folder:
            self._folder.cleanup()

    def add(self, question: int, records: Records) -> None:
        """Take accepted reports of a question, later ones than those before."""
        self._held.setdefault(question, []).append(records)
        self._held_bytes += records.nbytes
        if self._held_bytes > PIECE_BYTES:
            self._write()

    def snapshot(self) -> Snapshot:
        """Count everything that was added."""
        if self._folder is None:
            held = ((question, piece) for question, pieces in self._held.items() for piece in pieces)
            return count_once(self._plan, held)
        self._write()
        parts = (count_once(self._plan, self._read(part)) for part in range(PARTS))
        return reduce(add, parts)

    def _write(self) -> None:
        """Append what is held to the files of its parts: question, count, records."""
        blocks: list[list[bytes]] = [[] for _ in range(PARTS)]
        while self._held:
            question, pieces = self._held.popitem()
            records = np.concatenate(pieces)
            for block, chosen in zip(blocks, self._partition.split(records), strict=True):
                if len(chosen):
                    block += (np.array([question, len(chosen)], dtype="<u8").tobytes(), chosen.tobytes())
        self._held_bytes = 0
        try:
            self._folder = self._folder or TemporaryDirectory(prefix="ldp-train-")
            for part, block in enumerate(blocks):
                with self._file(part).open("ab") as file:  # anew: a process may hold few files open at a time
                    file.writelines(block)
        except OSError as error:
            raise ArchiveError(
                f"the temporary files in {gettempdir()} cannot be written: {error.strerror}; set TMPDIR to a "
                "folder with as much room as the archives take, unpacked"
            ) from error

    def _read(self, part: int) -> Iterator[tuple[int, Records]]:
        with self._file(part).open("rb") as file:
            while head := file.read(16):
                question, count = np.frombuffer(head, "<u8").tolist()
                width = ID_BYTES + self._plan.questions[question].mechanism.payload_bytes
                yield question, np.frombuffer(file.read(count * width), np.uint8).reshape(-1, width)

    def _file(self, part: int) -> Path:
        assert self._folder is not None
        return Path(self._folder.name) / str(part)
