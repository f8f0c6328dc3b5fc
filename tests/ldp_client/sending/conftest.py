"""A real server that records when reports arrive."""

import itertools
import json
import time
from collections.abc import Callable, Iterator
from http.server import ThreadingHTTPServer

import pytest

from tests.support.http_servers import QuietHandler, serve


class Collector(ThreadingHTTPServer):
    """A server that returns 503 while it is down, and otherwise accepts every report."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.is_down = False
        self.requests: list[tuple[float, bytes, int, bool]] = []
        """The time, the body, the number of its connection, and whether it was taken."""
        self.connections = itertools.count()
        self.before_response: Callable[[], object] = lambda: None

    def url(self, survey: str) -> str:
        return f"http://127.0.0.1:{self.server_port}/v1/surveys/{survey}"

    @property
    def taken(self) -> list[bytes]:
        return [body for _, body, _, is_taken in list(self.requests) if is_taken]


class _Handler(QuietHandler):
    protocol_version = "HTTP/1.1"  # a client could keep its connection

    def setup(self) -> None:
        super().setup()
        assert isinstance(self.server, Collector)
        self.number = next(self.server.connections)

    def do_POST(self) -> None:
        assert isinstance(self.server, Collector)
        body = self.read_body()
        is_down = self.server.is_down
        self.server.requests.append((time.monotonic(), body, self.number, not is_down))
        self.server.before_response()
        response = {"reason": "store-unavailable"} if is_down else {"status": "recorded"}
        self.answer(503 if is_down else 200, json.dumps(response).encode())


@pytest.fixture
def server() -> Iterator[Collector]:
    with Collector() as server, serve(server):
        yield server
