"""Kill collector and store at random moments; restart Redis on a truncated file."""

from __future__ import annotations

import os
import random
import shutil
import signal
import time
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

import redis

from encoders.report import unpack
from encoders.survey import Plan
from ldp_aggregator.collector.intake import Intake
from ldp_aggregator.stores import Store, Total, open_store
from tests.support.servers import KillableCollector, LocalRedis, wait_for
from tools.endurance.collector.posting import CONNECTIONS, Crowd, deliver
from tools.endurance.collector.reports import (
    SURVEY,
    Sent,
    into_bodies,
    make_reports,
    plan_of,
    require_equal,
    require_whole,
    totalled,
    totals_of,
)


@dataclass
class Killed:
    """Numbers of kills and posts, and the outcomes of the reports."""

    kills: Counter[str]
    posts: int
    attempts: int
    seen: Counter[str]


def kills(
    folder: Path, kind: str, reports: int, wanted: int, largest: int = 1000, prelude: str = ""
) -> Killed:
    """Kill parts of a collector and its store at random moments, while reports arrive."""
    plan, rng = plan_of(), random.Random(reports)
    sent = make_reports(plan, reports, seed=wanted)
    survey = folder / "survey.toml"
    survey.write_text(SURVEY)
    server = LocalRedis(folder) if kind == "redis" else None
    url = server.url if server else f"sqlite:///{folder}/store.db"
    collector = KillableCollector(survey, url, folder / "collector.log", prelude=prelude)
    victims = ["worker", "master", "collector"] + (["redis", "redis", "redis and worker"] if server else [])
    order = [victims[turn % len(victims)] for turn in range(wanted)]
    rng.shuffle(order)
    bodies = into_bodies(sent.reports, largest, rng)
    try:
        if server:
            server.start()
        collector.start()
        moments = sorted(rng.sample(range(1, len(bodies) - CONNECTIONS), wanted))
        crowd = Crowd([collector.base], bodies, moments[0] + CONNECTIONS)
        for victim, moment, limit in zip(order, moments, [*moments[1:], len(bodies) * 2], strict=True):
            crowd.wait_until_begun(moment)
            time.sleep(rng.uniform(0, 0.01))
            _kill(victim, collector, server, rng)
            require_whole(url, plan)
            crowd.limit = limit + CONNECTIONS
        seen = crowd.join()
        require_whole(url, plan)
        require_equal(totals_of(url), sent.totals)
        again = deliver(collector.base, [(1, report) for report in rng.sample(sent.reports, 50)])
        assert again == {"duplicate": 50}
    finally:
        collector.stop()
        if server:
            server.stop()
    assert seen.keys() <= {"recorded", "duplicate"}
    assert seen.total() == reports
    return Killed(Counter(order), len(bodies), crowd.attempts, seen)


def _kill(victim: str, collector: KillableCollector, server: LocalRedis | None, rng: random.Random) -> None:
    """Kill one or two parts, and start them again."""
    if "redis" in victim:
        assert server is not None
        server.kill()
    if "worker" in victim:
        wait_for(collector.workers)  # just after its start it may have none
        os.kill(rng.choice(collector.workers()), signal.SIGKILL)
    if victim in ("collector", "master"):
        collector.kill(everything=victim == "collector")
        collector.start()
    if "redis" in victim:
        assert server is not None
        time.sleep(rng.uniform(0, 0.2))
        server.start()
    assert collector.process is not None
    assert collector.process.poll() is None, collector.printed()[-2000:]


# -- 2. the machine under Redis crashes ----------------------------------------------------------


@dataclass
class Cuts:
    """Number of truncations of the file, and total number of bytes lost."""

    cuts: int
    lost: int
    reports: int


def cut_files(folder: Path, cuts: int, reports_between: int = 60) -> Cuts:
    """Restart Redis on its file, truncated at an acknowledgement or within the next command."""
    plan, rng, lost = plan_of(), random.Random(cuts), 0
    (folder / "first").mkdir()
    server, survey = LocalRedis(folder / "first"), plan.id
    counted: dict[str, Total] = {}
    try:
        server.start()
        store = open_store(server.url)
        for turn in range(cuts):
            _count(store, plan, counted, make_reports(plan, reports_between, turn))
            if turn == cuts // 2:
                _rewrite(server.url)
            sizes = [path.stat().st_size for path in _files(folder / "first")]
            # what follows was not acknowledged yet: one command, truncated somewhere
            later = make_reports(plan, rng.choice([1, reports_between]), cuts + turn)
            one = [
                each for each in later.reports if unpack(each).question == unpack(later.reports[0]).question
            ]
            act = dict(counted)
            _count(store, plan, act, totalled(plan, one))
            copy = folder / f"copy-{turn}"
            shutil.copytree(folder / "first" / "appendonlydir", copy / "appendonlydir")
            lost += _cut(_files(copy), sizes, 0 if turn % 5 == 0 else rng.random())
            crashed = LocalRedis(copy, "--aof-load-truncated", "yes")
            try:
                crashed.start()
                found = totals_of(crashed.url)
                require_equal(
                    found, counted
                )  # all acknowledged reports, and nothing of the truncated command
                require_whole(crashed.url, plan)
                assert (
                    Intake(plan, open_store(crashed.url)).record_body(b"".join(one))[0].status == "recorded"
                )
                require_equal(totals_of(crashed.url), act)
            finally:
                crashed.stop()
                shutil.rmtree(copy)
            counted = act
        assert survey == "trial"
        store.close()
    finally:
        server.stop()
    return Cuts(cuts, lost, sum(total.n for total in counted.values()))


def _count(store: Store, plan: Plan, counted: dict[str, Total], sent: Sent) -> None:
    intake = Intake(plan, store)
    intake._buffered_writes.add_recorded = lambda column: None  # type: ignore[method-assign,assignment]  # one command: no support counters
    outcomes = intake.record_body(b"".join(sent.reports))
    assert {outcome.status for outcome in outcomes} == {"recorded"}
    for key, total in sent.totals.items():
        counted[key] = counted[key] + total if key in counted else total


def _files(folder: Path) -> list[Path]:
    """Return the part of the append-only file that grows: the last one."""
    base = folder if folder.name == "appendonlydir" else folder / "appendonlydir"
    return [max(base.glob("*.incr.aof"), key=lambda path: int(path.name.split(".")[-3]))]


def _cut(files: list[Path], sizes: list[int], part: float) -> int:
    (path,), (size,) = files, sizes
    whole = path.stat().st_size
    keep = size + int((whole - size) * part)
    assert size < whole
    assert keep < whole
    os.truncate(path, keep)
    return whole - keep


def _rewrite(url: str) -> None:
    with redis.Redis.from_url(url) as server:
        server.bgrewriteaof()
        while (
            server.info("persistence")["aof_rewrite_in_progress"]
            or (server.info("persistence")["aof_rewrite_scheduled"])
        ):
            time.sleep(0.01)
