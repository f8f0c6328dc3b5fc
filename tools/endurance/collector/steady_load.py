"""Devices that answer at a steady rate, and send again what was not acknowledged, while something fails."""

from __future__ import annotations

import http.client
import json
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from itertools import pairwise
from urllib.parse import urlsplit

from tests.support.servers import wait_for

THREADS = 8
PAUSE_SECONDS = 0.05
"""Between two posts of a thread."""
READY_SECONDS = 0.25


class SteadyLoad:
    """Posts bodies from several threads; a body that fails does not delay the next one.

    Parameters
    ----------
    post : callable
        Posts a body once; returns whether it was acknowledged.
    bodies : sequence of bytes
    retry_seconds : float
        How long an unacknowledged body waits before it is sent again.

    Attributes
    ----------
    acknowledged : list of bytes
    times : list of float
        When bodies were acknowledged, in monotonic seconds.
    """

    def __init__(
        self, post: Callable[[bytes], bool], bodies: Sequence[bytes], retry_seconds: float = 0.5
    ) -> None:
        self._post, self._new, self._retry_seconds = post, deque(bodies), retry_seconds
        self._again: deque[tuple[float, bytes]] = deque()
        self._under_way = 0
        self._lock, self._stop = threading.Lock(), threading.Event()
        self.accept_new = True
        self.acknowledged: list[bytes] = []
        self.times = [time.monotonic()]
        self._threads = [threading.Thread(target=self._work, daemon=True) for _ in range(THREADS)]
        for thread in self._threads:
            thread.start()

    def finish(self) -> None:
        """Begin no new body; return when all that were begun are acknowledged."""
        self.accept_new = False
        try:
            wait_for(lambda: not (self._again or self._under_way))
        finally:
            self.stop()

    def stop(self) -> None:
        """Stop, also if some bodies were not acknowledged."""
        self._stop.set()
        for thread in self._threads:
            thread.join()

    def longest_gap(self, start: float) -> float:
        """Return the longest time between acknowledgements since a moment, in seconds; 0 without any."""
        times = [start, *(each for each in sorted(self.times) if each > start)]
        return max((later - earlier for earlier, later in pairwise(times)), default=0.0)

    def _take(self) -> bytes | None:
        with self._lock:
            body = None
            if self._again and self._again[0][0] <= time.monotonic():
                _, body = self._again.popleft()
            elif self.accept_new and self._new:
                body = self._new.popleft()
            self._under_way += body is not None
            return body

    def _work(self) -> None:
        while not self._stop.wait(PAUSE_SECONDS):
            body = self._take()
            if body is None:
                continue
            held = self._post(body)
            with self._lock:
                self._under_way -= 1
                if held:
                    self.acknowledged.append(body)
                    self.times.append(time.monotonic())
                else:
                    self._again.append((time.monotonic() + self._retry_seconds, body))


class ReadyWatch:
    """Asks /readyz again and again, and keeps the words of its answers.

    Attributes
    ----------
    words : list of str
        "ready", a reason, or "no answer", each once, in their order.
    """

    def __init__(self, base: str) -> None:
        self._where, self._stop = urlsplit(base), threading.Event()
        self.words: list[str] = []
        self.now = ""
        self._thread = threading.Thread(target=self._work, daemon=True)
        self._thread.start()

    def stop(self) -> None:
        self._stop.set()
        self._thread.join()

    def _work(self) -> None:
        while not self._stop.wait(READY_SECONDS):
            self.now = self._ask()
            if self.now not in self.words:
                self.words.append(self.now)

    def _ask(self) -> str:
        connection = http.client.HTTPConnection(self._where.hostname or "", self._where.port, timeout=20)
        with suppress(OSError, http.client.HTTPException, ValueError):
            connection.request("GET", "/readyz")
            answer = json.loads(connection.getresponse().read())
            connection.close()
            return str(answer.get("detail", answer.get("status"))).rpartition(": ")[2]
        connection.close()
        return "no answer"
