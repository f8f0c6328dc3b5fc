"""Deduplication of archived reports, in bounded memory: of the reports with one id only the first counts."""

from __future__ import annotations

import secrets
from collections.abc import Iterable, Iterator
from functools import reduce
from operator import add
from pathlib import Path
from tempfile import TemporaryDirectory, gettempdir
from types import TracebackType

import numpy as np
from numpy.typing import NDArray

from encoders.errors import Reason
from encoders.progress import Progress, ShowProgress, hide_progress
from encoders.report import ID_BYTES
from encoders.survey import Plan
from encoders.survey.silo_plan import SiloPlan
from ldp_aggregator.arrays import IntArray
from ldp_aggregator.reports.archives.reader import ArchiveError
from ldp_aggregator.reports.record_format import Records
from ldp_aggregator.snapshot import AnySnapshot, Total, make_snapshot

BUFFER_BYTES = 32 << 20
"""Size of the records that are buffered before they are merged into the distinct ones."""


class Partition:
    """Divides all ids into parts; a copy in another process divides them the same way.

    Parameters
    ----------
    parts : int
        Number of parts, at most 65,536.
    """

    def __init__(self, parts: int) -> None:
        self.parts = parts
        # new and secret in every run: nobody can choose ids that fall into one part
        self._key = np.array([secrets.randbits(64) | 1, secrets.randbits(64) | 1], dtype=np.uint64)

    def split(self, records: Records) -> list[Records]:
        """Return the records of every part, in their original order."""
        ids = _view_id_words(records)
        mixed: NDArray[np.uint64] = ids[:, 0] * self._key[0] + ids[:, 1] * self._key[1]
        part = (mixed >> np.uint64(32)) * np.uint64(self.parts) >> np.uint64(32)
        order = np.argsort(part.astype(np.uint16), kind="stable")
        ends = np.cumsum(np.bincount(part.astype(np.int64), minlength=self.parts))
        return np.split(records[order], ends[:-1])


def count_distinct(plan: Plan | SiloPlan, pieces: Iterable[tuple[int, Records]]) -> AnySnapshot:
    """Count each accepted report once.

    At any time the distinct records are in memory, and at most `BUFFER_BYTES` more.

    Parameters
    ----------
    plan : Plan or SiloPlan
    pieces : iterable of (index of a question, Records)
        The accepted reports in order: of several reports with one id, the first counts.
    """
    distinct: dict[int, Records] = {}
    buffer: dict[int, list[Records]] = {}
    buffered_bytes = reused = 0
    for index, records in pieces:
        buffer.setdefault(index, []).append(records)
        buffered_bytes += records.nbytes
        if buffered_bytes > BUFFER_BYTES:
            reused += _merge_buffer(distinct, buffer)
            buffered_bytes = 0
    reused += _merge_buffer(distinct, buffer)
    totals = {}
    for index, records in distinct.items():
        mechanism, payloads = plan.questions[index].mechanism, records[:, ID_BYTES:]
        if len(records):
            totals[plan.questions[index].key] = Total(len(records), mechanism.tally(payloads))
        if len(records) and mechanism.support_counters:  # for the poisoning check
            support = mechanism.support_counters.count(payloads)
            totals[plan.questions[index].support_key] = Total(0, support)
    return make_snapshot(plan, totals, {str(Reason.ID_REUSED): reused} if reused else {})


def _merge_buffer(distinct: dict[int, Records], buffer: dict[int, list[Records]]) -> int:
    """Merge the buffer into the distinct records; return how many reports reused the id of another report."""
    total_reused = 0
    while buffer:
        index, pieces = buffer.popitem()
        known = distinct.pop(index, pieces[0][:0])
        distinct[index], reused = _drop_repeats(np.concatenate([known, *pieces]))
        total_reused += reused
    return total_reused


def _drop_repeats(records: Records) -> tuple[Records, int]:
    """Return the first report of every id, in their order, and the number of others that differ from it."""
    ids = _view_id_words(records)
    ascending = np.sort(ids[:, 0])  # nearly all ids differ in their first half, which sorts fast
    if (ascending[1:] != ascending[:-1]).all():
        return records, 0
    order = np.argsort(ids[:, 0])
    equal = ids[order[1:], 0] == ids[order[:-1], 0]
    candidates = np.sort(order[np.append(equal, False) | np.append(False, equal)])
    repeated, first = _find_repeats(ids[candidates])
    repeated, first = candidates[repeated], candidates[first]
    reused = np.count_nonzero((records[repeated] != records[first]).any(axis=1))
    return np.delete(records, repeated, axis=0), int(reused)


def _find_repeats(ids: NDArray[np.uint64]) -> tuple[IntArray, IntArray]:
    """Return the rows that repeat an earlier id, and for each the row of the first; ids are (n, 2)."""
    order = np.lexsort((ids[:, 0], ids[:, 1]))  # stable: the first of an id stays the first
    ids = ids[order]
    is_first = np.ones(len(ids), dtype=bool)
    is_first[1:] = (ids[1:] != ids[:-1]).any(axis=1)
    first = np.maximum.accumulate(np.where(is_first, np.arange(len(ids)), 0))
    return order[~is_first], order[first[~is_first]]


def _view_id_words(records: Records) -> NDArray[np.uint64]:
    """Return the ids as two 64-bit words each, shape (n, 2)."""
    return np.ascontiguousarray(records[:, :ID_BYTES]).view("<u8")


# -- in bounded memory ------------------------------------------------------------------------------
# Deduplication in bounded memory: accepted reports are spilled to temporary files, one per part of the ids.
#
# Reports with one id are in the same part, so parts are deduplicated one after the other, with one of them in
# memory. A few megabytes of reports are never spilled.


PARTS = 256


class Spill:
    """Collects accepted reports and counts each once; a context manager, since it may use temporary files."""

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
