"""The log of the collector: JSON lines with the hour, and nothing about senders."""

import json
import logging
import os
import re
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from encoders.build import find_build
from encoders.errors import SurveyError
from ldp_aggregator.collector.serving import logs
from ldp_aggregator.collector.serving.server import _error_reason
from ldp_aggregator.stores import StoreError
from ldp_client import make_report
from tests.ldp_aggregator.collector.conftest import REPORTS, ROW, SHORT_RETRY, ask
from tests.support.servers import collector, wait_for, workers_of

LEVELS = {"info", "warning", "error", "critical"}


def lines(log: Path) -> list[dict[str, object]]:
    """Read a log; check that each line is complete and has no time finer than the hour."""
    found = [json.loads(line) for line in log.read_text().splitlines()]
    for line in found:
        assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\dZ", line["hour"])
        assert line["level"] in LEVELS
        assert re.fullmatch(r"[a-z-]+", line["event"])
    return found


def post(base: str, body: bytes) -> int:
    return ask(f"{base}{REPORTS}", body)[0]


def talk(base: str, request: bytes) -> bytes:
    """Send bytes, end the sending, return the whole response."""
    where = urlsplit(base)
    with socket.create_connection((where.hostname, where.port), 10) as connection:
        connection.sendall(request)
        connection.shutdown(socket.SHUT_WR)
        return b"".join(iter(lambda: connection.recv(4096), b""))


def events(log: Path) -> list[object]:
    return [line["event"] for line in lines(log)]


@pytest.mark.slow
def test_the_log_of_a_run_has_its_events_and_no_senders(survey, tmp_path, plan, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("XDG_RUNTIME_DIR", raising=False)
    log, report = tmp_path / "log", make_report(plan, ROW, "yes")
    with collector([survey], f"sqlite:///{tmp_path}/ldp.db", workers=1, log=log) as (base, process):
        assert post(base, report) == 200
        assert post(base, b"junk") == 400
        for garbage in (
            b"garbage",
            b"G@T /private?q=1 HTTP/1.1",
            b"GET /private HTTP/9",
            b"GET / HTTP/1.1\r\nA b: c",
            b"POST / HTTP/1.1\r\nContent-Length: x",
        ):
            assert talk(base, garbage + b"\r\n\r\n")
        assert not list(tmp_path.glob(".gunicorn/*"))  # no control socket
        with suppress(ConnectionResetError):  # some versions stop reading
            talk(base, b"GET /" + b"x" * 9000 + b" HTTP/1.1\r\nHost: private\r\n\r\n")
        before = workers_of(process)
        process.send_signal(signal.SIGHUP)
        wait_for(lambda: {"reloaded", "worker-stopped"} <= set(events(log)))
        wait_for(lambda: events(log).count("worker-started") == 2)
        os.kill(workers_of(process)[0], signal.SIGKILL)
        wait_for(lambda: "worker-killed" in events(log))
        wait_for(lambda: events(log).count("worker-started") == 3)
    found = lines(log)
    started = [line["pid"] for line in found if line["event"] == "worker-started"]
    assert started[:1] == before
    assert set(events(log)) == {
        *("started", "worker-started", "reloaded", "worker-stopped", "worker-killed", "stopping", "stopped")
    }
    assert next(line for line in found if line["event"] == "worker-killed")["signal"] == "SIGKILL"
    assert [line["surveys"] for line in found if line["event"] == "reloaded"] == [["sleep"]]
    assert found[0].items() >= {"event": "started", **vars(find_build())}.items()
    written = log.read_text()
    for private in ("127.0.0.1", "urllib", "private", "garbage", "GET", "junk", "/v1/", report.hex()):
        assert private not in written


@pytest.mark.slow
def test_an_outage_of_the_store_is_logged_once_for_many_requests(survey, tmp_path, server, plan):
    log = tmp_path / "log"
    with collector([survey], server.url, workers=1, log=log, prelude=SHORT_RETRY) as (base, process):
        report = make_report(plan, ROW, "yes")
        assert post(base, report) == 200
        server.kill()
        assert {post(base, report) for _ in range(20)} == {503}
        assert events(log).count("store-unavailable") == 1
        os.kill(workers_of(process)[0], signal.SIGKILL)  # the next worker finds no store
        wait_for(lambda: "worker-failed" in events(log))
        process.send_signal(signal.SIGHUP)
        wait_for(lambda: "reload-failed" in events(log))
        server.start()
        wait_for(lambda: events(log).count("worker-started") == 2)
        assert post(base, report) == 200
    away = [line for line in lines(log) if line["event"] == "store-unavailable"]
    assert {(line["kind"], line["level"]) for line in away} == {("ConnectionError", "error")}
    assert len(away) == 1 + events(log).count("worker-failed")  # one by each worker
    assert "redis.sock" not in log.read_text()


# -- parts of the log ---------------------------------------------------------------------------


class LogProbe:
    """Passes records to the handler, and returns the lines that it wrote."""

    def __init__(self, capsys: pytest.CaptureFixture[str]) -> None:
        self._capsys = capsys

    def __call__(
        self, message: str, *arguments: object, level: int = logging.ERROR, **more: object
    ) -> object:
        logger = logging.Logger(str(more.pop("name", "gunicorn.error")))  # noqa: LOG001 - this test's own
        logger.addHandler(logs.JsonLinesHandler())
        logger.log(level, message, *arguments, **more)  # type: ignore[arg-type]
        return self.lines()

    def lines(self) -> list[dict[str, object]]:
        found = [json.loads(line) for line in self._capsys.readouterr().err.splitlines()]
        for line in found:
            assert line.pop("hour")
        return found


@pytest.fixture
def probe(capsys: pytest.CaptureFixture[str]) -> LogProbe:
    return LogProbe(capsys)


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[float]]:
    """A clock that the test advances; events go to stderr as in a collector."""
    now, lines = [1000.0], logs.JsonLinesHandler()
    monkeypatch.setattr(logs, "monotonic", lambda: now[0])
    monkeypatch.setattr(logs, "_last_logged", {})
    logs.log.addHandler(lines)
    logs.log.setLevel(logging.INFO)
    yield now
    logs.log.removeHandler(lines)


