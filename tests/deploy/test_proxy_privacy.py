"""The proxy in front of a collector: headers, rate limits and addresses."""

import socket
import urllib.request
from contextlib import ExitStack
from typing import Any
from urllib.parse import urlsplit

import pytest

from encoders.report import MEDIA_TYPE
from encoders.survey import read_survey
from ldp_client import make_report
from tests.deploy.proxy_requests import PAGE, post_report
from tests.support.servers import TOKEN, collector, front_proxy, wait_for
from tests.support.surveys import SLEEP

ROW = {"age": "old", "hours": 7}


@pytest.mark.slow
def test_the_proxy_removes_headers_that_identify_devices(tmp_path, listener):
    port, received = listener
    identifying = {"User-Agent": "a-phone", "Cookie": "who=me", "Referer": "a-page", "Forwarded": "for=me"}
    identifying |= {"Origin": "https://a-page.example"}
    identifying |= {"X-Real-IP": "203.0.113.1", "X-Forwarded-For": "203.0.113.1", "Accept-Language": "en"}
    with front_proxy(tmp_path, port) as front:
        _, _, headers = post_report(front, b"a body", "127.0.1.9", **identifying)
    expected = {"host": "127.0.0.1", "content-type": MEDIA_TYPE, "content-length": "6"}
    assert received == [expected | {"x-forwarded-for": "127.0.1.9"}]
    assert headers["Server"] == "nginx"


@pytest.mark.slow
def test_the_rate_limit_applies_to_the_client_of_the_proxy_and_no_address_is_stored(survey, tmp_path):
    plan = read_survey(SLEEP).compile()
    options = ("--rate", "2", "--trusted-proxy", "127.0.0.1")

    def post(front: str, source: str, claimed: str) -> tuple[int, Any]:
        body = make_report(plan, ROW, "yes")
        status, problem, _ = post_report(front, body, source, **{"X-Forwarded-For": claimed})
        return status, problem.get("reason")

    (tmp_path / "proxy").mkdir()
    url = f"sqlite:///{tmp_path}/ldp.db"
    with collector([survey], url, options=options, workers=1) as (base, process):
        with front_proxy(tmp_path / "proxy", urlsplit(base).port or 0) as front:
            one = [post(front, "127.0.1.7", f"203.0.113.{number}") for number in range(3)]
            assert one == [(200, None), (200, None), (429, "too-many-requests")]
            assert post(front, "127.0.1.8", "127.0.1.7") == (200, None)
            with socket.create_connection(("127.0.0.1", urlsplit(front).port or 0)) as garbled:
                garbled.sendall(b"garbage\r\n\r\n")
                assert garbled.recv(100).startswith(b"HTTP/1.1 400")
        process.terminate()
        printed = process.stdout.read() if process.stdout else ""
    kept = printed.encode() + b"".join(path.read_bytes() for path in tmp_path.glob("ldp.db*"))
    kept += b"".join(path.read_bytes() for path in (tmp_path / "proxy").rglob("*.log"))
    for address in (b"127.0.1.", b"203.0.113."):
        assert address not in kept


@pytest.mark.slow
def test_requests_that_the_proxy_refuses_are_counted_without_their_addresses(survey, tmp_path):
    (tmp_path / "proxy").mkdir()
    refusals = tmp_path / "proxy" / "refusals"
    url, options = f"sqlite:///{tmp_path}/ldp.db", ("--rate", "1", "--trusted-proxy", "127.0.0.1")
    with (
        collector([survey], url, options=(*options, "--proxy-refusals", refusals), workers=1) as (base, _),
        front_proxy(tmp_path / "proxy", urlsplit(base).port or 0) as front,
        ExitStack() as stack,
    ):
        lines = [stack.enter_context(start_request(front)) for _ in range(32)]  # the limit of one address

        def is_refused_by_proxy() -> bool:
            details.append(str(post_report(front, b"a body")[1]["detail"]))
            if details[-1] != by_proxy:  # this request was before one of the lines, which was refused
                lines.append(stack.enter_context(start_request(front)))
            return details[-1] == by_proxy

        details: list[str] = []
        by_proxy = "too many requests at once from this address"
        wait_for(is_refused_by_proxy)
        for _ in range(20):
            is_refused_by_proxy()
        count = details.count(by_proxy) + sum(map(has_response, lines))
        assert count >= 21
        # the collector, too, refuses reports with 429; these are not counted again
        assert [post_report(front, b"a body", "127.0.1.9")[0] for _ in range(2)] == [400, 429]
        # the proxy writes its file after 5 s at most
        wait_for(lambda: f"ldp_proxy_refusals_total {count}.0\n" in ask_metrics(base))
    assert refusals.read_bytes() == b"\n" * count
    written = {path.name for path in (tmp_path / "proxy").rglob("*") if path.is_file()}
    assert written <= {"nginx.conf", "proxy.conf", "nginx.log", "refusals", "nginx.pid"}


def start_request(front: str) -> socket.socket:
    """Send a request without the end of its body."""
    line = socket.create_connection(("127.0.0.1", urlsplit(front).port or 0))
    line.sendall(f"POST {PAGE} HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\nx".encode())
    return line


def has_response(line: socket.socket) -> bool:
    line.setblocking(False)
    try:
        return bool(line.recv(1))
    except OSError:
        return False


def ask_metrics(base: str) -> str:
    request = urllib.request.Request(f"{base}/metrics", headers={"Authorization": f"Bearer {TOKEN}"})
    with urllib.request.urlopen(request, timeout=60) as response:
        return str(response.read().decode())
