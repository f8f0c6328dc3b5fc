"""An environment with fixed random bytes and a stopped clock, to detect noise that repeats.

`os.urandom` and the functions of module `time` are replaced for the calling thread. Other sources
(`datetime.now`, a clock that compiled code reads, another process) cannot be replaced.
"""

from __future__ import annotations

import os
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any
from unittest.mock import patch

_CLOCKS = ("time", "time_ns", "monotonic", "monotonic_ns", "perf_counter", "perf_counter_ns")


class FrozenEnvironment:
    """Repeats random bytes and stops the clock, for the thread that makes it."""

    def __init__(self) -> None:
        self._owner = threading.get_ident()
        self._urandom = os.urandom
        self._drawn: list[bytes] = []
        self._fixed: tuple[int, int, bytes] | None = None  # call of urandom, offset, bytes
        self._calls = 0

    def start_report(self) -> None:
        """Begin a report: the next random bytes are the first of the report."""
        self._calls = 0

    def release_bytes(self) -> None:
        """Begin a report whose random bytes are all fresh, and record what it draws."""
        self._drawn = []
        self._fixed = None
        self.start_report()

    def fix_bytes(self, part: bytes) -> None:
        """Give all further reports the bytes `part` at the position at which the latest report drew them."""
        for call, data in enumerate(self._drawn):
            if part and part in data:
                self._fixed = (call, data.index(part), part)

    def urandom(self, size: int) -> bytes:
        data = self._urandom(size)
        if threading.get_ident() != self._owner:
            return data
        if self._fixed is None:
            self._drawn.append(data)
        elif self._fixed[0] == self._calls:
            _, start, part = self._fixed
            data = (data[:start] + part + data[start + len(part) :])[:size]
        self._calls += 1
        return data

    def stop_clock(self, clock: Callable[[], Any]) -> Callable[[], Any]:
        """Return a clock that is stopped for the thread of this environment, and runs for other threads."""
        now, owner = clock(), self._owner
        return lambda: now if threading.get_ident() == owner else clock()


@contextmanager
def freeze_environment() -> Iterator[FrozenEnvironment]:
    """Return a context that replaces random bytes and clocks of this process for the calling thread."""
    environment = FrozenEnvironment()
    randomness = {id(os.urandom): environment.urandom}
    clocks = [getattr(time, name) for name in _CLOCKS]
    all_sources = randomness | {id(clock): environment.stop_clock(clock) for clock in clocks}
    with ExitStack() as stack:
        for name, module in list(sys.modules.items()):
            reads_clock = name.partition(".")[0] not in sys.stdlib_module_names or name == "time"
            replacements = all_sources if reads_clock else randomness
            attributes = list(getattr(module, "__dict__", {}).items())
            for attribute, value in attributes:
                if id(value) in replacements:
                    stack.enter_context(patch.object(module, attribute, replacements[id(value)]))
        yield environment
