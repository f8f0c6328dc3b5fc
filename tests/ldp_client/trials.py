"""Trials of the client's promises on real parts: sockets, a collector, a journal, SIGKILL.

test_endurance.py runs them small, benchmarks/endurance.py at full size. Each raises AssertionError where a
promise is broken, and else returns what it measured.
"""

from __future__ import annotations

import json
import multiprocessing
import os
import random
import signal
import subprocess
import sys
import threading
import time
import urllib.request
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import median
from types import FrameType
from typing import Any
from unittest import mock

from encoders.survey import Plan, read_survey
from ldp_client import Client, HttpTransport, Journal, Response, State
from tests.faulty import FAULTS, Proxy, faulty
from tests.servers import TOKEN, collector

SURVEY = """
[survey]
id = "{}"
epsilon = 1.0
[label]
name = "rested"
values = ["yes", "no"]
[features.age]
values = ["young", "old"]
[features.place]
values = {}
"""
ROWS: tuple[dict[str, object], ...] = ({"age": "young", "place": "p1"}, {"age": "old", "place": "p2"})
COUNTED = (State.SENT, State.DUPLICATE)


def survey(name: str) -> str:
    return SURVEY.format(name, [f"p{number}" for number in range(40)])


def compiled(name: str) -> Plan:
    return read_survey(survey(name)).compile()


@contextmanager
def running(folder: Path, *names: str) -> Iterator[str]:
    """Run a real collector of small surveys; yield its base URL."""
    for name in names:
        (folder / f"{name}.toml").write_text(survey(name))
    with collector([folder / f"{name}.toml" for name in names], f"sqlite:///{folder}/ldp.db") as (base, _):
        yield base


def url_of(port: int, name: str = "sleep") -> str:
    return f"http://127.0.0.1:{port}/v1/surveys/{name}"


def counted(base: str, name: str = "sleep") -> int:
    """Return how many reports of a survey the collector has counted."""
    request = urllib.request.Request(
        f"{base}/v1/surveys/{name}/snapshot", headers={"Authorization": f"Bearer {TOKEN}"}
    )
    with urllib.request.urlopen(request) as answer:
        totals = json.load(answer)["totals"]
    return sum(total["n"] for total in totals.values())


def require_forgotten(journal: Path, reports: set[bytes]) -> None:
    """Require that no byte of a report is left in any file of a journal."""
    for file in journal.parent.glob(f"{journal.name}*"):
        assert not any(report in file.read_bytes() for report in reports), f"{file.name} still has a report"


# -- faults of the network ----------------------------------------------------------------------


class _Failing:
    """HTTP whose requests meet faults in turn; notes what it was given to send."""

    def __init__(self, proxy: Proxy, faults: Sequence[str]) -> None:
        self._proxy, self._faults = proxy, list(faults)
        self.sent: list[bytes | None] = []

    def request(self, method: str, url: str, body: bytes | None, timeout: float) -> Response:
        if method != "POST":
            return HttpTransport().request(method, url, body, timeout)
        self.sent.append(body)
        with self._proxy.failing(self._faults.pop(0) if self._faults else ""):
            return HttpTransport().request(method, url, body, timeout)


@dataclass(frozen=True)
class Faults:
    """What a trial of faults saw."""

    injected: Counter[str]
    states: Counter[State]
    attempts: int


