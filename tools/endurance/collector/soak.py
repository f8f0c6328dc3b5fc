"""A trial of endurance: reports at full speed; none is lost, and memory and open files do not grow."""

from __future__ import annotations

import random
import statistics
import threading
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from encoders.report import ID_BYTES, unpack
from encoders.survey import Plan
from ldp_aggregator.stores import Total
from tests.support.servers import KillableCollector, redis_server, resident, wait_for
from tools.endurance.collector.posting import Client, statuses
from tools.endurance.collector.reports import (
    SURVEY,
    make_reports,
    plan_of,
    require_equal,
    require_whole,
    totals_of,
)

CONNECTIONS = 8
WORKERS = 2
LARGEST = 1000
GROWTH = 32.0
"""Allowed growth of a worker after the first fifth, in MB: at full length, some bytes per report."""
FILES = 4
"""Allowed increase of a worker's open files after the first fifth."""


@dataclass
class Soaked:
    """What was sent, the outcomes, and the state of the workers."""

    seconds: float
    posts: int = 0
    attempts: int = 0
    seen: Counter[str] = field(default_factory=Counter)
    slowest: float = 0.0
    median: float = 0.0
    grown: float = 0.0
    resident: float = 0.0
    files: int = 0
    slowed: float = 0.0
    """Reports per second in the last fifth, divided by those in the second fifth."""


class Stock:
    """Reports made in advance and sent under new ids; computes their totals."""

    def __init__(self, plan: Plan, size: int = 5000) -> None:
        reports = make_reports(plan, size, seed=size).reports
        self._plan, self._read = plan, [unpack(report) for report in reports]
        self._bytes = np.frombuffer(b"".join(reports), np.uint8)
        self._ends = np.cumsum([0, *map(len, reports)])
        ids = [report.index(read.id) for report, read in zip(reports, self._read, strict=True)]
        self._ids = self._ends[:-1] + ids

    def body(self, size: int, rng: random.Random) -> tuple[bytes, int]:
        """Return a body of `size` reports, and the index of its first report in the stock."""
        first = rng.randrange(len(self._read) - size + 1)
        start, end = self._ends[first], self._ends[first + size]
        body = self._bytes[start:end].copy()
        places = self._ids[first : first + size, None] - start + np.arange(ID_BYTES)
        body[places] = np.frombuffer(rng.randbytes(size * ID_BYTES), np.uint8).reshape(size, ID_BYTES)
        return body.tobytes(), first

    def totals(self, uses: np.ndarray) -> dict[str, Total]:
        """Return the totals of the stock, given how often each report was sent."""
        found: dict[str, Total] = {}
        for read, count in zip(self._read, uses.tolist(), strict=True):
            question = self._plan.questions[read.question]
            cells = np.array(question.mechanism.contribution(read.payload), dtype=np.int64) * count
            if count:
                total = Total(count, cells)
                found[question.key] = found[question.key] + total if question.key in found else total
        return found

    def __len__(self) -> int:
        return len(self._read)


def soak(folder: Path, seconds: float) -> Soaked:
    """Post single reports, bodies, and a few repeats, over persistent connections."""
    plan, found = plan_of(), Soaked(seconds)
    stock, survey = Stock(plan), folder / "survey.toml"
    survey.write_text(SURVEY)
    with redis_server(folder) as url:
        collector = KillableCollector(survey, url, folder / "collector.log", WORKERS)
        try:
            collector.start()
            wait_for(lambda: len(collector.workers()) == WORKERS)
            senders = [Sender(collector.base, stock, number) for number in range(CONNECTIONS)]
            with ThreadPoolExecutor(CONNECTIONS) as pool:
                end = time.monotonic() + seconds
                ends = [pool.submit(sender.send_until, end) for sender in senders]
                watched = list(_watch(collector, senders, seconds))
            for each in ends:
                each.result()
            assert collector.printed().count("\n") < 10, collector.printed()[-2000:]
        finally:
            collector.stop()
        require_whole(url, plan)
        require_equal(totals_of(url), stock.totals(np.sum([sender.uses for sender in senders], axis=0)))
    _sum_up(found, senders, watched)
    assert found.grown <= GROWTH, f"a worker grew by {found.grown:.1f} MB"
    assert found.files <= FILES, f"a worker opened {found.files} files more"
    return found


class Sender:
    """One connection that sends reports of a stock, each as soon as the last response arrives."""

    def __init__(self, base: str, stock: Stock, seed: int) -> None:
        self._client, self._stock, self._rng = Client(base), stock, random.Random(seed)
        self.uses = np.zeros(len(stock), np.int64)
        self.seen, self.times, self.sent = Counter[str](), list[float](), 0

    @property
    def attempts(self) -> int:
        return self._client.attempts

    def send_until(self, end: float) -> None:
        while time.monotonic() < end:
            size = 1 if self._rng.random() < 0.9 else self._rng.randint(2, LARGEST)
            body, first = self._stock.body(size, self._rng)
            self._post(body, size)
            self.uses[first : first + size] += 1
            if self._rng.random() < 0.02:
                assert self._post(body, size) == {"duplicate": size}
        self._client.close()

    def _post(self, body: bytes, size: int) -> Counter[str]:
        start = time.monotonic()
        status, response = self._client.deliver(body)
        assert status == 200, (status, response)
        self.times.append(time.monotonic() - start)
        outcomes = statuses(size, response)
        self.seen += outcomes
        self.sent += size
        return outcomes


@dataclass
class Watched:
    """Memory (MB) and open files of each worker at one moment."""

    reports: int
    resident: dict[int, float]
    files: dict[int, int]


def _watch(collector: KillableCollector, senders: list[Sender], seconds: float) -> Iterator[Watched]:
    """Measure twenty times, at equal intervals."""
    tick = threading.Event()
    for _ in range(20):
        tick.wait(seconds / 20)
        workers = collector.workers()
        files = {worker: len(list(Path(f"/proc/{worker}/fd").iterdir())) for worker in workers}
        yield Watched(
            sum(sender.sent for sender in senders), {each: resident(each) for each in workers}, files
        )


def _sum_up(found: Soaked, senders: list[Sender], watched: list[Watched]) -> None:
    warm, last = watched[:4], watched[-1]
    assert all(each.resident.keys() == last.resident.keys() for each in watched), "a worker was replaced"
    found.posts = sum(len(sender.times) for sender in senders)
    found.attempts = sum(sender.attempts for sender in senders)
    found.seen = sum((sender.seen for sender in senders), Counter[str]())
    times = [each for sender in senders for each in sender.times]
    found.slowest, found.median = max(times), statistics.median(times)
    found.resident = max(last.resident.values())
    for worker in last.resident:
        grown = last.resident[worker] - max(each.resident[worker] for each in warm)
        opened = max(each.files[worker] for each in watched) - max(each.files[worker] for each in warm)
        found.grown, found.files = max(found.grown, grown), max(found.files, opened)
    counts = [each.reports for each in watched]
    found.slowed = (counts[19] - counts[15]) / (counts[7] - counts[3])
