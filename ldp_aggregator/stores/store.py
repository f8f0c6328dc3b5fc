"""The interface of stores, which keep atomic, durable counters, independent of mechanisms.

A store adds integer vectors under a key and keeps report ids. A batch holds reports of one question. If all
of its ids are new, the store adds all of it; otherwise it adds nothing and returns the known ids. Many
batches share one durable round trip.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Protocol

import numpy as np

from encoders.explain.text import Counted
from ldp_aggregator.arrays import ByteArray, IntArray
from ldp_aggregator.stores.failure import CounterError, Loss, SeenTotals, StoreError, StoreFailure


@dataclass(frozen=True, eq=False)
class Total:
    """The sums over the reports of one question."""

    n: int
    cells: IntArray
    """Sum of the reports' tallies. Shape (d,)."""

    def __add__(self, other: Total) -> Total:
        return Total(self.n + other.n, add_counters(self.cells, other.cells))


@dataclass(frozen=True, eq=False)
class Batch:
    """Reports of one question, all of which are counted, or none."""

    survey: str
    counter: str
    """Names of the survey and the counter."""
    ids: ByteArray
    """The reports' ids, all different. Shape (m, 16)."""
    marks: ByteArray
    """Hashes of the payloads; they distinguish a repeated report from a reused id. Shape (m, 8)."""
    tally: IntArray
    """Sum of the reports' tallies. Shape (d,)."""

    def entries(self) -> list[tuple[bytes, bytes]]:
        """Return each report's id and mark."""
        return list(zip(byte_rows(self.ids), byte_rows(self.marks), strict=True))


IdsAndMarks = tuple[ByteArray, ByteArray]
"""Ids (m, 16) and marks (m, 8) of m reports; all ids differ."""

REPORTS_PER_READ = 10_000
"""Approximate number of reports per read."""

MarksById = dict[bytes, bytes]
"""Known ids with the marks of their first reports; empty if a batch was counted."""


TEXTS, SCHEDULES = SURVEY_KINDS = ("texts", "windows")
"""The kinds of a store's notes about surveys, which are deleted with them: the texts of a plan, which the
caller checks against it, and the schedule. The other kinds stay."""

DURABLE = "a report is on disk before it is acknowledged"


@dataclass(frozen=True)
class StorePolicy:
    """What an operator requires of a store before it counts reports."""

    durability: str = "always"
    """"always": an acknowledged report is on disk. "everysec": a crash of the store's machine may lose the
    reports that it acknowledged in its last second or two. "unchecked": the operator is responsible."""
    allow_open: bool = False
    """Whether a server without a password is allowed, which anybody who reaches it can change."""


class Store(Protocol):
    """Keeps counters, report ids, plans and their texts."""

    seen: SeenTotals
    """The numbers of reports that this store has seen; several processes can share them."""

    def publish(self, survey: str, plan: bytes, counters: Sequence[str] = ()) -> None:
        """Keep a survey's plan, in canonical JSON; publishing the same bytes again does not hide a loss.

        Until a report was counted, another plan replaces the old one and its texts in one atomic step. A
        Redis Cluster marks each counter as published, on its own server. Raises StoreError if the survey has
        another plan, and reports; DeletedSurveyError if it was deleted.
        """

    def plans(self, survey: str | None = None) -> dict[str, bytes]:
        """Return the canonical JSON of every plan, or of one survey's plan if there is one, by survey id."""

    def lost_plans(self) -> set[str]:
        """Return the surveys whose plan is lost: the store has some of their data."""

    def require_survey(self, survey: str, plan: bytes, counters: Sequence[str] = ()) -> None:
        """Let `record` and `check_ready` raise MissingSurveyError from now on if the store lacks this plan.

        `counters` are those with which the survey was published. `survey` may be the namespace of its tokens:
        then the plan is empty, and `check_ready` compares their numbers only.
        """

    def notes(self, kind: str, name: str | None = None) -> dict[str, bytes]:
        """Return the notes of a kind by name, such as the texts of surveys by survey id; or only one note."""

    def set_note(self, kind: str, name: str, note: bytes, once: bool = False) -> None:
        """Write a note, with `once` only a new one; StoreError if its survey (SURVEY_KINDS) is unknown."""

    def unpublish(self, survey: str) -> None:
        """Remove a survey's plan: from then on, no collector that requires the plan counts a report."""

    def erase(self, survey: str) -> None:
        """Delete all else of a survey, in any number of tries: counters, rejections and SURVEY_KINDS."""

    def record(self, batches: Sequence[Batch]) -> list[MarksById]:
        """Count each batch atomically, and make all of them durable together; several may be of one counter.

        Returns a dict of report id to mark for each batch. It is empty if the batch was counted: its ids are
        stored, ``len(ids)`` is added to n and `tally` to the cells. Otherwise it has the known ids, and no
        report of the batch counted.

        Raises StoreError if the store cannot be reached, lacks a required survey, has lost reports of a
        counter, or a counter would overflow. Each batch was counted completely or not at all; recording them
        again is safe.
        """

    def server_of(self, survey: str, counter: str) -> str:
        """Return the server of a counter, which alone may delay its batches; empty if there is only one."""

    def find_recorded(self, survey: str, ids: Mapping[str, ByteArray]) -> dict[str, MarksById]:
        """Return which of these ids were recorded, with their marks, by counter; records nothing."""

    def totals(self, survey: str) -> dict[str, Total]:
        """Return every counter of a survey."""

    def counters(self, survey: str) -> set[str]:
        """Return the names of all counters of which the store has anything, at least a mark."""

    def all_totals(self) -> dict[str, dict[str, Total]]:
        """Return every counter of the store, by survey or namespace of tokens."""

    def report_ids(self, survey: str, counter: str) -> Iterator[IdsAndMarks]:
        """Yield ids with marks in parts; new reports may be in none, and others twice."""

    def find_losses(
        self, survey: str, counters: Collection[str] = (), thorough: bool = True
    ) -> dict[str, Loss]:
        """Return what each counter has lost, without the counters that have lost nothing.

        In Redis each of `counters`, with which the survey was published, is marked, or has lost data. If
        `thorough`, SQLite reads all ids. Otherwise it takes a time that does not depend on their number, and
        does not notice all losses of ids.
        """

    def add_rejections(self, survey: str, reason: str, count: int = 1) -> None:
        """Add `count` to a survey's number of rejections for a reason, unless the survey was deleted."""

    def rejections(self, survey: str) -> dict[str, int]:
        """Return a survey's number of rejections by reason."""

    def check_ready(self, closed: Collection[str] = ()) -> None:
        """Raise StoreError unless it can take a report, and no required survey but `closed` has lost any."""

    def space(self) -> dict[str, int]:
        """Return the space of the store in bytes; empty if it cannot be read.

        SQLite has `disk_free` and `disk_size`; Redis has `memory_used` and `memory_max`, of the fullest
        server.
        """

    def check_durability(self, policy: StorePolicy) -> str:
        """Return, as text, what an acknowledgement guarantees: what could still lose a recorded report.

        From then on `record` and `check_ready` raise StoreError if the store guarantees less than the policy.
        So does this method, or if the settings cannot be read.
        """

    def close(self) -> None:
        """Close all connections of the store."""


