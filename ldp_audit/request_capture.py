"""Captures the requests of this project's client, and freezes random bytes and clocks to find repeats."""

from __future__ import annotations

import os
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Any
from unittest.mock import patch

from ldp_audit.result import HOMOGENEITY, Check
from ldp_client import transport

HOST = "audit.invalid"
"""Requests to this host are captured; requests to other hosts are sent as usual."""
SURVEYS_URL = f"http://{HOST}/v1/surveys/"

_END_OF_HEAD = b"\r\n\r\n"
_BODY = b'{"status": "recorded"}'
_RESPONSE = b"%s\r\nContent-Length: %d\r\nConnection: close\r\n\r\n%s"


@dataclass(frozen=True)
class Request:
    """One HTTP request."""

    head: bytes
    body: bytes


@contextmanager
def capture_requests(
    captured: str = HOST, status: bytes = b"HTTP/1.1 200 OK", content: bytes = _BODY
) -> Iterator[list[Request]]:
    """Yield a list that receives every request to a host, which gets `status` and `content` as response."""
    response = _RESPONSE % (status, len(content), content)
    requests: list[Request] = []
    connect: Callable[..., object] = transport._connect

    def connect_or_capture(host: str, port: int, deadline: object) -> object:
        return _Connection(requests, response) if host == captured else connect(host, port, deadline)

    with patch.object(transport, "_connect", connect_or_capture):
        yield requests


class _Connection:
    """The part of a socket that HttpTransport uses; it responds as if the report was taken."""

    def __init__(self, requests: list[Request], response: bytes) -> None:
        self._requests = requests
        self._written = b""
        self._unread = response
        self._closed = False

    def settimeout(self, seconds: float) -> None:
        """Do nothing: no method of this class waits."""

    def send(self, data: memoryview) -> int:
        self._written += data
        return len(data)

    def recv_into(self, buffer: bytearray) -> int:
        part, self._unread = self._unread[: len(buffer)], self._unread[len(buffer) :]
        buffer[: len(part)] = part
        return len(part)

    def close(self) -> None:
        """Record the request, once: HttpTransport closes a connection without TLS twice."""
        if not self._closed:
            head, _, body = self._written.partition(_END_OF_HEAD)
            self._requests.append(Request(head, body))
        self._closed = True


def check_requests(sent: Mapping[str, Sequence[Sequence[Request]]]) -> Check:
    """Check that every device sends one request, and that all have the same request line and headers."""
    name = "Client.report sends one request; method, path and headers are the same for everybody"
    heads: dict[int, bytes] = {}
    count = 0
    for person, devices in sent.items():
        for requests in devices:
            if len(requests) != 1:
                return Check(HOMOGENEITY, name, False, f"({person}) sends {len(requests)} requests")
            request, count = requests[0], count + 1
            expected = heads.setdefault(len(request.body), request.head)  # Content-Length may differ
            if request.head != expected:
                finding = f"({person}) sends another {_describe_difference(expected, request.head)}"
                return Check(HOMOGENEITY, name, False, finding)
    return Check(HOMOGENEITY, name, True, f"{count:,} requests")


def _describe_difference(expected: bytes, found: bytes) -> str:
    """Return the name of the first line in which two heads differ."""
    one, other = expected.split(b"\r\n"), found.split(b"\r\n")
    lines = [line for line in other if line not in one] or [line for line in one if line not in other]
    if not lines or lines[0] == other[0]:
        return "request line" if lines else "order of headers"
    return f"header {lines[0].partition(b':')[0].decode('latin-1')}"


_CLOCKS = ("time", "time_ns", "monotonic", "monotonic_ns", "perf_counter", "perf_counter_ns")


class FrozenEnvironment:
    """Repeats random bytes and stops the clock, for the thread that makes it.

    `os.urandom` and the functions of module `time` are replaced. Other sources (`datetime.now`, a clock that
    compiled code reads, another process) cannot be replaced.
    """

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
