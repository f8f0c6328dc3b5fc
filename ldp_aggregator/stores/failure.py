"""Why a store cannot be used, and what it has lost: the keys, or rows, of one counter have to agree."""

from __future__ import annotations

import mmap
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from itertools import count

import numpy as np

from encoders.errors import LdpError
from encoders.explain.text import Counted
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


class StoreFailure(StrEnum):
    """Why a store cannot be used; docs/monitoring.md explains each word."""

    FILE_MISSING = "file-missing"
    FILE_REPLACED = "file-replaced"
    SURVEY_MISSING = "survey-missing"
    REPORTS_LOST = "reports-lost"
    WEAK_DURABILITY = "weak-durability"
    CONNECTION_FAILED = "connection-failed"
    TIMEOUT = "timeout"
    LOADING = "loading"
    CLUSTER_DOWN = "cluster-down"
    NO_PERMISSION = "no-permission"
    READ_ONLY = "read-only"
    DISK_FULL = "disk-full"
    DISK_ERROR = "disk-error"
    OUT_OF_MEMORY = "out-of-memory"
    LOCKED = "locked"
    DAMAGED = "damaged"
    OVERFLOW = "overflow"
    OTHER = "other"


class StoreError(LdpError):
    """The store cannot be used; nothing was recorded."""

    reason: StoreFailure
    """A fixed word without anything from a request, an address or a path."""
    surveys: tuple[str, ...] = ()
    """The surveys that have lost data, if the others can go on."""

    def __init__(self, message: str, reason: StoreFailure = StoreFailure.OTHER) -> None:
        super().__init__(message)
        self.reason = reason


class CounterError(StoreError):
    """A batch cannot be counted; the store itself works, and can count other batches."""


class MissingSurveyError(CounterError):
    """The store lacks a survey that it had before, or has another plan of it."""

    def __init__(self, surveys: Iterable[str]) -> None:
        self.surveys = tuple(sorted(surveys))
        names = ", ".join(self.surveys)
        super().__init__(
            f"the store has lost {names}, or has another plan of it: it was emptied or replaced, or another "
            "collector has published a changed survey. Restore the store. Only if the survey was changed on "
            "purpose, restart this collector with the survey files that it serves from now on",
            StoreFailure.SURVEY_MISSING,
        )


def lost_plan_error(survey: str) -> CounterError:
    error = CounterError(
        f"the store has lost the plan of {survey}: start a collector with the survey's file, which publishes "
        "the plan again, and says what else is lost",
        StoreFailure.SURVEY_MISSING,
    )
    error.surveys = (survey,)
    return error


class LostReportsError(CounterError):
    """The store has lost reports that it had acknowledged, or their ids; nothing more is counted there."""

    def __init__(self, losses: Mapping[str, Loss]) -> None:
        self.surveys = tuple(sorted({name.partition(".")[0] for name in losses}))
        parts = (f"{name.partition('.')[0]}: {describe_loss(name, loss)}" for name, loss in losses.items())
        self.what = "; ".join(parts)
        super().__init__(
            f"the store has lost data of {self.what}. Restore the newest copy of the store or, to go on with "
            "what is left, import it into a new store: ldp-collector import "
            f"{' / '.join(self.surveys)} --from OLD --store NEW --accept-loss",
            StoreFailure.REPORTS_LOST,
        )


def require_whole(losses: Mapping[str, Mapping[str, Loss]], missing: Collection[str] = ()) -> None:
    """Raise an error if surveys are missing, or have lost something; the losses are by name and counter."""
    lost = {name: sum(each.values(), NO_LOSS) for name, each in losses.items() if each}
    if missing:
        raise MissingSurveyError({name.partition(".")[0] for name in (*missing, *lost)})
    if lost:
        raise LostReportsError(lost)


def describe_loss(name: str, loss: Loss) -> str:
    if "." in name:
        return f"{Counted(max(loss.reports, loss.ids), 'token')}, whose holders are refused"
    numbers = {
        f"{Counted(loss.reports, 'acknowledged report')} that no count contains": loss.reports,
        f"{Counted(loss.ids, 'id')} of reports, which would count again if they were sent again": loss.ids,
        f"the number of reports of {Counted(loss.counters, 'counter')}, which may lack more": loss.counters,
    }
    return " and ".join(text for text, number in numbers.items() if number)
