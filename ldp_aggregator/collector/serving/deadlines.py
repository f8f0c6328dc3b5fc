"""A deadline for requests: a connection that does not send a whole one in time is cut.

Gunicorn's own time limit watches workers, not their threads: as many idle connections as there are threads
would stop the collector. A socket's timeout would not do, since it begins anew with every byte.
"""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from time import monotonic

REQUEST_SECONDS = 10.0
RESPONSE_SECONDS = 60.0
_LOOK_SECONDS = 0.5


class Deadlines:
    """Watches connections while somebody is awaited; one thread for all, from the first on.

    If that thread cannot be had, a connection is not taken (RuntimeError), rather than never cut.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._ends: dict[int, float] = {}
        self._awaited: dict[int, socket.socket] = {}
        self._watcher: threading.Thread | None = None

    def begin(self, connection: socket.socket, seconds: float | None = None) -> None:
        """Await the other side from now on: for a whole request, or so many seconds; then cut it."""
        with self._lock:
            self._require_watcher()
            self._ends[id(connection)] = monotonic() + (seconds or REQUEST_SECONDS)
            self._awaited[id(connection)] = connection

    def pause(self, connection: socket.socket) -> None:
        """Let a connection be, for what was awaited is there; the deadline stays for what else may be."""
        with self._lock:
            self._awaited.pop(id(connection), None)

    def end(self, connection: socket.socket) -> None:
        """Forget a connection."""
        with self._lock:
            self._awaited.pop(id(connection), None)
            self._ends.pop(id(connection), None)

    @contextmanager
    def watch(self, connection: socket.socket | None) -> Iterator[None]:
        """Await the rest of a request in this block; nothing is watched without a connection.

        The time is the request's, if it was seen to begin, and else begins here.
        """
        if connection is None:
            yield
            return
        with self._lock:
            self._require_watcher()
            begun = id(connection) in self._ends
            self._ends.setdefault(id(connection), monotonic() + REQUEST_SECONDS)
            self._awaited[id(connection)] = connection
        try:
            yield
        finally:
            (self.pause if begun else self.end)(connection)

    def _require_watcher(self) -> None:
        """See that somebody looks: for good, so that no later start of a thread can fail."""
        if self._watcher is None or not self._watcher.is_alive():
            watcher = threading.Thread(target=self._look, name="ldp-deadlines", daemon=True)
            watcher.start()
            self._watcher = watcher

    def _look(self) -> None:
        idle = threading.Event()
        while True:
            idle.wait(_LOOK_SECONDS)
            with self._lock:
                late = [line for key, line in self._awaited.items() if monotonic() > self._ends[key]]
                for line in late:
                    with suppress(OSError):
                        line.shutdown(socket.SHUT_RDWR)
