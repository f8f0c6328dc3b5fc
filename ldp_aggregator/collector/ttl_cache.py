"""A TTL cache; concurrent callers share one computation."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Generic, TypeVar

T = TypeVar("T")


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
