"""Finds reports that a store has lost: the keys, or rows, of one counter have to agree with each other."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ldp_aggregator.stores.failure import LostReportsError

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

    def __add__(self, other: Loss) -> Loss:
        backups = tuple(sorted({*self.backups, *other.backups}))
        return Loss(self.reports + other.reports, self.ids + other.ids, backups)

    @property
    def excess_ids(self) -> int:
        """By how much the number of ids exceeds the number of reports in the sums."""
        return self.reports - self.ids

    def check_entries(self) -> None:
        """Raise ValueError for negative numbers, and for times that no calendar has."""
        if min(self.reports, self.ids, *self.backups) < 0 or any(each >= _MAX_TIME for each in self.backups):
            raise ValueError("needs numbers of reports and ids, and times")


NO_LOSS = Loss()
SeenTotals = dict[tuple[str, str], int]
"""The largest number of reports, by survey and counter, that this process has seen. A smaller number later
shows that an older copy of the store was restored."""


def compare_numbers(ids: int, n: int, *acknowledged: int) -> Loss:
    """Return the loss of a counter: of its ids, its number of reports in the sums, and earlier numbers."""
    most = max(ids, n, *acknowledged)
    return Loss(most - n, most - ids)


def require_whole(survey: str, losses: Mapping[str, Loss]) -> None:
    """Raise LostReportsError, with the numbers of a survey, if one of its counters has lost anything."""
    if losses:
        total = sum(losses.values(), NO_LOSS)
        raise LostReportsError(survey, total.reports, total.ids)
