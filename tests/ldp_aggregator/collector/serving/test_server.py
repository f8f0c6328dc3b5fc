"""The collector in operation: real gunicorn, sockets and stores, and killed workers."""

from __future__ import annotations

import os
import signal
import socket
import time
import urllib.request
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from http.client import HTTPConnection, HTTPException
from pathlib import Path
from urllib.error import HTTPError, URLError
from urllib.parse import urlsplit

import pytest

from encoders.report import MEDIA_TYPE
from encoders.survey import Plan
from encoders.survey.signature import read_signature, signature_text, verify
from ldp_aggregator.stores import open_store
from ldp_client import make_report
from ldp_design.authoring.author_key import make_keys, sign
from tests.ldp_aggregator.collector.conftest import SURVEY
from tests.support.servers import LocalRedis, collector, redis_server, wait_for, workers_of

pytestmark = pytest.mark.slow

ROW = {"age": "old", "hours": 7.5}
SHORT_RETRY = "from ldp_aggregator.collector.serving import server; server._RETRY_SECONDS = 0.1"
SLOW_START = """
import time
from ldp_aggregator.collector.serving import server

def init_signals_late(worker, init_signals=server._Worker.init_signals):
    print("forked", flush=True)
    time.sleep(1)
    init_signals(worker)

server._Worker.init_signals = init_signals_late
"""


