"""Benchmark the collector over HTTP: the cost of counting on disk, and the gain of many reports per body."""

from __future__ import annotations

import shutil
from collections.abc import Iterator

import numpy as np

from benchmarks.load import send, spell
from benchmarks.measure import Row, Timer, compare, each, gain, price
from benchmarks.servers import collector, redis_server, sqlite_file, survey
from encoders.randomness import SystemEntropy
from encoders.report import ID_BYTES, Report, pack

CONNECTIONS = 8
SINGLES = 400
BODIES, BODY = 8, 1_000
REPEATS = 11
FEW, MANY_REPEATS = 50, 201
"""For a small difference, short turns in large number: disturbances of the machine then affect both sides."""


def rows() -> Iterator[Row]:
    """Yield one row per goal, or none without redis-server."""
    if not shutil.which("redis-server"):
        print("collector: needs redis-server, which is not installed")
        return
    with (
        redis_server() as redis,
        sqlite_file() as sqlite,
        collector(redis) as into_redis,
        collector(sqlite) as into_sqlite,
        collector("none") as answering,
    ):
        for store, counting in (("Redis", into_redis), ("SQLite", into_sqlite)):
            singles, bodies = Posts(counting, SINGLES, 1), Posts(counting, BODIES, BODY)
            peer = {"decode and answer only": Posts(answering, SINGLES, 1).timer()}
            yield compare(f"one report a post, {store}, on disk", singles.timer(), peer, gain(0.5), REPEATS)
            peer = {"decode and answer only": Posts(answering, BODIES, BODY).timer()}
            yield compare(f"1,000 reports a body, {store}, on disk", bodies.timer(), peer, gain(0.4), REPEATS)
            if store == "SQLite":
                with collector(sqlite, "uncounted") as uncounted:
                    counted = Posts(counting, FEW, 1).timer()
                    peer = {"requests are not counted": Posts(uncounted, FEW, 1).timer()}
                    yield compare("one report a post, metrics", counted, peer, price(1.03), MANY_REPEATS)
            if store == "Redis":
                peer = {"one report a post": singles.timer()}
                yield compare("1,000 reports a body, per report", bodies.timer(), peer, gain(75), REPEATS)


class Posts:
    """New posts to one server: `count` bodies of `reports` reports each."""

    def __init__(self, url: str, count: int, reports: int) -> None:
        self._url, self._count, self._reports = url, count, reports

    def timer(self) -> Timer:
        """Return a timer of the sending alone; new reports are made before each round."""

        def timed() -> float:
            requests = spell(self._url, [b"".join(reports(self._reports)) for _ in range(self._count)])
            return each(lambda: send(self._url, requests, CONNECTIONS), self._count * self._reports)()

        return timed


def reports(count: int) -> Iterator[bytes]:
    """Yield reports of random people, with questions drawn as devices draw them."""
    plan, entropy = survey(), SystemEntropy()
    digest, values = bytes.fromhex(plan.digest), np.random.default_rng()
    for _ in range(count):
        question = plan.draw(entropy)
        payload = question.mechanism.perturb(int(values.integers(question.domain)), entropy)
        yield pack(Report(digest, question.index, entropy.take(ID_BYTES), payload))
