"""The collector in operation: real gunicorn, sockets and stores, and killed workers."""

import os
import signal
from http.client import HTTPConnection
from urllib.parse import urlsplit

import pytest

from encoders.report import MEDIA_TYPE
from encoders.survey.signature import read_signature, signature_text, verify
from ldp_client import make_report
from ldp_design.authoring.signing import make_keys, sign
from tests.ldp_aggregator.collector.conftest import REPORTS, ROW, SHORT_RETRY, SURVEY, ask
from tests.support.access import access, write_tokens
from tests.support.servers import collector, wait_for, workers_of

pytestmark = pytest.mark.slow

SLOW_START = """
import time
from ldp_aggregator.collector.serving import server

def init_signals_late(worker, init_signals=server._Worker.init_signals):
    print("forked", flush=True)
    time.sleep(1)
    init_signals(worker)

server._Worker.init_signals = init_signals_late
"""


def test_a_collector_stopped_while_a_worker_starts_ends_at_once(survey, tmp_path):
    with collector([survey], f"sqlite:///{tmp_path}/store.db", workers=1, prelude=SLOW_START) as (_, process):
        assert process.stdout is not None
        assert "forked\n" in process.stdout  # the worker does not have its own signal handlers yet
    assert process.returncode == 0  # no SIGKILL after 25 seconds


def test_workers_that_start_without_redis_wait_for_it(survey, server, plan):
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
        report = make_report(plan, ROW, "yes")
        wait_for(lambda: ask(f"{base}{REPORTS}", report)[1] == b'{"status":"recorded"}\n')


def test_a_signature_beside_the_survey_reaches_every_worker(survey, tmp_path, plan):
    keys = make_keys()
    survey.with_name("survey.toml.sig").write_text(signature_text(sign(plan, keys.private_pem)))
    other = tmp_path / "unsigned.toml"
    other.write_text(SURVEY.replace('"sleep"', '"unsigned"'))
    with collector([survey, other], f"sqlite:///{tmp_path}/store.db", workers=3) as (base, process):
        for _ in range(12):  # each on a new connection, which any worker may accept
            sent = [ask(f"{base}/v1/surveys/sleep{page}")[1] for page in ("", "/signature")]
            verify(sent[0], read_signature(sent[1]), keys.public_key)
        assert ask(f"{base}/v1/surveys/unsigned/signature")[0] == 404
        process.send_signal(signal.SIGTERM)
        assert (process.stdout.read() if process.stdout else "").count("does not check") == 1


UNREAD_BYTES = 60_000
"""Less than gunicorn reads of a body before it closes a connection."""


def test_a_refused_client_gets_its_response_although_its_body_was_not_read(survey, tmp_path):
    tokens = write_tokens(tmp_path / "tokens.toml", access("gateway", "the-token-of-the-gateways"))
    options = ("--rate", "3", "--tokens", str(tokens))
    wrong_token = {"Authorization": "Bearer wrong"}
    with collector([survey], f"sqlite:///{tmp_path}/ldp.db", options=options, workers=1) as (base, _):
        parts = urlsplit(base)

        def post(size: int, headers: dict[str, str]) -> int:
            line = HTTPConnection(str(parts.hostname), parts.port, timeout=60)
            try:
                line.request("POST", REPORTS, bytes(size), {"Content-Type": MEDIA_TYPE} | headers)
                return line.getresponse().status
            finally:
                line.close()

        for connection in ("keep-alive", "close"):
            assert post(UNREAD_BYTES, {"Connection": connection} | wrong_token) == 401
            assert post(UNREAD_BYTES, {"Connection": connection, "Content-Length": str(5 << 20)}) == 413
        assert post(10, {}) == 400  # the third request of this minute
        for connection in ("keep-alive", "close"):
            assert post(UNREAD_BYTES, {"Connection": connection}) == 429
        assert ask(f"{base}/livez")[0] == 200
