"""A TTL cache; concurrent callers share one computation."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Generic, TypeVar

T = TypeVar("T")


class TtlCache(Generic[T]):
    """Caches results for a few seconds; of concurrent callers, one computes and the others wait.

    Parameters
    ----------
    seconds : float
        Maximum age of a result when it is returned.
    clock : callable
        Returns monotonic seconds.
    stale_on : type of Exception, optional
        If a computation raises this, the previous result is kept for another `seconds`.
    """

    def __init__(
        self,
        seconds: float,
        clock: Callable[[], float] = time.monotonic,
        stale_on: type[Exception] | tuple[()] = (),
    ) -> None:
        self._seconds, self._clock, self._stale_on = seconds, clock, stale_on
        self._lock = threading.Lock()
        self._locks: dict[str, threading.Lock] = {}
        self._entries: dict[str, tuple[float, T]] = {}

    def get(self, key: str, compute: Callable[[], T]) -> T:
        """Return the result of a key, computed now unless it is fresh; errors are not cached."""
        with self._lock:
            lock = self._locks.setdefault(key, threading.Lock())
        with lock:
            entry = self._entries.get(key)
            started = self._clock()
            if entry and started - entry[0] < self._seconds:
                return entry[1]
            try:
                result = compute()
            except self._stale_on:
                if entry is None:
                    raise
                started, result = (
                    self._clock(),
                    entry[1],
                )  # now: waiting callers must not retry in turn
            self._entries[key] = started, result
            return result
