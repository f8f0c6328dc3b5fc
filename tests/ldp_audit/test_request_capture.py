"""Captured requests are those that HttpTransport writes, and differences between people are found."""

import socket
import threading
import time
from dataclasses import replace
from typing import Any

import pytest

from benchmarks.buggy_clients import compile_survey
from ldp_audit.device import PublicClient
from ldp_audit.request_capture import HOST, Request, capture_requests, check_requests
from ldp_client import Client, Journal, Response
from ldp_client.transport import HttpTransport, post_report

ROW = {"kind": "a", "size": 5}
RESPONSE = b'HTTP/1.1 200 OK\r\nContent-Length: 22\r\n\r\n{"status": "recorded"}'


class Server:
    """Reads one request on a free port of this machine."""

    def __init__(self) -> None:
        self.socket = socket.create_server(("127.0.0.1", 0))
        self.port = self.socket.getsockname()[1]
        self.read = b""
        self.thread = threading.Thread(target=self._serve)
        self.thread.start()

    def _serve(self) -> None:
        connection, _ = self.socket.accept()
        with connection:
            while b"\r\n\r\n" not in self.read or len(self.read.partition(b"\r\n\r\n")[2]) < 58:
                self.read += connection.recv(4096)
            connection.sendall(RESPONSE)

    def finish(self) -> bytes:
        self.thread.join(10)
        self.socket.close()
        return self.read


def test_a_captured_request_is_what_is_written_to_a_real_socket():
    plan, server = compile_survey(), Server()
    url = f"http://127.0.0.1:{server.port}/v1/surveys/{plan.id}"
    with Client(plan, url, journal=Journal(":memory:"), spread=0, strict=True) as client:
        client.grant()
        client.report(ROW, "yes")
        client.flush()
    head, _, body = server.finish().partition(b"\r\n\r\n")
    (request,) = PublicClient().send([plan], ROW, "yes")
    assert request.head == head.replace(f"127.0.0.1:{server.port}".encode(), HOST.encode())
    assert len(request.body) == len(body)


def test_requests_to_other_hosts_are_sent_as_usual():
    server = Server()
    with capture_requests() as requests:
        body = bytes(58)
        response = HttpTransport().request("POST", f"http://127.0.0.1:{server.port}/there", body, 10)
    assert response.status == 200
    assert server.finish().startswith(b"POST /there HTTP/1.1")
    assert requests == []


def test_one_device_sends_one_request_for_each_survey():
    plan = compile_survey()
    requests = PublicClient().send([plan, replace(plan, id="other", family="other")], ROW, "no")
    assert [request.head.split()[1] for request in requests] == [
        b"/v1/surveys/mutants/reports",
        b"/v1/surveys/other/reports",
    ]


HEAD = b"POST /v1 HTTP/1.1\r\nHost: h\r\nAccept: a"


@pytest.mark.parametrize(
    ("requests", "finding"),
    [
        ([], "(b) sends 0 requests"),
        ([Request(HEAD, b"x")] * 2, "(b) sends 2 requests"),
        ([Request(HEAD.replace(b"Accept: a", b"Accept: b"), b"x")], "(b) sends another header Accept"),
        ([Request(HEAD + b"\r\nX-Label: yes", b"x")], "(b) sends another header X-Label"),
        ([Request(HEAD.replace(b"\r\nAccept: a", b""), b"x")], "(b) sends another header Accept"),
        ([Request(HEAD.replace(b"/v1", b"/v2"), b"x")], "(b) sends another request line"),
        ([Request(b"POST /v1 HTTP/1.1\r\nAccept: a\r\nHost: h", b"x")], "(b) sends another order of headers"),
    ],
)
def test_a_request_that_differs_is_named(requests, finding):
    check = check_requests({"a": [[Request(HEAD, b"x")]], "b": [requests]})
    assert check.passed is False
    assert check.finding == finding


def test_a_head_may_depend_on_the_length_of_the_body_alone():
    longer = Request(HEAD + b"\r\nContent-Length: 2", b"xx")
    assert check_requests({"a": [[Request(HEAD, b"x")], [longer]], "b": [[longer]]}).passed


class QuicklyClosedClient(Client):
    def close(self, timeout: float = 0.05) -> None:
        super().close(timeout)


@pytest.mark.slow
def test_a_first_attempt_that_is_slower_than_the_close_of_a_client_is_waited_for(
    monkeypatch,
):
    pauses = [0.4]

    def post_slowly(*arguments: Any) -> Response | None:
        time.sleep(pauses.pop() if pauses else 0)
        return post_report(*arguments)

    monkeypatch.setattr("ldp_client.sending.sender.post_report", post_slowly)
    device = PublicClient()
    device.client_class = QuicklyClosedClient
    bodies = device.attempts(compile_survey(), ROW, "yes")
    assert len(bodies) >= 2
    assert len(set(bodies)) == 1
