"""Deadlines on a real gunicorn, with shorter times and two threads: who is cut, and who is not."""

from __future__ import annotations

import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from urllib.parse import urlsplit

import pytest

from ldp_aggregator.collector.serving import deadlines
from tests.servers import stop

SERVER = """
import sys, time
from types import SimpleNamespace
from flask import Flask, request
from ldp_aggregator.collector.serving import deadlines, server, worker
from ldp_aggregator.collector.settings import CollectorSettings
from ldp_aggregator.collector.startup import PublishedSurveys

deadlines.REQUEST_SECONDS, worker.RESPONSE_SECONDS, worker.LINGER_SECONDS = float(sys.argv[1]), 1.0, 1.0
deadlines._LOOK_SECONDS = 0.1

def make_app():
    app, watched = Flask("trial"), deadlines.Deadlines()
    app.extensions["ldp"] = SimpleNamespace(deadlines=watched, intakes={})
    app.add_url_rule("/quick", "quick", lambda: "done")
    app.add_url_rule("/long", "long", lambda: bytes(64 << 20))

    @app.get("/worked-on")
    def worked_on():
        time.sleep(2.5)
        return "done"

    @app.post("/")
    def body():
        with watched.watch(request.environ["gunicorn.socket"]):
            return str(len(request.get_data()))

    return app

class TrialSurveys(PublishedSurveys):
    def make_app(self):
        return make_app()

settings = CollectorSettings(bind="127.0.0.1:0", workers=1, threads=2)
surveys = TrialSurveys(settings=settings, plans=[], signatures={}, guarantee="")
server.serve(surveys, lambda: surveys, lambda addresses: print(addresses[0], flush=True))
"""
THREADS = 2
CUT_WITHIN = 4.0


@contextmanager
def server(request_seconds: float = 1.0) -> Iterator[tuple[str, int]]:
    command = [sys.executable, "-c", SERVER, str(request_seconds)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        parts = urlsplit(process.stdout.readline() if process.stdout else "")
        yield str(parts.hostname), int(parts.port or 0)
    finally:
        stop(process)


@pytest.fixture(scope="module")
def address() -> Iterator[tuple[str, int]]:
    with server() as listening:
        yield listening


@pytest.fixture
def several(address: tuple[str, int]) -> Iterator[list[socket.socket]]:
    """More connections than there are threads."""
    with ExitStack() as stack:
        yield [stack.enter_context(socket.create_connection(address, 20)) for _ in range(2 * THREADS)]


def get(address: tuple[str, int], page: str) -> bytes:
    with socket.create_connection(address, 20) as connection:
        connection.sendall(f"GET {page} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n".encode())
        return b"".join(iter(lambda: connection.recv(1 << 16), b""))


def drip(line: socket.socket, byte: bytes) -> float:
    """Send a byte now and then; return after how long the connection was cut."""
    start = time.monotonic()
    while time.monotonic() < start + 10:
        try:
            line.sendall(byte)
            line.settimeout(0.1)
            if line.recv(1) == b"":
                break
        except TimeoutError:
            continue
        except OSError:
            break
    return time.monotonic() - start


@pytest.mark.parametrize(
    "begun",
    [
        b"GET / HTTP/1.1\r\nX-Header: ",
        b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n\r\n",
        b"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nfff\r\n",
    ],
)
def test_a_request_that_drips_is_cut_wherever_it_is(address: tuple[str, int], begun: bytes) -> None:
    with socket.create_connection(address) as line:
        line.sendall(begun)
        assert 0.5 < drip(line, b"x") < CUT_WITHIN


def test_header_and_body_have_one_time_together() -> None:
    with server(request_seconds=4) as address, socket.create_connection(address) as line:
        start = time.monotonic()
        line.sendall(b"POST / HTTP/1.1\r\nHost: x\r\nContent-Le")
        time.sleep(3.5)
        with suppress(OSError):
            line.sendall(b"ngth: 1000\r\n\r\n")
        drip(line, b"x")
        assert time.monotonic() - start < 7  # 4 s; a second time would have ended after 7.5 s at the earliest


def test_slow_headers_hold_up_others_for_no_longer_than_the_deadline(
    address: tuple[str, int], several: list[socket.socket]
) -> None:
    for line in several:
        line.sendall(b"GET / HTT")
    start = time.monotonic()
    assert get(address, "/quick").endswith(b"done")
    assert time.monotonic() - start < 8  # for ever without it


def test_what_the_application_takes_is_not_counted(address: tuple[str, int]) -> None:
    assert get(address, "/worked-on").endswith(b"done")


def test_an_answer_that_nobody_takes_is_cut(address: tuple[str, int], several: list[socket.socket]) -> None:
    for line in several:
        line.sendall(b"GET /long HTTP/1.1\r\nHost: x\r\n\r\n")
    start = time.monotonic()
    assert get(address, "/quick").endswith(b"done")
    assert time.monotonic() - start < 8  # for ever without it


def test_garbled_requests_whose_connections_stay_open_do_not_stop_the_one_thread_that_accepts(
    address: tuple[str, int], several: list[socket.socket]
) -> None:
    for line in several:
        line.sendall(b"garbage\r\n\r\n")
    start = time.monotonic()
    assert get(address, "/quick").endswith(b"done")
    assert time.monotonic() - start < 5  # two seconds each otherwise


def test_connections_that_say_nothing_hold_no_thread_and_are_closed(address: tuple[str, int]) -> None:
    with ExitStack() as stack:
        start = time.monotonic()
        silent = [stack.enter_context(socket.create_connection(address, 20)) for _ in range(40)]
        for _ in range(3):
            assert get(address, "/quick").endswith(b"done")
        assert time.monotonic() - start < 4  # 40 times five seconds by two threads otherwise
        assert [line.recv(1) for line in silent] == [b""] * 40
        assert time.monotonic() - start < 12  # after five seconds


def test_a_connection_may_be_silent_before_its_request(address: tuple[str, int]) -> None:
    with socket.create_connection(address, 20) as line:
        time.sleep(1.5)  # more than a request has, from its first byte on
        for _ in range(2):
            line.sendall(b"GET /quick HTTP/1.1\r\nHost: x\r\n\r\n")
            answer = b""
            while not answer.endswith(b"done"):
                answer += (more := line.recv(1 << 12))
                assert more


def test_where_no_thread_can_be_had_a_connection_is_not_taken_and_the_next_one_is_cut_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def refuse(_: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(deadlines, "_LOOK_SECONDS", 0.01)
    watched = deadlines.Deadlines()
    ours, theirs = socket.socketpair()
    with ours, theirs:
        with monkeypatch.context() as context:
            context.setattr(threading.Thread, "start", refuse)
            with pytest.raises(RuntimeError):
                watched.begin(ours, 0.1)
            with pytest.raises(RuntimeError), watched.watch(ours):
                pass
        theirs.settimeout(20)
        watched.begin(ours, 0.1)
        assert theirs.recv(1) == b""
        watched.end(ours)
        assert (watched._ends, watched._awaited) == ({}, {})
