"""Spills the reports of archives to temporary files, sorted by parts of the ids, and counts each part once.

Reports with one id are in one part, so memory holds the ids of one part at a time.
"""

from __future__ import annotations

import os
import secrets
import signal
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import BrokenExecutor, ProcessPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from multiprocessing import get_context, parent_process
from pathlib import Path
from tempfile import gettempdir, mkstemp
from typing import Any

import numpy as np
from numpy.typing import NDArray

from encoders.errors import Reason
from encoders.late_imports import LateImport
from encoders.report import ID_BYTES
from encoders.survey import Plan
from encoders.survey.any_survey import ANY_PLANS
from encoders.survey.silo_plan import SiloPlan
from ldp_aggregator.arrays import IntArray
from ldp_aggregator.reports.archives.parser import ParseSummary
from ldp_aggregator.reports.archives.reader import ArchiveError, Section, find_start, read_section
from ldp_aggregator.reports.record_format import PlanFormat, Records
from ldp_aggregator.snapshot import Total

BUFFER_BYTES = 32 << 20
"""Size of the records that are buffered before they are written, or merged into the distinct ones."""
_PART_BYTES = 64 << 20
"""Approximate size of the unpacked archives per part."""
_MAX_PARTS = 4096


class Partition:
    """Divides all ids into parts that fit into memory; a copy in another process divides them alike."""

    def __init__(self, unpacked_bytes: int) -> None:
        self.parts = min(unpacked_bytes // _PART_BYTES + 1, _MAX_PARTS)
        # new and secret in every run: nobody can choose ids that fall into one part
        self._key = np.array([secrets.randbits(64) | 1, secrets.randbits(64) | 1], dtype=np.uint64)

    def split(self, records: Records) -> list[Records]:
        ids = np.ascontiguousarray(records[:, :ID_BYTES]).view("<u8")
        mixed: NDArray[np.uint64] = ids[:, 0] * self._key[0] + ids[:, 1] * self._key[1]
        part = (mixed >> np.uint64(32)) * np.uint64(self.parts) >> np.uint64(32)
        order = np.argsort(part.astype(np.uint16), kind="stable")
        ends = np.cumsum(np.bincount(part.astype(np.int64), minlength=self.parts))
        return np.split(records[order], ends[:-1])


@dataclass(frozen=True)
class SpilledSection:
    path: str
    start: int
    """Byte offset from which the section was read."""
    summary: ParseSummary
    file: str
    """The temporary file: blocks of records, each of one question and one part."""
    blocks: IntArray
    """Part, question, offset in the file and number of records of each block. Shape (m, 4)."""


def spill_section(
    plan_json: bytes,
    partition: Partition,
    folder: str,
    section: Section,
    before: ParseSummary | None = None,
    progress: Callable[[int], object] = int,
) -> SpilledSection:
    """Write the accepted reports of a section to a file; without `before`, from the first likely report."""
    plan_format = PlanFormat(_load_plan(plan_json))
    summary = ParseSummary()
    if before:
        summary.end, summary.in_damage = before.end, before.in_damage
    elif section.start:
        summary.end = find_start(plan_format, section)
    start = summary.end
    with spill_errors():
        descriptor, file = mkstemp(dir=folder)  # a new name: another worker may still write this section
        os.close(descriptor)
    buffer: dict[int, list[Records]] = {}
    blocks: list[tuple[int, int, int, int]] = []
    buffered_bytes = 0
    for question, records in read_section(plan_format, section, summary, progress):
        buffer.setdefault(question, []).append(records)
        buffered_bytes += records.nbytes
        if buffered_bytes > BUFFER_BYTES:
            blocks += _write_blocks(file, buffer, partition)
            buffered_bytes = 0
    blocks += _write_blocks(file, buffer, partition)
    return SpilledSection(section.path, start, summary, file, np.array(blocks, np.int64).reshape(-1, 4))


def _write_blocks(
    path: str, buffer: dict[int, list[Records]], partition: Partition
) -> Iterator[tuple[int, int, int, int]]:
    """Append the buffer to a file and empty it; yield part, question, offset and length of each block."""
    with spill_errors(), Path(path).open("ab") as file:
        while buffer:
            question, pieces = buffer.popitem()
            for part, records in enumerate(partition.split(np.concatenate(pieces))):
                if len(records):
                    yield part, question, file.tell(), len(records)
                    file.write(records.tobytes())


def count_part(
    plan_json: bytes, sections: Sequence[tuple[str, IntArray]]
) -> tuple[Mapping[str, Total], Mapping[str, int]]:
    """Count each report of a part once, from sections in order; return totals and rejections by reason."""
    from threadpoolctl import threadpool_limits

    plan = _load_plan(plan_json)
    with spill_errors():
        distinct, reused = _find_distinct(_read_blocks(plan, sections))
    with threadpool_limits(1):  # the products are small: more threads only wait for each other
        return _count_distinct(plan, distinct), {str(Reason.ID_REUSED): reused} if reused else {}


def _count_distinct(plan: Plan | SiloPlan, distinct: Mapping[int, Records]) -> Mapping[str, Total]:
    totals = {}
    for index, records in distinct.items():
        mechanism, payloads = plan.counted_questions[index].mechanism, records[:, ID_BYTES:]
        totals[plan.counted_questions[index].key] = Total(len(records), mechanism.tally(payloads))
        if mechanism.support_counters:  # for the poisoning check
            support = mechanism.support_counters.count(payloads)
            totals[plan.counted_questions[index].support_key] = Total(0, support)
    return totals


def _read_blocks(
    plan: Plan | SiloPlan, sections: Sequence[tuple[str, IntArray]]
) -> Iterator[tuple[int, Records]]:
    for path, blocks in sections:
        with Path(path).open("rb") as file:
            for _, question, offset, count in blocks.tolist():
                width = ID_BYTES + plan.counted_questions[question].mechanism.payload_bytes
                file.seek(offset)
                yield question, np.frombuffer(file.read(count * width), np.uint8).reshape(count, width)


def _find_distinct(blocks: Iterable[tuple[int, Records]]) -> tuple[dict[int, Records], int]:
    """Return the first report of every id by question, and how many reports reused the id of another one."""
    pieces: dict[int, list[Records]] = {}
    unmerged_bytes = reused = 0
    for question, records in blocks:
        pieces.setdefault(question, []).append(records)
        unmerged_bytes += records.nbytes
        if unmerged_bytes > BUFFER_BYTES:
            reused += _drop_repeats(pieces)
            unmerged_bytes = 0
    reused += _drop_repeats(pieces)
    return {question: records for question, [records] in pieces.items()}, reused


def _drop_repeats(pieces: dict[int, list[Records]]) -> int:
    """Keep the first report of every id, as one piece a question; return how many others differ from it."""
    reused = 0
    for question in pieces:
        records = np.concatenate(pieces[question])
        ids = np.ascontiguousarray(records[:, :ID_BYTES]).view("<u8")
        ascending = np.sort(ids[:, 0])  # nearly all ids differ in their first half, which sorts fast
        if (ascending[1:] == ascending[:-1]).any():
            order = np.lexsort(ids.T)  # stable: the first of an id stays the first
            is_first = np.append(True, (ids[order[1:]] != ids[order[:-1]]).any(axis=1))
            first = order[np.maximum.accumulate(np.where(is_first, np.arange(len(order)), 0))]
            repeated, first = order[~is_first], first[~is_first]
            reused += int(np.count_nonzero((records[repeated] != records[first]).any(axis=1)))
            records = np.delete(records, repeated, axis=0)
        pieces[question] = [records]
    return reused


@contextmanager
def spill_errors() -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise ArchiveError(
            f"the temporary files in {gettempdir()} cannot be written: {error.strerror}; set TMPDIR to a "
            "folder that every worker sees, with enough room for the unpacked archives"
        ) from error


@lru_cache(maxsize=4)
def _load_plan(plan: bytes) -> Plan | SiloPlan:
    """Return a plan from its JSON, read once per worker because reading checks it."""
    return ANY_PLANS.from_json(plan)


_DASK = LateImport("distributed", "dask", "--dask", ArchiveError)
_TIMEOUT_SECONDS = 30

ALL_PROCESSORS = 0
"""In place of a number of processes: one for each processor."""
Run = Callable[[Callable[..., Any], Iterable[Any]], Iterator[Any]]
"""Applies a function to each item, and yields the results in order."""


@contextmanager
def open_workers(workers: int | str) -> Iterator[Run]:
    """Return a function that spreads calls over workers; ArchiveError if they cannot be used or die."""
    if workers == 1:
        yield map
    elif isinstance(workers, int):
        pool = ProcessPoolExecutor(workers or None, get_context("spawn"), initializer=_end_with_parent)
        with (
            _errors("a process that counted reports was killed: each needs 300 MB of memory", BrokenExecutor),
            pool,
        ):
            yield pool.map
    else:
        with _errors(f"the Dask cluster {workers} cannot be reached", OSError, ValueError):
            client = _DASK.load().Client(workers, timeout=_TIMEOUT_SECONDS)
        needs = "this version of ldp-bayes[analyst,dask], and 300 MB of memory"
        with client, _errors(f"the Dask cluster failed: each worker needs {needs}", Exception):
            # never pure: Dask would reuse the result of a file of the same name, which may have changed
            yield client.get_executor(pure=False).map


@contextmanager
def _errors(message: str, *kinds: type[Exception]) -> Iterator[None]:
    try:
        yield
    except ArchiveError:
        raise
    except kinds as error:
        raise ArchiveError(f"{message} ({type(error).__name__})") from error


def _end_with_parent() -> None:
    """End this process if its parent is killed, and leave an interrupt by the keyboard to the parent."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)

    def wait() -> None:
        if parent := parent_process():
            parent.join()
        os._exit(1)

    threading.Thread(target=wait, daemon=True).start()
