"""Finds reports that a store has lost: the keys, or rows, of one counter have to agree with each other."""

from __future__ import annotations

import mmap
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from itertools import count

import numpy as np

from ldp_aggregator.codec import OPTIONAL

_MAX_TIME = 253_402_300_800
"""The end of the year 9999, in Unix seconds."""


@dataclass(frozen=True)
class Loss:
    """What a counter or a survey has lost, at least: two losses can hide a part of each other."""

    reports: int = 0
    """Number of acknowledged reports that are not in the sums."""
    ids: int = 0
    """Number of acknowledged reports whose ids are missing: they would count again."""
    backups: tuple[int, ...] = ()
    """The times of the backups that were restored, in Unix seconds."""
    counters: int = field(default=0, metadata=OPTIONAL)
    """Number of counters whose number of reports is lost too: they may have lost more."""

    def __add__(self, other: Loss) -> Loss:
        backups = tuple(sorted({*self.backups, *other.backups}))
        counters = self.counters + other.counters
        return Loss(self.reports + other.reports, self.ids + other.ids, backups, counters)

    @property
    def excess_ids(self) -> int:
        return self.reports - self.ids

    def check_entries(self) -> None:
        numbers = (self.reports, self.ids, self.counters, *self.backups)
        if min(numbers) < 0 or any(each >= _MAX_TIME for each in self.backups):
            raise ValueError("needs numbers of reports and ids, and times")


NO_LOSS = Loss()


class SeenTotals:
    """The largest number of reports that was seen of each counter; processes that are forked later share it.

    A smaller number later shows that an older copy of the store was restored. `counters` are those that are
    shared, by survey id, and `former` has numbers that were seen before.
    """

    def __init__(
        self, counters: Mapping[str, Iterable[str]] | None = None, former: SeenTotals | None = None
    ) -> None:
        self._own: dict[str, dict[str, int]] = {}
        rows = count(1)
        self._rows = {
            survey: dict(zip(each, rows, strict=False)) for survey, each in (counters or {}).items()
        }
        self._shared = np.frombuffer(mmap.mmap(-1, 8 * (next(rows) + 1)), np.int64)
        if former:
            for survey, each in self._rows.items():
                for counter, row in each.items():
                    self._shared[row] = former.get(survey, counter)

    def get(self, survey: str, counter: str) -> int:
        row = self._rows.get(survey, {}).get(counter)
        return int(self._shared[row]) if row else self._own.get(survey, {}).get(counter, 0)

    def see(self, survey: str, counter: str, n: int) -> None:
        """Keep a number of reports; if two processes write at once, the smaller one may stay."""
        n = max(n, self.get(survey, counter))
        if row := self._rows.get(survey, {}).get(counter):
            self._shared[row] = n
        else:
            self._own.setdefault(survey, {})[counter] = n

    def counters(self, survey: str) -> set[str]:
        names = {*self._rows.get(survey, ()), *self._own.get(survey, ())}
        return {counter for counter in names if self.get(survey, counter)}


def compare_numbers(ids: int, n: int, *acknowledged: int) -> Loss:
    """Return the loss of a counter: of its ids, its number of reports in the sums, and earlier numbers."""
    most = max(ids, n, *acknowledged)
    return Loss(most - n, most - ids)
