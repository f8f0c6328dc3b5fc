"""Errors and refusals of the proxy: problems in the format of the collector."""

import http.client
import json
import re
import socket
from contextlib import ExitStack
from urllib.parse import urlsplit

import pytest

from ldp_client import transport
from ldp_client.collector_response import parse_outcome
from tests.deploy.proxy_requests import (
    PAGE,
    READABLE,
    ProxyResponse,
    cross_origin_headers,
    post_report,
    refusal,
)
from tests.deploy.shipped_commands import request_status
from tests.support.servers import TOKEN, collector, free_port, front_proxy, wait_for

H = b" HTTP/1.1\r\nHost: x\r\nConnection: close\r\n"


@pytest.mark.slow
def test_errors_of_the_proxy_have_the_format_of_the_collector(tmp_path):
    with ExitStack() as stack:
        nobody = stack.enter_context(socket.socket())
        nobody.bind(("127.0.0.1", 0))  # a reserved port on which nothing listens
        front = stack.enter_context(front_proxy(tmp_path, nobody.getsockname()[1]))
        status, problem, headers = post_report(front, b"a body")
        assert (status, problem["reason"], problem["retryable"]) == (503, "store-unavailable", True)
        assert headers["Retry-After"] == "5"
        assert headers["Content-Type"] == "application/problem+json"
        status, problem, _ = post_report(front, bytes((256 << 10) + 1))
        assert (status, problem["reason"], problem["retryable"]) == (413, "too-large", False)
        for _ in range(40):  # more than the limit of 32: earlier ones may still be open
            line = stack.enter_context(socket.create_connection(("127.0.0.1", urlsplit(front).port or 0)))
            line.sendall(f"POST {PAGE} HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\nx".encode())
        responses: list[ProxyResponse] = []
        wait_for(lambda: responses.append(post_report(front, b"a body")) or responses[-1][0] == 429)
        _, problem, headers = responses[-1]
        assert (problem["reason"], problem["retryable"]) == ("too-many-requests", True)
        assert headers["Retry-After"] == "5"
        assert cross_origin_headers(headers) == READABLE
        assert post_report(front, b"a body", "127.0.1.9")[0] == 503  # other addresses are served


@pytest.mark.slow
def test_a_refusal_by_the_proxy_is_a_problem_that_does_not_reject_the_report(tmp_path):
    requests = {
        b"GET /" + H + b"X: " + b"a" * 9000 + b"\r\n\r\n": 400,
        b"GET /%zz" + H + b"\r\n": 400,
        b"GET / HTTP/1.1\r\n\r\n": 400,  # without a Host
        b"POST /v1/surveys" + H + b"Content-Length: x\r\n\r\n": 400,
        b"POST /v1/surveys" + H + b"Transfer-Encoding: odd\r\n\r\n": 400,
        b"TRACE /" + H + b"\r\n": 405,
        b"GET /" + b"a" * 9000 + H + b"\r\n": 414,
    }
    with front_proxy(tmp_path, free_port()) as front:
        for request, status in requests.items():
            received, problem = refusal(front, request)
            assert (received, problem["status"], problem["reason"]) == (status, status, "no-such-page"), (
                request[:40]
            )
            response = transport.Response(received, json.dumps(problem).encode(), None)
            assert parse_outcome(response) is None


@pytest.mark.slow
@pytest.mark.parametrize(
    "page", ["/livez", "/readyz", "/%72eadyz", "/v1/..%2freadyz", "/v1", "/refused", "/x"]
)
def test_the_proxy_blocks_pages_that_neither_devices_nor_the_operator_need(tmp_path, page):
    with front_proxy(tmp_path, free_port()) as front:
        status, problem = refusal(front, f"GET {page}".encode() + H + b"\r\n")
        assert (status, problem["reason"]) == (404, "no-such-page")


@pytest.mark.slow
def test_the_pages_of_devices_and_operator_pass_the_proxy(survey, tmp_path):
    with (
        collector([survey], f"sqlite:///{tmp_path}/ldp.db", workers=1) as (base, _),
        front_proxy(tmp_path, urlsplit(base).port or 0) as front,
    ):
        port = urlsplit(front).port or 0
        line = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
        line.request("GET", "/")
        static = re.search(r'"(static/[^"]+)"', line.getresponse().read().decode())
        line.close()
        assert static
        pages = ["/v1/surveys", "/v1/surveys/sleep", "/openapi.json", f"/{static[1]}"]
        assert [request_status(port, page) for page in pages] == [200] * len(pages)
        for page in ("/metrics", "/v1/surveys/sleep/progress"):
            assert request_status(port, page, TOKEN) == 200
        assert request_status(port, "/metrics") == 401
