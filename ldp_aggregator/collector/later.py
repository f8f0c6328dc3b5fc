"""Work that may wait a little, so that much of it is done at once."""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import suppress


class Later:
    """Acts once, when the first of many who asked wanted it, on a thread of its own.

    If no thread can be had, the next who asks tries again; at exit there is none, and whoever ends the
    process acts.

    Parameters
    ----------
    act : callable
    """

    def __init__(self, act: Callable[[], object]) -> None:
        self._act = act
        self._lock = threading.Lock()
        self._timer: threading.Timer | None = None

    def ask(self, seconds: float) -> None:
        """See that it acts within so many seconds; whatever was prepared before this is acted upon."""
        with self._lock:
            if self._timer is None or not self._timer.is_alive():
                self._timer = threading.Timer(seconds, self._run)
                self._timer.daemon = True
                with suppress(RuntimeError):
                    self._timer.start()

    def _run(self) -> None:
        with self._lock:  # who asks from now on may come too late for this time
            self._timer = None
        self._act()
