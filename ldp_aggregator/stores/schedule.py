"""When a survey is open: it opens, it closes, and reports that were on their way then have a grace period.

While an import copies a survey into a store, its schedule names that import, and the survey takes no reports.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from enum import StrEnum

from encoders.errors import LdpError
from ldp_aggregator.stores.base import Store, StoreError


class IncompleteImportError(LdpError):
    """A survey that is still being imported: its counters do not fit each other yet."""


class Phase(StrEnum):
    """The phase of a survey."""

    WAITING = "waiting"
    """Neither is its plan served nor are reports taken yet."""
    OPEN = "open"
    GRACE = "grace"
    """Its plan is no longer served; reports that devices made before are still taken."""
    CLOSED = "closed"


@dataclass(frozen=True, kw_only=True)
class Schedule:
    """When a survey is open, in seconds since 1970; none means no limit.

    Attributes
    ----------
    opens, closes : int or None
    grace : int
        Seconds after `closes` in which reports are still taken.
    import_run : str
        Names the run of an import that is copying the survey; empty when the survey is complete.
    """

    opens: int | None = None
    closes: int | None = None
    grace: int = 0
    import_run: str = ""

    def phase(self, now: float) -> Phase:
        """Return the phase of the survey."""
        if self.import_run or (self.opens is not None and now < self.opens):
            return Phase.WAITING
        if self.closes is None or now < self.closes:
            return Phase.OPEN
        return Phase.GRACE if now < self.closes + self.grace else Phase.CLOSED

    def to_json(self) -> bytes:
        """Return the schedule as a store keeps it."""
        return json.dumps({key: getattr(self, name) for key, name in _FIELDS.items()}).encode()

    @classmethod
    def from_json(cls, data: bytes) -> Schedule:
        """Read a schedule that a store kept.

        Raises
        ------
        StoreError
            If it is none.
        """
        try:
            document = json.loads(data)
            return cls(**{_FIELDS[key]: value for key, value in document.items()})
        except (ValueError, TypeError, KeyError, AttributeError) as error:
            raise StoreError("the store holds a schedule of a survey that cannot be read") from error


_FIELDS = {"opens": "opens", "closes": "closes", "grace": "grace", "arriving": "import_run"}
"""The fields of a schedule by the keys under which a store keeps them."""


def read_all_schedules(store: Store) -> dict[str, Schedule]:
    """Return the schedule of every survey that has one."""
    return {survey: Schedule.from_json(data) for survey, data in store.schedules().items()}


def read_schedule(store: Store, survey: str) -> Schedule:
    """Return one survey's schedule."""
    data = store.schedules().get(survey)
    return Schedule.from_json(data) if data else Schedule()


def require_complete_import(store: Store, survey: str) -> None:
    """Refuse to use a survey of which a part is missing.

    Raises
    ------
    IncompleteImportError
        If an import is copying it, or was cut off.
    """
    if read_schedule(store, survey).import_run:
        raise IncompleteImportError(
            f"{survey} has not arrived in this store: run its import again, to the end"
        )
