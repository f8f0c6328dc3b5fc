"""A collector, a device and a relay of this build in one process, which take over the files of another."""

from __future__ import annotations

import multiprocessing
import os
import random
import signal
import sys
import threading
import time
from http.client import HTTPMessage
from pathlib import Path
from types import FrameType, TracebackType
from typing import Any, Self
from unittest.mock import patch
from urllib.parse import urlsplit
from urllib.request import Request

from encoders.report import MEDIA_TYPE, split
from ldp_aggregator.collector.settings import CollectorSettings
from ldp_aggregator.collector.startup import publish_surveys
from ldp_client import Client, Response, State
from ldp_relay import delivery
from ldp_relay.held_messages import HeldMessages
from ldp_relay.relay_settings import read_settings
from tests.support.access import access

SURVEYS = ("commute", "clinic", "night-work")
DEVICE = "https://collector.example/v1/surveys/commute"
_CHANGING = ("ldp_aggregator/stores/", "ldp_client/journal/", "ldp_relay/held_", "ldp_relay/relay_database")
"""The modules that change stores, journals and queues."""
_ROOT = f"{Path(__file__).resolve().parents[2]}/"
_PATIENCE_SECONDS = 120


class InProcessCollector:
    """A collector that is reached without a network: the transport of a device, and the opener of a relay."""

    def __init__(self, folder: Path) -> None:
        secret = (folder / "relay.token").read_text().strip()
        settings = CollectorSettings(
            surveys=tuple(folder / f"{survey}.json" for survey in SURVEYS),
            store=f"sqlite:///{folder}/sqlite/ldp.db",
            tokens=(access("relay", secret),),
        )
        self._web = publish_surveys(settings).make_app().test_client()

    def request(self, method: str, url: str, body: bytes | None, timeout: float) -> Response:
        headers = {"Content-Type": MEDIA_TYPE} if body else {}
        answer = self._web.open(urlsplit(url).path, method=method, data=body, headers=headers)
        return Response(answer.status_code, answer.data)

    def open(self, request: Request, timeout: float) -> _Answer:
        path, headers = urlsplit(request.full_url).path, dict(request.header_items())
        answer = self._web.open(path, method=request.get_method(), data=request.data, headers=headers)
        return _Answer(answer.status_code, answer.data)


class _Answer:
    headers = HTTPMessage()

    def __init__(self, status: int, body: bytes) -> None:
        assert status == 200, body
        self.status, self._body = status, body

    def read(self, size: int) -> bytes:
        return self._body

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type | None, error: Exception | None, trace: TracebackType | None) -> None:
        pass


def take_over(folder: Path) -> None:
    """Count what an earlier build has left in a folder; `acknowledged` gets a line for each new report."""
    collector = InProcessCollector(folder)
    log = os.open(folder / "acknowledged", os.O_CREAT | os.O_WRONLY | os.O_APPEND)
    for name in ("sqlite/commute.reports", "sqlite/clinic.reports", "commute.new"):
        survey, reports = Path(name).stem, (folder / name).read_bytes()
        bodies = split(reports) if name.endswith("new") else [reports]
        for number, body in enumerate(bodies):
            answer = collector.request("POST", f"/v1/surveys/{survey}/reports", body, 0)
            assert answer.status == 200, answer.body
            os.write(log, f"{name}-{number}\n".encode() * name.endswith("new"))
    with (
        patch("ldp_client.retry_after.FIRST_BACKOFF_SECONDS", 0.01),
        Client(DEVICE, journal=folder / "journal.db", transport=collector, spread=0) as client,
    ):
        client.report({"mode": "bus", "minutes": 8}, "yes")
        # it is a duplicate if a process was killed between the count and its note in the journal
        assert client.flush(60).state in (State.SENT, State.DUPLICATE)
        os.write(log, b"device\n")
    settings = read_settings(folder / "relay.toml")
    held, [survey] = HeldMessages(settings.database), settings.surveys.values()
    held.release(survey.plan.digest, survey.relay.batch, is_closed=False, hour=0)
    with patch.object(delivery, "_opener", collector):
        while (wait := delivery.pass_on(survey, held)) == 0:
            pass
    assert wait > 0
    held.close()


class _Lines:
    """Counts the lines that run in modules that change files, and kills the process at one of them."""

    def __init__(self, fatal: int) -> None:
        self.count, self._fatal = 0, fatal

    def __call__(self, frame: FrameType, event: str, _: object) -> _Lines | None:
        if not frame.f_code.co_filename.removeprefix(_ROOT).startswith(_CHANGING):
            return None
        if event == "line":
            self.count += 1
            if self.count == self._fatal:
                os.kill(os.getpid(), signal.SIGKILL)
        return self


def _run(folder: Path, fatal: int | None) -> None:
    if fatal is not None:
        lines = _Lines(fatal)
        threading.settrace(lines)
        sys.settrace(lines)
    take_over(folder)
    if fatal == 0:
        (folder / "lines").write_text(str(lines.count))


class Upgrades:
    """Processes that take over a folder, and are killed at a random line or at a random moment."""

    def __init__(self, seed: int) -> None:
        self._context: Any = multiprocessing.get_context("forkserver")
        self._context.set_forkserver_preload([__name__])
        self._draw = random.Random(seed)
        self.killed = 0

    def run(self, folder: Path, fatal: int | None = None, seconds: float | None = None) -> None:
        """Take over a folder, up to a line or a moment; without both, to the end."""
        process = self._context.Process(target=_run, args=(folder, fatal))
        process.start()
        if seconds is not None:
            process.join(seconds)
            process.kill()
        process.join(_PATIENCE_SECONDS)
        is_killed = process.exitcode == -signal.SIGKILL
        assert process.exitcode == 0 or (is_killed and (fatal or seconds)), process.exitcode
        self.killed += is_killed

    def measure(self, folder: Path) -> None:
        """Take over a folder twice, to find out how many lines and seconds that takes."""
        self.run(folder, fatal=0)
        self._lines = int((folder / "lines").read_text())
        start = time.monotonic()
        self.run(folder)
        self._seconds = time.monotonic() - start

    def kill(self, folder: Path) -> None:
        """Kill a process that takes over a folder, in turn at a line and at a moment."""
        if self.killed % 2:
            self.run(folder, seconds=self._draw.uniform(0, self._seconds))
        else:
            self.run(folder, fatal=self._draw.randint(1, self._lines))
