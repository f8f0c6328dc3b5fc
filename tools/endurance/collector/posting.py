"""Clients that post the same bytes until the collector has acknowledged them."""

from __future__ import annotations

import http.client
import json
import socket
import sys
import threading
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from urllib.parse import urlsplit

from encoders.report import MEDIA_TYPE

PATIENCE = 60.0
"""Seconds after which a body must have been acknowledged."""
CONNECTIONS = 4
"""Number of concurrent connections of a crowd."""


class Client:
    """One connection to one collector, opened again when it breaks."""

    def __init__(self, base: str, seconds: float = PATIENCE) -> None:
        self._where = urlsplit(base)
        self._connection: http.client.HTTPConnection | None = None
        self._seconds = seconds
        self.attempts = 0

    def post(self, body: bytes) -> tuple[int, dict[str, object]]:
        """Post once; status 0 means no response."""
        self.attempts += 1
        if self._connection is None:
            self._connection = http.client.HTTPConnection(
                self._where.hostname or "", self._where.port, timeout=self._seconds
            )
        try:
            self._connection.request("POST", "/v1/surveys/trial/reports", body, {"Content-Type": MEDIA_TYPE})
            response = self._connection.getresponse()
            return response.status, json.loads(response.read())
        except (OSError, http.client.HTTPException, ValueError):
            self.close()
            return 0, {}

    def deliver(self, body: bytes) -> tuple[int, dict[str, object]]:
        """Post until the response is not retryable."""
        end = time.monotonic() + self._seconds
        while time.monotonic() < end:
            status, response = self.post(body)
            if status and not response.get("retryable"):
                return status, response
            time.sleep(0.02)
        raise AssertionError(f"not acknowledged within {self._seconds} s")

    def close(self) -> None:
        if self._connection is not None:
            self._connection.close()
        self._connection = None


def post_once(base: str, body: bytes) -> bool:
    """Post once over a new connection; return whether all reports of the body were acknowledged."""
    client = Client(base, 20)
    status, response = client.post(body)
    client.close()
    return status == 200 and not response.get("rejected")


def statuses(size: int, response: Mapping[str, object]) -> Counter[str]:
    """Return the numbers of recorded and duplicate reports of a body, and of rejected ones by reason."""
    if size == 1:
        return Counter([str(response.get("status") if "reason" not in response else response["reason"])])
    found = Counter({name: int(str(response[name])) for name in ("recorded", "duplicate")})
    rejected = response["rejected"]
    assert isinstance(rejected, list)
    found.update(str(each["reason"]) for each in rejected)
    assert found.total() == size, response
    return +found


class Crowd:
    """Posts bodies over concurrent connections, each until it is acknowledged; starts at most `limit`."""

    def __init__(
        self, bases: Sequence[str], bodies: Sequence[tuple[int, bytes]], limit: int = sys.maxsize
    ) -> None:
        self.begun, self.attempts, self.seen, self.limit = 0, 0, Counter[str](), limit
        self._bases, self._bodies, self._lock = bases, iter(bodies), threading.Lock()
        self._pool = ThreadPoolExecutor(CONNECTIONS)
        self._ends = [self._pool.submit(self._work, bases[n % len(bases)]) for n in range(CONNECTIONS)]

    def _work(self, base: str) -> None:
        client = Client(base)
        while True:
            while self.begun >= self.limit:
                time.sleep(0.001)
            with self._lock:
                size, body = next(self._bodies, (0, b""))
                self.begun += 1
            if not size:
                break
            status, response = client.deliver(body)
            assert status in (200, 409), (status, response)
            with self._lock:
                self.seen.update(statuses(size, response))
        client.close()
        with self._lock:
            self.attempts += client.attempts

    def wait_until_begun(self, bodies: int) -> None:
        while self.begun < bodies:
            assert not any(end.done() for end in self._ends), [end.exception() for end in self._ends]
            time.sleep(0.001)

    def join(self) -> Counter[str]:
        self._pool.shutdown()
        for end in self._ends:
            end.result()
        return self.seen


def deliver(bases: str | Sequence[str], bodies: Sequence[tuple[int, bytes]]) -> Counter[str]:
    return Crowd([bases] if isinstance(bases, str) else bases, bodies).join()


def talk(port: int, request: bytes) -> bytes:
    """Send bytes, end the sending, return the beginning of the response."""
    with socket.create_connection(("127.0.0.1", port), PATIENCE) as connection, suppress(ConnectionError):
        connection.sendall(request)
        connection.shutdown(socket.SHUT_WR)
        return connection.recv(4096)
    return b""
