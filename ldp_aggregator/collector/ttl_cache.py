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
        If a computation raises this, the previous result is kept for another `seconds`. From then on, until
        a computation succeeds, callers do not wait for another caller's computation.
    repeat : type of Exception, optional
        If a computation raises this, all callers within `seconds` get the same error.
    """

    def __init__(
        self,
        seconds: float,
        clock: Callable[[], float] = time.monotonic,
        stale_on: type[Exception] | tuple[()] = (),
        repeat: type[Exception] | tuple[()] = (),
    ) -> None:
        self._seconds, self._clock, self._stale_on, self._repeat = seconds, clock, stale_on, repeat
        self._lock = threading.Lock()
        self._locks: dict[str, threading.Lock] = {}
        self._entries: dict[str, tuple[float, T]] = {}
        self._errors: dict[str, tuple[float, Exception]] = {}
        self._stale: set[str] = set()

    def get(self, key: str, compute: Callable[[], T]) -> T:
        """Return the result of a key, computed now unless it is fresh."""
        with self._lock:
            lock = self._locks.setdefault(key, threading.Lock())
        if not lock.acquire(blocking=key not in self._stale):
            return self._entries[key][1]
        try:
            return self._get(key, compute)
        finally:
            lock.release()

    def _get(self, key: str, compute: Callable[[], T]) -> T:
        entry, failed = self._entries.get(key), self._errors.pop(key, None)
        started = self._clock()
        if entry and started - entry[0] < self._seconds:
            return entry[1]
        if failed and started - failed[0] < self._seconds:
            self._errors[key] = failed
            raise failed[1].with_traceback(None)
        try:
            result = compute()
            self._stale.discard(key)
        except self._stale_on:
            if entry is None:
                raise
            started, result = self._clock(), entry[1]  # now: waiting callers must not retry in turn
            self._stale.add(key)
        except self._repeat as error:
            self._errors[key] = self._clock(), error
            raise
        self._entries[key] = started, result
        return result