def faults(folder: Path, count: int, attempt_seconds: float = 0.3) -> Faults:
    """Let devices report through a failing network, at least `count` faults in all."""
    devices = -(-count // len(FAULTS))
    with (
        running(folder, "sleep") as base,
        mock.patch("ldp_client.retry_after.MAX_BACKOFF_SECONDS", 0.02),
        mock.patch("ldp_client.sending.sender.ATTEMPT_SECONDS", attempt_seconds),
        ThreadPoolExecutor(6) as pool,
    ):
        seen = list(pool.map(lambda number: _device(folder / f"{number}.db", base), range(devices)))
        assert counted(base) == devices, "a report was lost, or counted twice"
    states = Counter(state for state, _ in seen)
    return Faults(Counter(FAULTS * devices), states, sum(attempts for _, attempts in seen))


def _device(journal: Path, base: str) -> tuple[State, int]:
    order = random.sample(FAULTS, len(FAULTS))
    with faulty(base) as proxy:
        transport = _Failing(proxy, order)
        with Client(url_of(proxy.port), journal=journal, transport=transport, spread=0) as client:
            assert client.grant().state is State.READY
            assert client.report(ROWS[0], "yes").state is State.QUEUED
            state = client.flush(60).state
        assert state in COUNTED, f"{state} after {order}"
        assert len(transport.sent) == len(order) + 1, "an attempt more or less than faults"
        require_one_report(proxy.take(), {body for body in transport.sent if body})
    require_forgotten(journal, {body for body in transport.sent if body})
    assert [(entry.state, entry.report) for entry in Journal(journal).entries()] == [(state, None)]
    return state, len(transport.sent)


def require_one_report(bodies: Sequence[tuple[bytes, bool]], known: set[bytes]) -> set[bytes]:
    """Require that all bodies on the wire are one report, or its beginning; return it."""
    reports = known | {body for body, whole in bodies if whole}
    assert len(reports) <= 1, "a survey was randomised twice"
    for report in reports:
        assert all(report.startswith(body) for body, _ in bodies), "other bytes than the report's were sent"
    return reports


# -- SIGKILL ------------------------------------------------------------------------------------

_WATCHED = ("ldp_client", "encoders/report.py", "encoders/mechanisms", "encoders/randomness.py")
_ROOT = str(Path(__file__).resolve().parents[2])
Place = tuple[str, int, int]
"""A file, a line of it, and the how manieth time it is reached."""


class _Tracer:
    """Counts the lines of the client as they run, on all threads, and kills the process at one of them."""

    def __init__(self, fatal: Place | None) -> None:
        self._fatal, self._times = fatal, Counter[tuple[str, int]]()
        self.places: list[Place] = []
        self._lock = threading.Lock()

    def __call__(self, frame: FrameType, event: str, _: object) -> _Tracer | None:
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
    """One run of an application: agree, report, wait for the verdict."""
    tracer = _Tracer(fatal)
    with mock.patch("ldp_client.retry_after.FIRST_BACKOFF_SECONDS", 0.01):
        client = Client(url, journal=journal, spread=0)
        if traced:
            threading.settrace(tracer)  # type: ignore[arg-type]
            sys.settrace(tracer)  # type: ignore[arg-type]
        client.grant()
        client.report(ROWS[row], "yes")
        state = client.flush(30).state
        sys.settrace(None)
        client.close()
    if results is not None:
        results.send((state, tracer.places))


@dataclass(frozen=True)
class Kills:
    """What a trial of kills saw."""

    killed: int
    finished: int
    """How many were done before they could be killed."""
    found: Counter[str]
    """The journal's state after a kill."""
    lines: int
    """At how many different lines of the client."""


class _Ward:
    """Applications that are killed, one after the other, each with a device of its own."""

    def __init__(self, folder: Path, base: str) -> None:
        self._folder, self._base = folder, base
        self._context = multiprocessing.get_context("forkserver")
        self._context.set_forkserver_preload(["tests.ldp_client.trials", "ldp_client.client"])
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
        """Note how the journal was left; return the report that it has committed."""
        entry = next(iter(Journal(journal).entries()), None)
        self.found[str(entry.state) if entry else "(none)"] += 1
        return {entry.report} if entry and entry.report else set()


def kills(folder: Path, count: int) -> Kills:
    """Kill at least `count` applications, a device's first at a line of the client, then at any moment."""
    with running(folder, "sleep") as base:
        ward = _Ward(folder, base)
        with faulty(base) as proxy:
            _, places = ward.undisturbed(ward.journal(), url_of(proxy.port), traced=True)
            start = time.monotonic()
            ward.undisturbed(ward.journal(), url_of(proxy.port))
            usual = time.monotonic() - start
        chosen = _spread(places, count * 2 // 3)
        for place in chosen:
            ward.attack([place, usual * random.uniform(0.2, 1.0)])
        while ward.killed < count:
            ward.attack([usual * random.uniform(0.2, 1.0)])
        assert counted(base) == ward.devices, "a report was lost, or counted twice"
    return Kills(ward.killed, ward.finished, ward.found, len({place[:2] for place in chosen}))


def _spread(places: Sequence[Place], count: int) -> list[Place]:
    """Choose places over the whole course, at random within equal parts of it, no line twice if it can be."""
    first: dict[tuple[str, int], Place] = {}
    for place in places:
        if place[2] == 1 or random.random() < 1 / place[2]:
            first[place[:2]] = place
    lines = sorted(first.values(), key=places.index)
    if len(lines) < count:
        lines = list(places)
    return [lines[int((part + random.random()) * len(lines) / count)] for part in range(count)]


# -- exits --------------------------------------------------------------------------------------

SERVERS = ("refuses", "never answers", "never accepts")


@dataclass(frozen=True)
class Exit:
    """One interpreter's end, in seconds."""

    queued: int
    handlers: float
    """From the first of its handlers to the last."""
    process: float
    """From the last line of the program until the process is gone."""


def exits(folder: Path, server: str, journals: int, queued: int, spread: float = 0.0) -> Exit:
    """Let an interpreter end with a full queue for a server that is not there."""
    words = [str(word) for word in (folder, server, journals, queued, spread)]
    command = [sys.executable, "-m", "tests.ldp_client.dying", *words]
    with subprocess.Popen(command, cwd=_ROOT, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ends\n", "the application did not come to its end"
        start = time.monotonic()
        handlers = float(process.stdout.readline())
        assert process.wait(60) == 0
        elapsed = time.monotonic() - start
    left = [Journal(folder / f"{server}-{spread}-{number}.db").queued_surveys() for number in range(journals)]
    assert sum(map(len, left)) == queued, "a report was lost at the end"
    return Exit(queued, handlers, elapsed)


# -- many processes on one journal --------------------------------------------------------------


def _compete(path: Path, names: Sequence[str], results: Any) -> None:
    journal, plan, mine = Journal(path), compiled("any"), os.getpid().to_bytes(4, "big")
    created, seconds = [], []
    for name in names:
        each = replace(plan, id=name, family=name)
        agreed = journal.grant(each, "http://collector.test/v1/surveys/any")
        start = time.perf_counter()
        created.append(journal.commit(agreed.identity, each, lambda: mine)[1])
        seconds.append(time.perf_counter() - start)
    results.put((os.getpid(), created, seconds))


@dataclass(frozen=True)
class Crowd:
    """What many processes on one journal took, in seconds; the last two of a commit that was the first."""

    entries: int
    elapsed: float
    usual: float
    longest: float


def crowd(folder: Path, processes: int, surveys: int) -> Crowd:
    """Let processes answer the same surveys on one journal at once."""
    path, names = folder / "crowd.db", [f"survey-{number}" for number in range(surveys)]
    context = multiprocessing.get_context("spawn")
    results: Any = context.Queue()
    racers = [context.Process(target=_compete, args=(path, names, results)) for _ in range(processes)]
    start = time.monotonic()
    for racer in racers:
        racer.start()
    told = [results.get(timeout=900) for _ in racers]
    elapsed = time.monotonic() - start
    for racer in racers:
        racer.join()
    makers = {name: [pid for pid, made, _ in told if made[place]] for place, name in enumerate(names)}
    entries = Journal(path).entries()
    assert all(len(pids) == 1 for pids in makers.values()), "a survey was answered twice, or never"
    assert {entry.survey: entry.report for entry in entries} == {
        name: pids[0].to_bytes(4, "big") for name, pids in makers.items()
    }, "an entry is lost, or not what was recorded"
    seconds = [second for _, made, took in told for mine, second in zip(made, took, strict=True) if mine]
    return Crowd(len(entries), elapsed, median(seconds), max(seconds))
