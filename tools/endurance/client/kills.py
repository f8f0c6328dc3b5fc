"""Applications that are killed while they report."""

from __future__ import annotations

import multiprocessing
import os
import random
import signal
import sys
import threading
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import Any
from unittest import mock

from ldp_client import Client, Journal, State
from tests.support.faulty_proxy import faulty
from tools.endurance.client.surveys import (
    COUNTED,
    ROWS,
    counted,
    require_forgotten,
    require_one_report,
    running,
    url_of,
)

_WATCHED = ("ldp_client", "ldp_silo", "encoders/report.py", "encoders/mechanisms", "encoders/randomness.py")
_ROOT = str(Path(__file__).resolve().parents[3])
Place = tuple[str, int, int]
"""A file, a line of it, and the number of times that it was reached."""


class LineTracer:
    """Counts the lines of the client as they run, on all threads, and kills the process at one of them."""

    def __init__(self, fatal: Place | None) -> None:
        self._fatal, self._times = fatal, Counter[tuple[str, int]]()
        self.places: list[Place] = []
        self._lock = threading.Lock()

    def __call__(self, frame: FrameType, event: str, _: object) -> LineTracer | None:
        name = os.path.relpath(frame.f_code.co_filename, _ROOT)
        if not name.startswith(_WATCHED):
            return None
        if event == "line":
            with self._lock:
                self._times[name, frame.f_lineno] += 1
                place = (name, frame.f_lineno, self._times[name, frame.f_lineno])
                self.places.append(place)
            if place == self._fatal:
                os.kill(os.getpid(), signal.SIGKILL)
        return self


def _run(journal: Path, url: str, row: int, fatal: Place | None, traced: bool, results: Any) -> None:
    """Run an application: grant consent, report, wait for the outcome."""
    tracer = LineTracer(fatal)
    with mock.patch("ldp_client.retry_after.FIRST_BACKOFF_SECONDS", 0.01):
        client = Client(url, journal=journal, spread=0)
        if traced:
            threading.settrace(tracer)
            sys.settrace(tracer)
        client.grant()
        client.report(ROWS[row], "yes")
        state = client.flush(30).state
        sys.settrace(None)
        client.close()
    if results is not None:
        results.send((state, tracer.places))


@dataclass(frozen=True)
class Kills:
    """The counts of a trial of kills."""

    killed: int
    finished: int
    """Applications that ended before they were killed."""
    found: Counter[str]
    """The journal's state after a kill."""
    lines: int
    """Different lines of the client at which one was killed."""


class _Applications:
    """Applications that are killed, one after the other, each with a device of its own."""

    def __init__(self, folder: Path, base: str) -> None:
        self._folder, self._base = folder, base
        self._context = multiprocessing.get_context("forkserver")
        self._context.set_forkserver_preload(["tools.endurance.client.kills", "ldp_client.client"])
        self.devices = 0
        self.killed = self.finished = 0
        self.found: Counter[str] = Counter()

    def journal(self) -> Path:
        self.devices += 1
        return self._folder / f"{self.devices}.db"

    def undisturbed(self, journal: Path, url: str, traced: bool = False) -> tuple[State, list[Place]]:
        """Run to the end."""
        ours, theirs = self._context.Pipe(duplex=False)
        process = self._context.Process(target=_run, args=(journal, url, 1, None, traced, theirs))
        process.start()
        theirs.close()
        result: tuple[State, list[Place]] = ours.recv()
        process.join()
        assert process.exitcode == 0
        return result

    def attack(self, fatal: Sequence[Place | float]) -> None:
        """Kill an application at lines, or after so many seconds; then run it again to the end."""
        journal, known = self.journal(), set[bytes]()
        with faulty(self._base) as proxy:
            url = url_of(proxy.port)
            for each in fatal:
                self._kill(journal, url, each)
                known |= self._survey(journal)
            state, _ = self.undisturbed(journal, url)
            assert state in COUNTED
            reports = require_one_report(proxy.take(), known)
            assert len(reports) == 1, "nothing was sent"
        require_forgotten(journal, reports)

    def _kill(self, journal: Path, url: str, fatal: Place | float) -> None:
        place = None if isinstance(fatal, float) else fatal
        process = self._context.Process(target=_run, args=(journal, url, 0, place, place is not None, None))
        process.start()
        if isinstance(fatal, float):
            time.sleep(fatal)
            process.kill()
        process.join(60)
        assert process.exitcode in (0, -signal.SIGKILL), f"ended with {process.exitcode} at {fatal}"
        self.killed += process.exitcode != 0
        self.finished += process.exitcode == 0

    def _survey(self, journal: Path) -> set[bytes]:
        """Count the state of the journal; return the report that it has committed."""
        entry = next(iter(Journal(journal).entries()), None)
        self.found[str(entry.state) if entry else "(none)"] += 1
        return {entry.report} if entry and entry.report else set()


def kills(folder: Path, count: int) -> Kills:
    """Kill at least `count` applications, a device's first at a line of the client, then at any moment."""
    with running(folder, "sleep") as base:
        applications = _Applications(folder, base)
        with faulty(base) as proxy:
            _, places = applications.undisturbed(applications.journal(), url_of(proxy.port), traced=True)
            start = time.monotonic()
            applications.undisturbed(applications.journal(), url_of(proxy.port))
            usual = time.monotonic() - start
        chosen = spread_places(places, count * 2 // 3)
        for place in chosen:
            applications.attack([place, usual * random.uniform(0.2, 1.0)])
        while applications.killed < count:
            applications.attack([usual * random.uniform(0.2, 1.0)])
        assert counted(base) == applications.devices, "a report was lost, or counted twice"
    return Kills(
        applications.killed, applications.finished, applications.found, len({place[:2] for place in chosen})
    )


def spread_places(places: Sequence[Place], count: int) -> list[Place]:
    """Choose places over the whole course, at random within equal parts of it, no line twice if it can be."""
    first: dict[tuple[str, int], Place] = {}
    for place in places:
        if place[2] == 1 or random.random() < 1 / place[2]:
            first[place[:2]] = place
    lines = sorted(first.values(), key=places.index)
    if len(lines) < count:
        lines = list(places)
    return [lines[int((part + random.random()) * len(lines) / count)] for part in range(count)]