@pytest.fixture(params=["sqlite", "redis"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    if request.param == "sqlite":
        yield f"sqlite:///{tmp_path}/store.db"
    else:
        with redis_server(tmp_path) as address:
            yield address


def send(base: str, body: bytes) -> str:
    """Post until there is a response, as a client does."""
    request = urllib.request.Request(f"{base}/v1/surveys/sleep/reports", body, {"Content-Type": MEDIA_TYPE})
    for _ in range(100):
        try:
            with urllib.request.urlopen(request, timeout=10) as response:
                return response.read().decode()
        except (URLError, HTTPException, OSError):  # the worker died before or during its response
            time.sleep(0.05)
    raise AssertionError("no response")


def test_no_report_is_lost_or_counted_twice_if_workers_are_killed_under_load(
    survey: Path, url: str, plan: Plan
) -> None:
    reports = [make_report(plan, ROW, "yes") for _ in range(300)]
    with collector([survey], url, workers=3) as (base, process):
        with ThreadPoolExecutor(8) as pool:
            responses = [pool.submit(send, base, report) for report in reports + reports]
            for worker in workers_of(process)[:2]:
                time.sleep(0.15)
                os.kill(worker, signal.SIGKILL)
            assert {response.result() for response in responses} <= {
                '{"status":"recorded"}\n',
                '{"status":"duplicate"}\n',
            }
        assert send(base, b"".join(reports)) == '{"duplicate":300,"recorded":0,"rejected":[]}\n'
    store = open_store(url)
    totals = store.totals("sleep")
    store.close()
    assert sum(total.n for total in totals.values()) == 300
    narrow = totals[plan.questions[0].key]
    assert narrow.cells.sum() == narrow.n  # direct encoding: one count per report


def test_a_collector_stopped_while_a_worker_starts_ends_at_once(survey: Path, tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/store.db"
    with collector([survey], url, workers=1, prelude=SLOW_START) as (_, process):
        assert process.stdout is not None
        assert "forked\n" in process.stdout  # the worker does not have its own signal handlers yet
    assert process.returncode == 0  # no SIGKILL after ten seconds


def test_workers_that_start_without_redis_wait_for_it(survey: Path, tmp_path: Path, plan: Plan) -> None:
    server = LocalRedis(tmp_path)
    server.start()
    try:
        with collector([survey], server.url, workers=1, prelude=SHORT_RETRY) as (base, process):
            wait_for(lambda: workers_of(process))
            server.kill()
            workers = set(workers_of(process))
            for worker in workers:
                os.kill(worker, signal.SIGKILL)

            def two_more_came() -> bool:
                workers.update(workers_of(process))
                return len(workers) >= 3

            wait_for(two_more_came)  # neither found the store
            server.start()
            assert send(base, make_report(plan, ROW, "yes")) == '{"status":"recorded"}\n'
    finally:
        server.stop()


def test_what_the_collector_prints_and_keeps_holds_nothing_about_senders(
    survey: Path, tmp_path: Path, plan: Plan, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("XDG_RUNTIME_DIR", raising=False)
    with collector([survey], f"sqlite:///{tmp_path}/store.db") as (base, process):
        report = make_report(plan, ROW, "yes")
        send(base, report)
        assert talk(base, b"garbage\r\n\r\n").startswith(b"HTTP/1.1 400")
        assert talk(base, b"POST / HTTP/1.1\r\nContent-Length: x\r\n\r\n").startswith(b"HTTP/1.1 400")
        assert not list(tmp_path.glob(".gunicorn/*"))  # no control socket
        process.send_signal(signal.SIGTERM)
        printed = process.stdout.read() if process.stdout else ""
    kept = b"".join(file.read_bytes() for file in tmp_path.glob("store.db*"))
    assert "127.0.0.1" not in printed
    assert "garbage" not in printed
    for private in (b"127.0.0.1", b"Python-urllib", report):
        assert private not in kept


def talk(base: str, request: bytes) -> bytes:
    """Send bytes, end the sending, return the whole response."""
    where = urlsplit(base)
    with socket.create_connection((where.hostname, where.port), 10) as connection:
        connection.sendall(request)
        connection.shutdown(socket.SHUT_WR)
        return b"".join(iter(lambda: connection.recv(4096), b""))


def test_bodies_with_no_or_a_wrong_length_are_refused_over_sockets(
    survey: Path, tmp_path: Path, plan: Plan
) -> None:
    url = f"sqlite:///{tmp_path}/store.db"
    head = b"POST /v1/surveys/sleep/reports HTTP/1.1\r\nHost: x\r\nContent-Type: " + MEDIA_TYPE.encode()
    report = make_report(plan, ROW, "yes")
    size = len(report)
    requests = [
        (
            b"Transfer-Encoding: chunked\r\n\r\n%x\r\n%b\r\n0\r\n\r\n" % (size, report),
            b"411",
            b"length-required",
        ),
        (b"\r\n" + report, b"411", b"length-required"),
        (b"Content-Length: %d\r\n\r\n%b" % (size + 1, report), b"400", b"incomplete-body"),
        (b"Content-Length: %d\r\n\r\n%b" % (size - 1, report), b"400", b"malformed"),
        (b"Content-Length: %d\r\n\r\n%b" % (5 << 20, report), b"413", b"too-large"),
    ]
    with collector([survey], url, workers=1) as (base, _):
        for rest, status, reason in requests:
            response = talk(base, head + b"\r\n" + rest)
            assert response.startswith(b"HTTP/1.1 " + status), response
            assert b'"reason":"' + reason in response
    store = open_store(url)
    assert store.rejections("sleep") == {
        "incomplete-body": 1,
        "length-required": 2,
        "malformed": 1,
        "too-large": 1,
    }
    assert store.totals("sleep") == {}
    store.close()


def test_a_signature_beside_the_survey_reaches_every_worker(survey: Path, tmp_path: Path, plan: Plan) -> None:
    keys = make_keys()
    survey.with_name("survey.toml.sig").write_text(signature_text(sign(plan, keys.private_pem)))
    other = tmp_path / "unsigned.toml"
    other.write_text(SURVEY.replace('"sleep"', '"unsigned"'))
    with collector([survey, other], f"sqlite:///{tmp_path}/store.db", workers=3) as (base, process):
        for _ in range(12):  # each on a new connection, which any worker may accept
            sent = [fetch(f"{base}/v1/surveys/sleep{page}") for page in ("", "/signature")]
            verify(sent[0], read_signature(sent[1]), keys.public_key)
        with pytest.raises(HTTPError, match="404"):
            fetch(f"{base}/v1/surveys/unsigned/signature")
        process.send_signal(signal.SIGTERM)
        assert (process.stdout.read() if process.stdout else "").count("not checked here") == 1


def fetch(url: str) -> bytes:
    with urllib.request.urlopen(url, timeout=10) as response:
        data: bytes = response.read()
    return data


UNREAD_BYTES = 60_000
"""Less than gunicorn reads of a body before it closes a connection."""


def test_a_refused_client_gets_its_response_although_its_body_was_not_read(
    survey: Path, tmp_path: Path
) -> None:
    (tmp_path / "token").write_text("the-token-of-the-gateways")
    options = ("--rate", "3", "--gateway-token-file", str(tmp_path / "token"))
    wrong_token = {"Authorization": "Bearer wrong"}
    with collector([survey], f"sqlite:///{tmp_path}/ldp.db", options=options, workers=1) as (base, _):
        parts = urlsplit(base)

        def post(size: int, headers: dict[str, str]) -> int:
            line = HTTPConnection(str(parts.hostname), parts.port, timeout=20)
            try:
                line.request(
                    "POST",
                    "/v1/surveys/sleep/reports",
                    bytes(size),
                    {"Content-Type": MEDIA_TYPE} | headers,
                )
                return line.getresponse().status
            finally:
                line.close()

        for connection in ("keep-alive", "close"):
            assert post(UNREAD_BYTES, {"Connection": connection} | wrong_token) == 401
            assert post(UNREAD_BYTES, {"Connection": connection, "Content-Length": str(5 << 20)}) == 413
        assert post(10, {}) == 400  # the third request of this minute
        for connection in ("keep-alive", "close"):
            assert post(UNREAD_BYTES, {"Connection": connection}) == 429
        with urllib.request.urlopen(f"{base}/livez", timeout=20) as response:
            assert response.status == 200
