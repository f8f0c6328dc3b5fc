"""Answers that concurrent callers share: one computation, or its result for some seconds."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Generic, TypeVar

T = TypeVar("T")


class SharedCall(Generic[T]):
    """Calls a function in a separate thread; concurrent callers share one call.

    Once a call has taken `seconds`, its callers get TimeoutError, and it goes on. The function should not
    raise errors, because an error would keep the frames of its callers, with their reports, in memory.
    """

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._lock, self._pool = threading.Lock(), ThreadPoolExecutor(1)
        self._future: Future[T] | None = None
        self._end = 0.0

    def result(self, function: Callable[[], T]) -> T:
        with self._lock:
            if self._future is None or self._future.done():
                self._future, self._end = self._pool.submit(function), time.monotonic() + self._seconds
            future, left = self._future, self._end - time.monotonic()
        return future.result(max(0.0, left))


class TtlCache(Generic[T]):
    """Caches results for some `seconds`; of concurrent callers, one computes and the others wait."""

    def __init__(self, seconds: float, clock: Callable[[], float] = time.monotonic) -> None:
        self._seconds, self._clock = seconds, clock
        self._lock = threading.Lock()
        self._locks: dict[str, threading.Lock] = {}
        self._entries: dict[str, tuple[float, T]] = {}

    def get(self, key: str, compute: Callable[[], T]) -> T:
        with self._lock:
            lock = self._locks.setdefault(key, threading.Lock())
        with lock:
            entry = self._entries.get(key)
            if entry and self._clock() - entry[0] < self._seconds:
                return entry[1]
            result = compute()
            self._entries[key] = self._clock(), result
            return result
