"""Calls in separate threads, for which callers wait a limited time."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from typing import Generic, TypeVar

T = TypeVar("T")


class SharedCall(Generic[T]):
    """Calls a function in a separate thread; concurrent callers share one call.

    Once a call has taken `seconds`, its callers get TimeoutError, and it goes on. The function should not
    raise errors, because an error would keep the frames of its callers, with their reports, in memory.
    """

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._lock = threading.Lock()
        self._future: Future[T] | None = None
        self._end = 0.0

    def result(self, function: Callable[[], T]) -> T:
        """Return the result of the call that is under way, or of a new one."""
        with self._lock:
            if self._future is None or self._future.done():
                self._future, self._end = Future(), time.monotonic() + self._seconds
                threading.Thread(target=_call, args=(function, self._future), daemon=True).start()
            future = self._future
        return future.result(max(0.0, self._end - time.monotonic()))


def _call(function: Callable[[], T], future: Future[T]) -> None:
    try:
        future.set_result(function())
    except BaseException as error:
        future.set_exception(error)
