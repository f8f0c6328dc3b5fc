"""Work that may wait a little, so that much of it is done at once."""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import suppress


def later(seconds: float, act: Callable[[], object]) -> threading.Timer:
    """Call `act` on a thread of its own after so many seconds, unless cancelled or the process ends."""
    timer = threading.Timer(seconds, act)
    timer.daemon = True
    with suppress(RuntimeError):  # at exit there is no thread to be had: whoever ends the process flushes
        timer.start()
    return timer