@pytest.mark.parametrize(
    ("message", "arguments", "line"),
    [
        (
            "Worker (pid:7) was sent SIGKILL! Perhaps out of memory?",
            (),
            {"event": "worker-killed", "pid": 7, "signal": "SIGKILL"},
        ),
        ("WORKER TIMEOUT (pid:%s)", (7,), {"event": "worker-timeout", "pid": 7}),
        (
            "Worker (pid:%s) was sent %s!",
            (7, "SIGSEGV"),
            {"event": "worker-killed", "pid": 7, "signal": "SIGSEGV"},
        ),
        ("Worker (pid:%s) exited with code %s.", (7, 3), {"event": "worker-failed", "pid": 7, "code": 3}),
        ("Reason: %s", ("Worker failed to boot.",), {"event": "halted", "reason": "Worker failed to boot."}),
        ("Connection in use: %s", ("('127.0.0.1', 80)",), {"event": "address-in-use"}),
        ("Can't connect to %s", ("('127.0.0.1', 80)",), {"event": "bind-failed"}),
    ],
)
def test_messages_of_gunicorn_about_workers_are_logged(probe, message, arguments, line):
    assert probe(message, *arguments) == [{"level": "error", **line}]


def test_messages_of_gunicorn_about_requests_are_not_logged(probe):
    assert probe("Invalid request from ip=192.0.2.1: private", level=logging.WARNING) == []
    try:
        raise OSError("192.0.2.1")
    except OSError:
        (line,) = probe("Error handling request %s %s", "GET", "/private", exc_info=True)
    assert (line["event"], line["kind"]) == ("unexpected-error", "OSError")
    assert re.fullmatch(r"serving/test_logs\.py:\d+", line["place"])


def test_messages_of_other_libraries_are_logged_by_place_only(probe):
    assert probe("private", name="redis", level=logging.WARNING) == []
    (line,) = probe("private", name="redis")
    assert (line["event"], set(line)) == ("unexpected-error", {"event", "level", "place"})


def test_an_unexpected_error_is_logged_by_kind_and_place_at_most_every_few_seconds(probe, clock):
    for _ in range(12):
        try:
            raise ValueError("private")
        except ValueError as error:
            logs.log_unexpected_error(error)
        clock[0] += 1
    lines = probe.lines()
    assert len(lines) == 3
    for line in lines:
        assert (line["event"], line["kind"], line["level"]) == ("unexpected-error", "ValueError", "error")
        assert "private" not in str(line)


def test_repeated_outages_are_logged_at_most_every_few_seconds(probe, clock):
    outage = logs.StoreOutage()
    for _ in range(100):  # every second request fails, for ten seconds
        outage.record_failure(StoreError("private"))
        outage.record_success()
        clock[0] += 0.1
    assert [line["event"] for line in probe.lines()] == ["store-unavailable"]
    clock[0] += logs.REPEAT_SECONDS
    outage.record_success()
    outage.record_success()
    assert [line["event"] for line in probe.lines()] == ["store-back"]
    outage.record_failure(StoreError("private"))
    assert [(line["event"], line["kind"]) for line in probe.lines()] == [("store-unavailable", "StoreError")]


@pytest.mark.slow
def test_a_worker_that_cannot_start_is_logged_without_the_error_s_message(tmp_path):
    program = tmp_path / "program.py"
    program.write_text(
        "from ldp_aggregator.collector.serving.server import serve\n"
        "from ldp_aggregator.collector.settings import CollectorSettings\n"
        "from ldp_aggregator.collector.startup import PublishedSurveys\n"
        "class Failing(PublishedSurveys):\n"
        "    def make_app(self):\n"
        "        raise ValueError('private')\n"
        "settings = CollectorSettings(bind='127.0.0.1:0', workers=1, threads=1)\n"
        "surveys = Failing(settings=settings, plans=[], signatures={}, guarantee='')\n"
        "serve(surveys, lambda: surveys, lambda addresses: None)\n"
    )
    found = subprocess.run([sys.executable, program], capture_output=True, text=True, timeout=60, check=False)
    log = tmp_path / "log"
    log.write_text(found.stderr)
    assert found.returncode == 3
    assert [(line["event"], line.get("place")) for line in lines(log)] == [
        ("started", None),
        ("unexpected-error", f"{tmp_path.name}/program.py:6"),
        ("worker-failed", None),
        ("halted", None),
        ("stopped", None),
    ]
    assert "private" not in found.stderr


def test_a_failed_reload_is_logged_with_our_own_message_or_the_error_s_kind():
    assert _error_reason(SurveyError("mend it", "epsilon")) == "epsilon: mend it"
    assert _error_reason(StoreError("another plan")) == "another plan"
    away = StoreError("cannot reach 192.0.2.1")
    away.__cause__ = ConnectionError("192.0.2.1")
    assert _error_reason(away) == "ConnectionError"
    assert _error_reason(RuntimeError("private")) == "RuntimeError"
