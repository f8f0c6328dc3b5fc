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
    repeat : type of Exception, optional
        If a computation raises this, all callers within `seconds` get the same error.
    """

    def __init__(
        self,
        seconds: float,
        clock: Callable[[], float] = time.monotonic,
        repeat: type[Exception] | tuple[()] = (),
    ) -> None:
        self._seconds, self._clock, self._repeat = seconds, clock, repeat
        self._lock = threading.Lock()
        self._locks: dict[str, threading.Lock] = {}
        self._entries: dict[str, tuple[float, T]] = {}
        self._errors: dict[str, tuple[float, Exception]] = {}

    def get(self, key: str, compute: Callable[[], T]) -> T:
        """Return the result of a key, computed now unless it is fresh."""
        with self._lock:
            lock = self._locks.setdefault(key, threading.Lock())
        with lock:
            entry, failed = self._entries.get(key), self._errors.pop(key, None)
            started = self._clock()
            if entry and started - entry[0] < self._seconds:
                return entry[1]
            if failed and started - failed[0] < self._seconds:
                self._errors[key] = failed
                raise failed[1].with_traceback(None)
            try:
                result = compute()
            except self._repeat as error:
                self._errors[key] = self._clock(), error
                raise
            self._entries[key] = started, result
            return result
