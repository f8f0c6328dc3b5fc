"""When a survey takes answers: it opens, it closes, and what was on its way then has a time of grace.

A store keeps it, and while an import brings the survey there, that too: until all is there, it takes none.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from enum import StrEnum

from encoders.errors import LdpError
from ldp_aggregator.stores import Store, StoreError


class IncompleteImportError(LdpError):
    """A survey that is still being imported: its counters do not fit each other yet."""


class Phase(StrEnum):
    """Where a survey stands."""

    WAITING = "waiting"
    """Neither its plan is given nor a report taken yet."""
    OPEN = "open"
    GRACE = "grace"
    """Its plan is no longer given; reports that devices made before are still taken."""
    CLOSED = "closed"


@dataclass(frozen=True)
class Schedule:
    """A survey's times, in seconds since 1970; none means no limit.

    Attributes
    ----------
    opens, closes : int or None
    grace : int
        Seconds after `closes` in which reports are still taken.
    arriving : str
        Names the run of an import that is bringing the survey; empty when it is all there.
    """

    opens: int | None = None
    closes: int | None = None
    grace: int = 0
    arriving: str = ""

    def phase(self, now: float) -> Phase:
        """Tell where the survey stands."""
        if self.arriving or (self.opens is not None and now < self.opens):
            return Phase.WAITING
        if self.closes is None or now < self.closes:
            return Phase.OPEN
        return Phase.GRACE if now < self.closes + self.grace else Phase.CLOSED

    def to_json(self) -> bytes:
        """Return what a store keeps."""
        return json.dumps(asdict(self)).encode()

    @classmethod
    def from_json(cls, data: bytes) -> Schedule:
        """Read what a store kept.

        Raises
        ------
        StoreError
            If it is none.
        """
        try:
            window = cls(**json.loads(data))
        except (ValueError, TypeError) as error:
            raise StoreError("the store holds a survey's window that cannot be read") from error
        return window


def read_all_schedules(store: Store) -> dict[str, Schedule]:
    """Return the window of every survey that has one."""
    return {survey: Schedule.from_json(data) for survey, data in store.schedules().items()}


def read_schedule(store: Store, survey: str) -> Schedule:
    """Return one survey's window."""
    kept = store.schedules().get(survey)
    return Schedule.from_json(kept) if kept else Schedule()


def require_complete_import(store: Store, survey: str) -> None:
    """Refuse to use a survey of which a part is missing.

    Raises
    ------
    IncompleteImportError
        If an import is bringing it, or was cut off.
    """
    if read_schedule(store, survey).arriving:
        raise IncompleteImportError(
            f"{survey} has not arrived in this store: run its import again, to the end"
        )
