"""HTTP as devices send it, against a real socket."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest

from ldp_client import HttpTransport, TransportError


class _Handler(BaseHTTPRequestHandler):
    seen: list[tuple[str, dict[str, str], bytes]]

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        type(self).seen.append((self.path, dict(self.headers), body))
        self.send_response(503)
        self.send_header("Retry-After", "7")
        self.send_header("Set-Cookie", "who=you")
        self.end_headers()
        self.wfile.write(b"busy")

    def log_message(self, *arguments: object) -> None:
        pass


@pytest.fixture
def server() -> Iterator[tuple[str, type[_Handler]]]:
    handler = type("Handler", (_Handler,), {"seen": []})
    http = HTTPServer(("127.0.0.1", 0), handler)
    thread = threading.Thread(target=http.serve_forever, args=(0.01,))
    thread.start()
    yield f"http://127.0.0.1:{http.server_port}", handler
    http.shutdown()
    thread.join()
    http.server_close()


def test_requests_carry_the_body_and_nothing_about_the_device(server: tuple[str, type[_Handler]]) -> None:
    base, handler = server
    for _ in range(2):
        answer = HttpTransport().request("POST", f"{base}/v1/surveys/sleep/reports", b"body", 5.0)
    assert (answer.status, answer.body, answer.retry_after) == (503, b"busy", 7.0)
    (path, headers, body), second = handler.seen
    assert (path, body) == ("/v1/surveys/sleep/reports", b"body")
    assert second == (path, headers, body)  # no cookie comes back
    assert list(headers) == [
        "Host",
        "Accept-Encoding",
        "Content-Length",
        "User-Agent",
        "Accept",
        "Content-Type",
    ]
    assert headers["User-Agent"] == "ldp-client"


def test_no_server_is_one_kind_of_error() -> None:
    with pytest.raises(TransportError):
        HttpTransport().request("GET", "http://127.0.0.1:9/", None, 1.0)


def test_a_server_that_drips_is_cut_off_in_time() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        done = threading.Event()

        def drip() -> None:
            connection, _ = listener.accept()
            with connection, suppress(OSError):
                connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n")
                while not done.wait(0.05):
                    connection.sendall(b"x")

        thread = threading.Thread(target=drip)
        thread.start()
        start = time.monotonic()
        with pytest.raises(TransportError):
            HttpTransport().request("GET", f"http://127.0.0.1:{listener.getsockname()[1]}/", None, 0.5)
        assert time.monotonic() - start < 5.0
        done.set()
        thread.join()
