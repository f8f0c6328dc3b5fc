"""Deduplication in bounded memory: accepted reports are spilled to temporary files, one per part of the ids.

Reports with one id are in the same part, so parts are deduplicated one after the other, with one of them in
memory. A few megabytes of reports are never spilled.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import reduce
from operator import add
from pathlib import Path
from tempfile import TemporaryDirectory, gettempdir
from types import TracebackType

import numpy as np

from encoders.progress import Progress, ShowProgress, hide_progress
from encoders.report import ID_BYTES
from encoders.survey import Plan
from encoders.survey.silo_plan import SiloPlan
from ldp_aggregator.reports.archives.dedup import BUFFER_BYTES, Partition, count_distinct
from ldp_aggregator.reports.archives.reader import ArchiveError
from ldp_aggregator.reports.record_format import Records
from ldp_aggregator.snapshot import AnySnapshot

PARTS = 256


class Spill:
    """Collects accepted reports and counts each once; a context manager, since it may use temporary files.

    Parameters
    ----------
    plan : Plan or SiloPlan
    """

    def __init__(self, plan: Plan | SiloPlan) -> None:
        self._plan = plan
        self._partition = Partition(PARTS)
        self._buffer: dict[int, list[Records]] = {}
        self._buffered_bytes = 0
        self._folder: TemporaryDirectory[str] | None = None

    def __enter__(self) -> Spill:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._folder:
            self._folder.cleanup()

    def add(self, question: int, records: Records) -> None:
        """Add accepted reports of a question; of the reports with one id, the first counts."""
        self._buffer.setdefault(question, []).append(records)
        self._buffered_bytes += records.nbytes
        if self._buffered_bytes > BUFFER_BYTES:
            self._write_buffer()

    def count(self, show: ShowProgress = hide_progress) -> AnySnapshot:
        """Return a snapshot with the counts of all reports that were added."""
        if self._folder is None:
            buffered = ((question, each) for question, pieces in self._buffer.items() for each in pieces)
            return count_distinct(self._plan, buffered)
        self._write_buffer()
        with show("counting reports", PARTS) as progress:
            return reduce(add, (self._count_part(part, progress) for part in range(PARTS)))

    def _count_part(self, part: int, progress: Progress) -> AnySnapshot:
        counted = count_distinct(self._plan, self._read_part(part))
        progress.advance()
        return counted

    def _write_buffer(self) -> None:
        """Append the buffer to the files of the parts, in blocks: question, count, records."""
        blocks: list[list[bytes]] = [[] for _ in range(PARTS)]
        while self._buffer:
            question, pieces = self._buffer.popitem()
            parts = self._partition.split(np.concatenate(pieces))
            for block, records in zip(blocks, parts, strict=True):
                if len(records):
                    block += (np.array([question, len(records)], dtype="<u8").tobytes(), records.tobytes())
        self._buffered_bytes = 0
        try:
            self._folder = self._folder or TemporaryDirectory(prefix="ldp-train-")
            for part, block in enumerate(blocks):
                with self._part_path(part).open("ab") as file:  # reopened: few files may be open at a time
                    file.writelines(block)
        except OSError as error:
            raise ArchiveError(
                f"the temporary files in {gettempdir()} cannot be written: {error.strerror}; set TMPDIR to a "
                "folder with enough room for the unpacked archives"
            ) from error

    def _read_part(self, part: int) -> Iterator[tuple[int, Records]]:
        with self._part_path(part).open("rb") as file:
            while block_head := file.read(16):
                question, count = np.frombuffer(block_head, "<u8").tolist()
                width = ID_BYTES + self._plan.questions[question].mechanism.payload_bytes
                yield question, np.frombuffer(file.read(count * width), np.uint8).reshape(-1, width)

    def _part_path(self, part: int) -> Path:
        assert self._folder is not None
        return Path(self._folder.name) / str(part)
