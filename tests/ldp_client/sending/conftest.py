"""A real server that records when reports arrive."""

import itertools
import json
import threading
import time
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest


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


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"  # a client could keep its connection

    def setup(self) -> None:
        super().setup()
        assert isinstance(self.server, Collector)
        self.number = next(self.server.connections)

    def do_POST(self) -> None:
        assert isinstance(self.server, Collector)
        body = self.rfile.read(int(self.headers["Content-Length"]))
        is_down = self.server.is_down
        self.server.requests.append((time.monotonic(), body, self.number, not is_down))
        self.server.before_response()
        response = {"reason": "store-unavailable"} if is_down else {"status": "recorded"}
        data = json.dumps(response).encode()
        self.send_response(503 if is_down else 200)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *_: object) -> None:
        """Print nothing."""


@pytest.fixture
def server() -> Iterator[Collector]:
    with Collector() as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        yield server
        server.shutdown()
        thread.join()
