"""Counting each report once, in columns: the first under an id counts, whatever comes later does not."""

from __future__ import annotations

import secrets
from collections.abc import Iterable
from typing import Self

import numpy as np
from numpy.typing import NDArray

from encoders.errors import Reason
from encoders.report import ID_BYTES
from encoders.survey import Plan
from ldp_aggregator.arrays import IntArray
from ldp_aggregator.reports.record_format import Records
from ldp_aggregator.snapshot import Snapshot, Total

PIECE_BYTES = 32 << 20
"""Records that are looked at together, beyond those already known to be distinct."""


class Once:
    """Reports of any questions, of which each counts once.

    It holds what is distinct among what it was given, and at most `PIECE_BYTES` more.

    Parameters
    ----------
    plan : Plan
    """

    def __init__(self, plan: Plan) -> None:
        self._plan = plan
        self._distinct: dict[int, Records] = {}
        self._fresh: dict[int, list[Records]] = {}
        self._fresh_bytes = 0
        self._reused = 0

    def add(self, question: int, records: Records) -> None:
        """Take accepted reports, later ones than those before."""
        self._fresh.setdefault(question, []).append(records)
        self._fresh_bytes += records.nbytes
        if self._fresh_bytes > PIECE_BYTES:
            self._sift()

    def snapshot(self) -> Snapshot:
        """Return the totals, and how often an id was used for another report."""
        self._sift()
        totals = {}
        for index, records in self._distinct.items():
            question = self._plan.questions[index]
            payloads, bits = records[:, ID_BYTES:], question.mechanism.support_counters
            if len(records):
                totals[question.key] = Total(len(records), question.mechanism.tally(payloads))
            if len(records) and bits:
                totals[question.support_key] = Total(0, bits.count(payloads))  # for the poisoning meter
        rejections = {str(Reason.ID_REUSED): self._reused} if self._reused else {}
        return Snapshot(self._plan, totals, rejections)

    def _sift(self) -> None:
        while self._fresh:
            question, pieces = self._fresh.popitem()
            known = self._distinct.pop(question, pieces[0][:0])
            both = np.concatenate([known, *pieces])
            self._distinct[question], reused = first_of_each(both)
            self._reused += reused
        self._fresh_bytes = 0


def first_of_each(records: Records) -> tuple[Records, int]:
    """Keep the first report under every id.

    Returns
    -------
    Records
        Those, in their order.
    int
        How many of the others are not the same as the first of their id.
    """
    ids = np.ascontiguousarray(records[:, :ID_BYTES]).view("<u8")
    ascending = np.sort(ids[:, 0])  # half an id tells nearly all of them apart, and sorts fast
    if (ascending[1:] != ascending[:-1]).all():
        return records, 0
    order = np.argsort(ids[:, 0])
    alike = ids[order[1:], 0] == ids[order[:-1], 0]
    doubtful = np.sort(order[np.append(alike, False) | np.append(False, alike)])
    again, first = _repeats(ids[doubtful])
    again, first = doubtful[again], doubtful[first]
    reused = np.count_nonzero((records[again] != records[first]).any(axis=1))
    return np.delete(records, again, axis=0), int(reused)


def _repeats(ids: NDArray[np.uint64]) -> tuple[IntArray, IntArray]:
    """Return the places of all but the first of every id, shape (n, 2), and the place of each one's first."""
    order = np.lexsort((ids[:, 0], ids[:, 1]))  # stable: the first of an id stays the first
    ids = ids[order]
    leads = np.ones(len(ids), dtype=bool)
    leads[1:] = (ids[1:] != ids[:-1]).any(axis=1)
    leaders = np.maximum.accumulate(np.where(leads, np.arange(len(ids)), 0))
    return order[~leads], order[leaders[~leads]]


class Partition:
    """Tells the parts of all ids from each other, the same way wherever it is asked.

    Parameters
    ----------
    parts : int
        How many there should be, at most 65,536.
    key : tuple of int
        Two odd 64-bit numbers. Secret and new for every run: who makes up ids cannot choose the part.
    """

    def __init__(self, parts: int, key: tuple[int, int]) -> None:
        self.parts, self._key = parts, np.array(key, dtype=np.uint64)

    @classmethod
    def fresh(cls, parts: int) -> Self:
        """Return a partition that nobody could foresee."""
        return cls(parts, (secrets.randbits(64) | 1, secrets.randbits(64) | 1))

    def split(self, records: Records) -> list[Records]:
        """Return the records of every part, each in their order."""
        ids = np.ascontiguousarray(records[:, :ID_BYTES]).view("<u8")
        mixed: NDArray[np.uint64] = ids[:, 0] * self._key[0] + ids[:, 1] * self._key[1]
        part = (mixed >> np.uint64(32)) * np.uint64(self.parts) >> np.uint64(32)
        order = np.argsort(part.astype(np.uint16), kind="stable")
        ends = np.cumsum(np.bincount(part.astype(np.int64), minlength=self.parts))
        return np.split(records[order], ends[:-1])


def count_once(plan: Plan, pieces: Iterable[tuple[int, Records]]) -> Snapshot:
    """Count pieces of a few questions, each report once."""
    once = Once(plan)
    for question, records in pieces:
        once.add(question, records)
    return once.snapshot()
