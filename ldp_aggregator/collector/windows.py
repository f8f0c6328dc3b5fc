"""When a survey takes answers: it opens, it closes, and what was on its way then has a time of grace."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from enum import StrEnum

from ldp_aggregator.stores import Store, StoreError

FRESH_SECONDS = 2.0
"""How long a worker goes on with what it read: a change in the store takes that long to be heard."""


class Phase(StrEnum):
    """Where a survey stands."""

    WAITING = "waiting"
    """Neither its plan is given nor a report taken yet."""
    OPEN = "open"
    GRACE = "grace"
    """Its plan is no longer given; reports that devices made before are still taken."""
    CLOSED = "closed"


@dataclass(frozen=True)
class Window:
    """A survey's times, in seconds since 1970; none means no limit.

    Attributes
    ----------
    opens, closes : int or None
    grace : int
        Seconds after `closes` in which reports are still taken.
    """

    opens: int | None = None
    closes: int | None = None
    grace: int = 0

    def phase(self, now: float) -> Phase:
        """Tell where the survey stands."""
        if self.opens is not None and now < self.opens:
            return Phase.WAITING
        if self.closes is None or now < self.closes:
            return Phase.OPEN
        return Phase.GRACE if now < self.closes + self.grace else Phase.CLOSED

    def to_json(self) -> bytes:
        """Return what a store keeps."""
        return json.dumps(asdict(self)).encode()

    @classmethod
    def from_json(cls, data: bytes) -> Window:
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


def windows_of(store: Store) -> dict[str, Window]:
    """Return the window of every survey that has one."""
    return {survey: Window.from_json(data) for survey, data in store.windows().items()}


class Windows:
    """What a worker knows of the windows, read again when it is no longer fresh.

    Parameters
    ----------
    store : Store
    clock : callable
        Seconds since 1970.
    """

    def __init__(self, store: Store, clock: Callable[[], float] = time.time) -> None:
        self._store, self._clock = store, clock
        self._lock = threading.Lock()
        self._read_at = -FRESH_SECONDS
        self._windows: dict[str, Window] | None = None

    def phase(self, survey: str) -> Phase:
        """Tell where a survey stands now."""
        with self._lock:
            if self._windows is None or time.monotonic() - self._read_at >= FRESH_SECONDS:
                self._windows = self._read()
            window = self._windows.get(survey, Window())
        return window.phase(self._clock())

    def _read(self) -> dict[str, Window]:
        """Read the windows; while the store is out of reach, whoever asks does not wait for it in turn."""
        try:
            return windows_of(self._store)
        except StoreError:
            if self._windows is None:
                raise
            return self._windows
        finally:
            self._read_at = time.monotonic()
