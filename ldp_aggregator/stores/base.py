"""What a store is: atomic, durable counters that know no mechanism.

A store adds integer vectors under a key and remembers report ids. A batch holds reports of one question:
either every id of it is new, and then all of it is added, or nothing is, and the caller gets the ids that are
known. Many batches share one durable round trip.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Protocol

import numpy as np

from encoders.errors import LdpError
from ldp_aggregator.arrays import ByteArray, IntArray


class StoreError(LdpError):
    """The store cannot be used; nothing was recorded."""


class CounterError(StoreError):
    """A batch that its counter cannot take: the store is well, the batch is not."""


@dataclass(frozen=True, eq=False)
class Total:
    """What the reports of one question add up to.

    Attributes
    ----------
    n : int
        Number of reports.
    cells : int64 array, shape (d,)
        Sum of their tallies.
    """

    n: int
    cells: IntArray

    def __add__(self, other: Total) -> Total:
        return Total(self.n + other.n, add_counters(self.cells, other.cells))


@dataclass(frozen=True, eq=False)
class Batch:
    """Reports of one question, to be counted together or not at all.

    Attributes
    ----------
    survey, counter : str
        Which counters.
    ids : uint8 array, shape (m, 16)
        The reports' ids, all different.
    marks : uint8 array, shape (m, 8)
        Hashes of the payloads, by which a repeated report differs from a reused id.
    tally : int64 array, shape (d,)
        Sum of what the reports add.
    """

    survey: str
    counter: str
    ids: ByteArray
    marks: ByteArray
    tally: IntArray

    def entries(self) -> list[tuple[bytes, bytes]]:
        """Return each report's id and mark."""
        return list(zip(byte_rows(self.ids), byte_rows(self.marks), strict=True))


IdsAndMarks = tuple[ByteArray, ByteArray]
"""Some reports' ids (m, 16), all different, and their marks (m, 8)."""

REPORTS_PER_READ = 10_000
"""How many reports are read at once, about."""

MarksById = dict[bytes, bytes]
"""Ids that a store knew, with the marks of their first reports; empty if a batch was counted."""


DURABLE = "a report is on disk before it is acknowledged"


@dataclass(frozen=True)
class StorePolicy:
    """What an operator requires of a store before anything is counted.

    Attributes
    ----------
    durability : str
        "always": an acknowledged report is on disk. "everysec": a crash of the store's machine may lose
        what it acknowledged in its last second or two. "unchecked": the operator vouches for it.
    allow_open : bool
        Whether a server may be one that anybody who reaches it can change.
    """

    durability: str = "always"
    allow_open: bool = False


class Store(Protocol):
    """Where counters, report ids and plans are kept."""

    def publish(self, survey: str, plan: bytes) -> None:
        """Keep a survey's plan for good; the same bytes again change nothing.

        Raises
        ------
        StoreError
            If the survey already collects under another plan.
        """
        ...

    def plans(self) -> dict[str, bytes]:
        """Return the canonical plan of every survey by id."""
        ...

    def set_schedule(self, survey: str, schedule: bytes) -> None:
        """Keep when a survey is open, in place of what was kept before.

        Raises
        ------
        StoreError
            If there is no such survey.
        """
        ...

    def schedules(self) -> dict[str, bytes]:
        """Return the schedules that were set, by survey."""
        ...

    def record(self, batches: Sequence[Batch]) -> list[MarksById]:
        """Count each batch atomically, and make all of them durable together.

        Parameters
        ----------
        batches : sequence of Batch
            In any number, of any surveys, even several of one counter.

        Returns
        -------
        list of dict of report id to mark
            One per batch. Empty if it was counted: ids remembered, ``len(ids)`` added to n, `tally` to the
            cells. Otherwise the ids that were known, and nothing of the batch has changed.

        Raises
        ------
        StoreError
            If the store is out of reach, or a counter would overflow. Of each batch either all has
            changed or nothing; to send them again is safe.
        """
        ...

    def find_recorded(self, survey: str, ids: Mapping[str, ByteArray]) -> dict[str, MarksById]:
        """Return which of these ids, by counter, were recorded, with their marks; records nothing."""
        ...

    def totals(self, survey: str) -> dict[str, Total]:
        """Return every counter of a survey."""
        ...

    def report_ids(self, survey: str, counter: str) -> Iterator[IdsAndMarks]:
        """Yield all ids that a counter remembers, in pieces, each with its mark.

        A report may come in two pieces, and one that is recorded meanwhile in none.
        """
        ...

    def add_rejections(self, survey: str, reason: str, count: int = 1) -> None:
        """Count rejections."""
        ...

    def rejections(self, survey: str) -> dict[str, int]:
        """Return the number of rejections by reason."""
        ...

    def check_ready(self) -> None:
        """Raise StoreError unless the store can take a report now."""
        ...

    def check_durability(self, policy: StorePolicy) -> str:
        """Return what an acknowledgement guarantees: what could still lose a report that was recorded.

        From then on `record` and `check_ready` raise StoreError if the store no longer guarantees that much.

        Raises
        ------
        StoreError
            If the store is set to guarantee less than the policy requires, or hides its settings.
        """
        ...

    def close(self) -> None:
        """Close connections."""
        ...


def count_reports(totals: Mapping[str, Total]) -> int:
    """Return the number of reports of all counters."""
    return sum(total.n for total in totals.values())


def arrays_from_entries(entries: Mapping[bytes, bytes]) -> IdsAndMarks:
    """Return reports' ids and marks as matrices of bytes."""
    ids, marks = b"".join(entries), b"".join(entries.values())
    return np.frombuffer(ids, np.uint8).reshape(-1, 16), np.frombuffer(marks, np.uint8).reshape(-1, 8)


def byte_rows(matrix: ByteArray) -> list[bytes]:
    """Return the rows of a matrix of bytes."""
    data, width = matrix.tobytes(), matrix.shape[1]
    return [data[start : start + width] for start in range(0, len(data), width)]


def add_counters(cells: IntArray, tally: IntArray) -> IntArray:
    """Add two vectors of counters.

    Raises
    ------
    CounterError
        If they differ in length or a sum leaves 64 bits.
    """
    if cells.shape != tally.shape:
        raise CounterError(f"counters of {cells.shape[0]} cells cannot take a tally of {tally.shape[0]}")
    total = cells + tally
    if bool((((cells ^ total) & (tally ^ total)) < 0).any()):
        raise CounterError("a counter would overflow 64 bits")
    return total


def merge_batches(batches: Sequence[Batch]) -> Batch:
    """Return one batch of the reports of several, sorted by id, so that the order of arrival is lost.

    Parameters
    ----------
    batches : sequence of Batch
        Of one counter; no id is in two of them.

    Raises
    ------
    CounterError
        If their tallies differ in length, or their sum leaves 64 bits.
    """
    ids = np.concatenate([batch.ids for batch in batches])
    order = np.lexsort(ids.view(">u8").T[::-1])
    marks = np.concatenate([batch.marks for batch in batches])
    tally = reduce(add_counters, (batch.tally for batch in batches))
    return Batch(batches[0].survey, batches[0].counter, ids[order], marks[order], tally)


def unknown_survey_error(survey: str, surveys: Iterable[str]) -> StoreError:
    """Return the error of naming a survey that a store does not have."""
    return StoreError(f"the store has no survey {survey!r}; it has: {', '.join(sorted(surveys)) or 'none'}")


def changed_plan_error(survey: str) -> StoreError:
    """Return the error of publishing a changed survey under its old id."""
    return StoreError(
        f"survey {survey!r} already collects under another plan here: give the changed one a new id"
    )
