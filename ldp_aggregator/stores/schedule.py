"""Opening times of surveys: when a survey opens, when it closes, and a grace period for late reports.

While an import copies a survey into a store, the schedule names that import, and the survey takes no reports.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from enum import StrEnum

from encoders.errors import LdpError
from ldp_aggregator.stores.failure import StoreError
from ldp_aggregator.stores.store import Store


class IncompleteImportError(LdpError):
    """The import of a survey is incomplete: its counters are not consistent yet."""


class Phase(StrEnum):
    """The phase of a survey: before opening, open, grace period, or closed."""

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

    def phase(self, now: float) -> Phase:
        """Return the survey's phase at a Unix time: waiting, open, grace period or closed."""
        if self.import_run or (self.opens is not None and now < self.opens):
            return Phase.WAITING
        if self.closes is None or now < self.closes:
            return Phase.OPEN
        return Phase.GRACE if now < self.closes + self.grace else Phase.CLOSED

    def to_json(self) -> bytes:
        """Return the schedule as the JSON that a store keeps."""
        return json.dumps({key: getattr(self, name) for key, name in _FIELDS.items()}).encode()

    @classmethod
    def from_json(cls, data: bytes) -> Schedule:
        """Return the schedule in the JSON that a store keeps.

        Raises
        ------
        StoreError
            If the data are not a schedule.
        """
        try:
            document = json.loads(data)
            return cls(**{_FIELDS[key]: value for key, value in document.items()})
        except (ValueError, TypeError, KeyError, AttributeError) as error:
            raise StoreError("a schedule in the store was damaged: restore a backup of the store") from error


_FIELDS = {"opens": "opens", "closes": "closes", "grace": "grace", "arriving": "import_run"}
"""The fields of a schedule by their JSON keys."""


def read_all_schedules(store: Store) -> dict[str, Schedule]:
    """Return the schedule of every survey that has one."""
    return {survey: Schedule.from_json(data) for survey, data in store.schedules().items()}


def read_schedule(store: Store, survey: str) -> Schedule:
    """Return the schedule of a survey, without limits if it has none."""
    data = store.schedules().get(survey)
    return Schedule.from_json(data) if data else Schedule()


def require_complete_import(store: Store, survey: str) -> None:
    """Raise IncompleteImportError for a survey whose import is incomplete.

    Raises
    ------
    IncompleteImportError
        If an import is running or was interrupted.
    """
    if read_schedule(store, survey).import_run:
        raise IncompleteImportError(
            f"the import of {survey} into this store is incomplete: run it again (ldp-collector import)"
        )
