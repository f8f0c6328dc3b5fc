"""A deadline for bodies: a connection that does not send what it announced is cut.

Gunicorn's own time limit watches workers, not their threads: as many idle connections as there are threads
would stop the collector. A socket's timeout would not do, since it begins anew with every byte.
"""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from time import monotonic

BODY_SECONDS = 10.0
_LOOK_SECONDS = 0.5


class Deadlines:
    """Watches connections that are being read; one thread for all, while there are any."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._ends: dict[int, tuple[float, socket.socket]] = {}
        self._watching = False

    @contextmanager
    def watch(self, connection: socket.socket | None) -> Iterator[None]:
        """Cut a connection unless the block ends in time; nothing is watched without one."""
        if connection is None:
            yield
            return
        with self._lock:
            self._ends[id(connection)] = monotonic() + BODY_SECONDS, connection
            if not self._watching:
                self._watching = True
                threading.Thread(target=self._look, name="ldp-deadlines", daemon=True).start()
        try:
            yield
        finally:
            with self._lock:
                self._ends.pop(id(connection), None)

    def _look(self) -> None:
        idle = threading.Event()
        while True:
            idle.wait(_LOOK_SECONDS)
            with self._lock:
                if not self._ends:
                    self._watching = False
                    return
                late = [line for end, line in self._ends.values() if monotonic() > end]
                for line in late:
                    with suppress(OSError):
                        line.shutdown(socket.SHUT_RDWR)
