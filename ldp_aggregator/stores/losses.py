"""Finds reports that a store has lost: the keys, or rows, of one counter have to agree with each other."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from threading import Lock

from ldp_aggregator.stores.failure import LostReportsError


@dataclass(frozen=True)
class Loss:
    """What a counter has lost, at least: two losses can hide a part of each other."""

    reports: int
    """Number of acknowledged reports that are not in the sums."""
    ids: int
    """Number of acknowledged reports whose ids are missing: they would count again."""

    def __add__(self, other: Loss) -> Loss:
        return Loss(self.reports + other.reports, self.ids + other.ids)

    @property
    def excess_ids(self) -> int:
        """By how much the number of ids exceeds the number of reports in the sums."""
        return self.reports - self.ids


NO_LOSS = Loss(0, 0)


def compare_numbers(ids: int, n: int, *acknowledged: int) -> Loss:
    """Return the loss of a counter.

    Parameters
    ----------
    ids, n : int
        The number of its ids, and the number of reports in its sums.
    acknowledged : int
        Numbers of reports that it had earlier.
    """
    most = max(ids, n, *acknowledged)
    return Loss(most - n, most - ids)


def require_whole(survey: str, losses: Mapping[str, Loss]) -> None:
    """Raise LostReportsError, with all numbers of a survey, if one of its counters has lost anything."""
    if losses:
        total = sum(losses.values(), NO_LOSS)
        raise LostReportsError(survey, total.reports, total.ids)


class SeenTotals:
    """The largest number of reports that this process saw of each counter.

    A smaller number later shows that an older copy of the store was restored.
    """

    def __init__(self) -> None:
        self._lock = Lock()
        self._seen: dict[tuple[str, str], int] = {}

    def get(self, survey: str, counter: str) -> int:
        """Return the largest number of reports of a counter."""
        return self._seen.get((survey, counter), 0)

    def counters(self, survey: str) -> list[str]:
        """Return the counters of a survey that were seen."""
        return [counter for name, counter in list(self._seen) if name == survey]

    def add(self, survey: str, counter: str, n: int) -> None:
        """Add a number that is durable."""
        with self._lock:
            self._seen[survey, counter] = max(n, self.get(survey, counter))
