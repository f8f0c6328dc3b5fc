"""The proxy waits for whole requests, so that slow clients stop nobody else."""

import shutil
import socket
import time
from collections.abc import Iterator
from contextlib import ExitStack
from urllib.parse import urlsplit

import pytest

from encoders.report import MEDIA_TYPE
from encoders.survey import read_survey
from ldp_client import make_report
from tests.deploy.proxy_requests import PAGE, post_report
from tests.support.servers import collector, front_proxy, wait_for
from tests.support.surveys import SLEEP

ROW = {"age": "old", "hours": 7}


@pytest.mark.slow
def test_single_reports_pass_the_proxy_when_it_has_no_space_for_larger_bodies(tmp_path, listener):
    port, received = listener
    with front_proxy(tmp_path, port) as front:
        shutil.rmtree(tmp_path / "nginx-body")
        assert post_report(front, bytes(4096))[0] == 200
        status, problem, headers = post_report(front, bytes(100_000))
        assert (status, problem["retryable"], headers["Retry-After"]) == (503, True, "5")
    assert len(received) == 1


@pytest.mark.slow
def test_the_proxy_waits_for_whole_requests(tmp_path, listener):
    port, received = listener
    with (
        front_proxy(tmp_path, port) as front,
        socket.create_connection(("127.0.0.1", urlsplit(front).port or 0)) as line,
    ):
        line.sendall(f"POST {PAGE} HTTP/1.1\r\nHost: x\r\nContent-Length: 200000\r\n\r\n".encode())
        line.sendall(bytes(199_999))
        time.sleep(0.3)
        assert received == []
        line.sendall(b"x")
        wait_for(lambda: received)


SLOW_REQUESTS = {
    "silent": "",
    "header": f"POST {PAGE} HTTP/1.1\r\nHost: x\r\nX-Slow: ",
    "body": f"POST {PAGE} HTTP/1.1\r\nHost: x\r\nContent-Type: {MEDIA_TYPE}\r\nContent-Length: 9\r\n\r\nx",
    "unread response": "GET /openapi.json HTTP/1.1\r\nHost: x\r\n\r\n",
}


@pytest.fixture(scope="module")
def front(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Start a collector and the proxy in front of it; yield the address of the proxy."""
    folder = tmp_path_factory.mktemp("front")
    (folder / "survey.toml").write_text(SLEEP)
    with (
        collector([folder / "survey.toml"], f"sqlite:///{folder}/ldp.db", workers=1) as (base, _),
        front_proxy(folder, urlsplit(base).port or 0, client_seconds=600) as running,
    ):
        yield running


@pytest.mark.slow
@pytest.mark.parametrize("kind", SLOW_REQUESTS)
def test_slow_clients_do_not_stop_others_behind_the_proxy(front, kind):
    plan = read_survey(SLEEP).compile()
    with ExitStack() as stack:
        for number in range(40):  # the collector has 16 threads
            line = stack.enter_context(socket.socket())
            line.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            line.bind((f"127.0.1.{number + 1}", 0))
            line.connect(("127.0.0.1", urlsplit(front).port or 0))
            line.sendall(SLOW_REQUESTS[kind].encode())
        for _ in range(20):  # without a buffering proxy, none gets a response within a minute
            assert post_report(front, make_report(plan, ROW, "yes"))[0] == 200
