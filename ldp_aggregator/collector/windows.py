"""What a worker knows of the surveys' windows."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

from ldp_aggregator.stores import Store, StoreError
from ldp_aggregator.stores.schedule import Phase, Schedule, read_all_schedules

FRESH_SECONDS = 2.0
"""How long a worker goes on with what it read: a change in the store takes that long to be heard."""


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
        self._windows: dict[str, Schedule] | None = None

    def phase(self, survey: str) -> Phase:
        """Tell where a survey stands now."""
        with self._lock:
            if self._windows is None or time.monotonic() - self._read_at >= FRESH_SECONDS:
                self._windows = self._read()
            window = self._windows.get(survey, Schedule())
        return window.phase(self._clock())

    def _read(self) -> dict[str, Schedule]:
        """Read the windows; while the store is out of reach, whoever asks does not wait for it in turn."""
        try:
            return read_all_schedules(self._store)
        except StoreError:
            if self._windows is None:
                raise
            return self._windows
        finally:
            self._read_at = time.monotonic()
