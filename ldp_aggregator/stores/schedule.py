"""Opening times of surveys: when a survey opens, when it closes, and a grace period for late reports.

While an import copies a survey into a store, the schedule names that import, and the survey takes no reports.
It also states where the survey's counters come from: that they are a backup, or what was lost before.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import astuple, dataclass, field, replace
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any

from encoders.errors import LdpError
from ldp_aggregator.stores.failure import NO_LOSS, Loss, StoreError
from ldp_aggregator.stores.store import SCHEDULES, Store, Total, count_reports


class IncompleteImportError(LdpError):
    """The import of a survey is incomplete: its counters are not consistent yet."""


class BackupError(LdpError):
    """A backup, which can only be imported: what was counted later would be missing in results."""


class Phase(StrEnum):
    WAITING = "waiting"
    """The plan is not served and no reports are accepted yet."""
    OPEN = "open"
    GRACE = "grace"
    """The plan is no longer served; reports that devices made before are still accepted."""
    CLOSED = "closed"


@dataclass(frozen=True, kw_only=True)
class Schedule:
    """When a survey is open, in Unix seconds; None means no limit."""

    opens: int | None = None
    closes: int | None = None
    grace: int = 0
    """Number of seconds after `closes` for which reports are still accepted."""
    import_run: str = ""
    """Id of the import run that is copying the survey; empty when the survey is complete."""
    lost: Mapping[str, Loss] = field(default_factory=dict)
    """What the counters had lost when the survey was imported, which its operator accepted."""
    backup: int | None = None
    """When this backup was made; None if the survey can be served."""
    restored: tuple[int, ...] = ()
    """The times of the backups that the survey was restored from."""
    closed_waves: Mapping[str, int] = field(default_factory=dict)
    """The waves that the operator has closed, and from when their reports are refused."""

    @property
    def loss(self) -> Loss:
        return sum(self.lost.values(), Loss(backups=self.restored))

    def correct(self, totals: Mapping[str, Total]) -> dict[str, Total]:
        """Return totals with the numbers of reports in the sums; those of a store are of ids."""
        excess = {counter: self.lost.get(counter, NO_LOSS).excess_ids for counter in totals}
        return {counter: replace(total, n=total.n - excess[counter]) for counter, total in totals.items()}

    def after_import(self, losses: Mapping[str, Loss], backup: int | None) -> Schedule:
        lost = {
            counter: losses.get(counter, NO_LOSS) + self.lost.get(counter, NO_LOSS)
            for counter in losses.keys() | self.lost
        }
        restored = (*self.restored, self.backup) if self.backup else self.restored
        return replace(self, lost=lost, backup=backup, restored=restored)

    def phase(self, now: float) -> Phase:
        if self.import_run or self.backup or (self.opens is not None and now < self.opens):
            return Phase.WAITING
        if self.closes is None or now < self.closes:
            return Phase.OPEN
        return Phase.GRACE if now < self.closes + self.grace else Phase.CLOSED

    def to_json(self) -> bytes:
        lost = {counter: astuple(loss)[: 4 if loss.counters else 2] for counter, loss in self.lost.items()}
        origin: dict[str, Any] = {"lost": lost, "backup": self.backup, "restored": list(self.restored)}
        origin["closed_waves"] = dict(self.closed_waves)
        document = {key: getattr(self, name) for key, name in _FIELDS.items()}
        return json.dumps(document | {key: value for key, value in origin.items() if value}).encode()

    @classmethod
    def from_json(cls, data: bytes) -> Schedule:
        try:
            document: dict[str, Any] = json.loads(data)
            lost = {counter: Loss(*each) for counter, each in document.pop("lost", {}).items()}
            origin = {"lost": lost, "backup": document.pop("backup", None)}
            origin["restored"] = tuple(document.pop("restored", ()))
            origin["closed_waves"] = document.pop("closed_waves", {})
            return cls(**origin, **{_FIELDS[key]: value for key, value in document.items()})
        except (ValueError, TypeError, KeyError, AttributeError) as error:
            raise StoreError("a schedule in the store was damaged: restore a backup of the store") from error


_FIELDS = {"opens": "opens", "closes": "closes", "grace": "grace", "arriving": "import_run"}
"""The fields of a schedule by their JSON keys."""


def read_all_schedules(store: Store) -> dict[str, Schedule]:
    return {survey: Schedule.from_json(data) for survey, data in store.notes(SCHEDULES).items()}


def read_schedule(store: Store, survey: str) -> Schedule:
    data = store.notes(SCHEDULES, survey).get(survey)
    return Schedule.from_json(data) if data else Schedule()


def count_in_sums(store: Store, survey: str) -> int:
    return count_reports(read_schedule(store, survey).correct(store.totals(survey)))


def require_usable(store: Store, survey: str) -> Schedule:
    """Return a survey's schedule; raise IncompleteImportError during its import, BackupError in a backup."""
    schedule = read_schedule(store, survey)
    if schedule.import_run:
        raise IncompleteImportError(
            f"the import of {survey} into this store is incomplete: run it again (ldp-collector import)"
        )
    require_no_backup(survey, schedule)
    return schedule


def require_no_backup(survey: str, schedule: Schedule) -> None:
    if schedule.backup:
        raise BackupError(
            f"this store is a backup of {format_time(schedule.backup)} UTC, which can only be imported: "
            f"restore {survey} into a new store (ldp-collector import {survey} --from BACKUP "
            "--store NEW --accept-loss)"
        )


def format_time(seconds: int) -> str:
    return f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%d %H:%M}"