def positions_by_server(store: Store, batches: Sequence[Batch]) -> dict[str, list[int]]:
    positions: dict[str, list[int]] = {}
    for position, batch in enumerate(batches):
        positions.setdefault(store.server_of(batch.survey, batch.counter), []).append(position)
    return positions


def sum_totals(totals: Iterable[tuple[str, Total]]) -> dict[str, Total]:
    """Return the sums of totals, by their names."""
    found: dict[str, Total] = {}
    for name, total in totals:
        found[name] = found[name] + total if name in found else total
    return found


def count_reports(totals: Mapping[str, Total]) -> int:
    return sum(total.n for total in totals.values())


def arrays_from_entries(entries: Mapping[bytes, bytes]) -> IdsAndMarks:
    ids, marks = b"".join(entries), b"".join(entries.values())
    return np.frombuffer(ids, np.uint8).reshape(-1, 16), np.frombuffer(marks, np.uint8).reshape(-1, 8)


def byte_rows(matrix: ByteArray) -> list[bytes]:
    data, width = matrix.tobytes(), matrix.shape[1]
    return [data[start : start + width] for start in range(0, len(data), width)]


def add_counters(cells: IntArray, tally: IntArray) -> IntArray:
    """Add two vectors; raise CounterError if they differ in length, or a sum exceeds 64 bits."""
    if cells.shape != tally.shape:
        raise CounterError(
            f"a batch has {tally.shape[0]} cells, not {cells.shape[0]}: make it from the survey's plan"
        )
    total = cells + tally
    if bool((((cells ^ total) & (tally ^ total)) < 0).any()):
        raise CounterError("a counter would overflow: begin a new survey", StoreFailure.OVERFLOW)
    return total


def merge_batches(batches: Sequence[Batch]) -> Batch:
    """Merge batches of one counter, whose ids all differ, sorted by id, so that the order of arrival is lost.

    Raises CounterError if the tallies differ in length, or a sum exceeds 64 bits.
    """
    ids = np.concatenate([batch.ids for batch in batches])
    order = np.lexsort(ids.view(">u8").T[::-1])
    marks = np.concatenate([batch.marks for batch in batches])
    tally = reduce(add_counters, (batch.tally for batch in batches))
    return Batch(batches[0].survey, batches[0].counter, ids[order], marks[order], tally)


def token_namespace(survey: str) -> str:
    return f"{survey}.tokens"


def mark_plan(plan: bytes, counters: Sequence[str]) -> bytes:
    """Return a plan as stores keep it: with a line end if counters are divided (see `shards.py`).

    Builds that know nothing of sub-shards, and would count repeated reports again, cannot read it.
    """
    return plan + b"\n" * any("#" in counter for counter in counters)


def unmark_plan(stored: bytes) -> bytes:
    return stored.removesuffix(b"\n")


def unknown_survey_error(survey: str, surveys: Iterable[str]) -> StoreError:
    return StoreError(
        f"the store has no survey {survey!r}; it has: {', '.join(sorted(surveys)) or 'none'}. If it lost the "
        "plan, start a collector with the survey's file, which publishes the plan again"
    )


def changed_plan_error(survey: str, totals: Mapping[str, Total], tokens: int = 0) -> StoreError:
    counted = f"{Counted(count_reports(totals), 'report')}{f' and {tokens:,} tokens' if tokens else ''}"
    return StoreError(
        f"the store already has another plan of survey {survey!r} with {counted}: give the changed "
        "survey a new id, or serve the plan that was answered. If the file has not changed, this build "
        "compiles it to another plan (docs/moving.md#order-of-an-upgrade)"
    )
