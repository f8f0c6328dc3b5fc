"""What was worked out a moment ago, for everybody who asks meanwhile."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Generic, TypeVar

SECONDS = 2.0

T = TypeVar("T")


class Recent(Generic[T]):
    """Keeps results for a few seconds; of those who ask at once, one works and the others wait for it.

    Parameters
    ----------
    seconds : float
        How old a result may be when it is handed out.
    clock : callable
        Returns seconds that only ever grow.
    """

    def __init__(self, seconds: float = SECONDS, clock: Callable[[], float] = time.monotonic) -> None:
        self._seconds, self._clock = seconds, clock
        self._lock = threading.Lock()
        self._locks: dict[str, threading.Lock] = {}
        self._known: dict[str, tuple[float, T]] = {}

    def get(self, key: str, make: Callable[[], T]) -> T:
        """Return what is known under a key, or make it; whatever `make` raises is not kept."""
        with self._lock:
            lock = self._locks.setdefault(key, threading.Lock())
        with lock:
            known = self._known.get(key)
            if known and self._clock() - known[0] < self._seconds:
                return known[1]
            begun = self._clock()
            result = make()
            self._known[key] = begun, result
            return result
