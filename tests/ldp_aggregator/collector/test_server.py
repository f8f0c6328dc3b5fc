"""The collector as an operator runs it: real gunicorn, real sockets, real stores, workers killed."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from urllib.error import URLError
from urllib.parse import urlsplit

import pytest

from encoders.report import MEDIA_TYPE
from encoders.survey import Plan
from ldp_aggregator.stores import open_store
from ldp_client import make_report
from tests.ldp_aggregator.collector.conftest import SURVEY
from tests.servers import collector, redis_server, workers_of

ROW = {"age": "old", "hours": 7.5}


@pytest.fixture
def survey(tmp_path: Path) -> Path:
    path = tmp_path / "survey.toml"
    path.write_text(SURVEY)
    return path


@pytest.fixture(params=["sqlite", "redis"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    if request.param == "sqlite":
        yield f"sqlite:///{tmp_path}/store.db"
    else:
        with redis_server(tmp_path) as address:
            yield address


def send(base: str, body: bytes) -> str:
    """Post until there is an answer, as a client would."""
    request = urllib.request.Request(f"{base}/v1/surveys/sleep/reports", body, {"Content-Type": MEDIA_TYPE})
    for _ in range(100):
        try:
            with urllib.request.urlopen(request, timeout=10) as answer:
                return answer.read().decode()
        except (URLError, OSError):
            time.sleep(0.05)
    raise AssertionError("no answer")


def test_workers_killed_under_load_lose_and_double_nothing(survey: Path, url: str, plan: Plan) -> None:
    reports = [make_report(plan, ROW, "yes") for _ in range(300)]
    with collector([survey], url, workers=3) as (base, process):
        with ThreadPoolExecutor(8) as pool:
            answers = [pool.submit(send, base, report) for report in reports + reports]
            for worker in workers_of(process)[:2]:
                time.sleep(0.15)
                os.kill(worker, signal.SIGKILL)
            assert {answer.result() for answer in answers} <= {
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


def test_what_the_collector_prints_holds_nothing_about_senders(
    survey: Path, tmp_path: Path, plan: Plan
) -> None:
    with collector([survey], f"sqlite:///{tmp_path}/store.db") as (base, process):
        report = make_report(plan, ROW, "yes")
        send(base, report)
        with pytest.raises(AssertionError):
            send_once_badly(base)
        process.send_signal(signal.SIGTERM)
        printed = process.stdout.read() if process.stdout else ""
    everything = printed.encode() + (tmp_path / "store.db").read_bytes()
    for private in (b"127.0.0.1:5", b"Python-urllib", report[-3:] + b"\n", report):
        assert private not in everything


def send_once_badly(base: str) -> None:
    with urllib.request.urlopen(f"{base}/v1/surveys/sleep") as answer:
        assert answer.status == 500


def test_a_chunked_body_is_refused_on_the_wire(survey: Path, tmp_path: Path) -> None:
    with collector([survey], f"sqlite:///{tmp_path}/store.db", workers=1) as (base, _):
        where = urlsplit(base)
        with socket.create_connection((where.hostname, where.port), 10) as connection:
            connection.sendall(
                b"POST /v1/surveys/sleep/reports HTTP/1.1\r\nHost: x\r\nContent-Type: "
                + MEDIA_TYPE.encode()
                + b"\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nx\r\n0\r\n\r\n"
            )
            assert connection.recv(100).startswith(b"HTTP/1.1 411")


def serve(*arguments: object) -> subprocess.CompletedProcess[str]:
    command = [str(Path(sys.executable).parent / "ldp-collector"), "serve", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)


def test_a_broken_survey_is_named_by_file_field_and_line(tmp_path: Path) -> None:
    path = tmp_path / "broken.toml"
    path.write_text(SURVEY.replace("epsilon = 1.0", "epsilon = -1"))
    result = serve(path, "--store", f"sqlite:///{tmp_path}/store.db")
    assert result.returncode == 2
    assert "broken.toml: line 4: survey.epsilon" in result.stderr


def test_a_changed_survey_under_its_old_id_is_refused(survey: Path, tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/store.db"
    with collector([survey], url, workers=1):
        pass
    survey.write_text(SURVEY.replace("epsilon = 1.0", "epsilon = 1.5"))
    result = serve(survey, "--store", url)
    assert result.returncode == 2
    assert "new id" in result.stderr
