"""The proxy in front of a collector: headers, rate limits and addresses."""

import socket
from typing import Any
from urllib.parse import urlsplit

import pytest

from encoders.report import MEDIA_TYPE
from encoders.survey import read_survey
from ldp_client import make_report
from tests.deploy.proxy_requests import post_report
from tests.support.servers import collector, front_proxy
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
