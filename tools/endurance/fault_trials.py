"""Faults of stores and relays while reports arrive: each acknowledged report must be counted once.

Each trial prints the numbers of acknowledged and counted reports, the longest time without an
acknowledgement, and what /readyz said. A report is acknowledged if its device got a 200, or a 202 of a relay.
"""

from __future__ import annotations

import os
import random
import signal
import sqlite3
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from functools import partial
from http.client import HTTPException
from pathlib import Path
from typing import NamedTuple

from encoders.report import iterate_reports, unpack
from encoders.survey.sealing import seal_envelope
from tests.support.relays import RelayedSite, relay, relayed_reports, send
from tests.support.servers import children_of, free_port, wait_for
from tools.endurance.client_trials import Trial
from tools.endurance.collector import fault_sites
from tools.endurance.collector.fault_sites import Site, cut_network, fill_disk, mend_network
from tools.endurance.collector.posting import post_once
from tools.endurance.collector.reports import (
    ids_of,
    into_bodies,
    make_reports,
    plan_of,
    require_equal,
    totalled,
    totals_of,
)
from tools.endurance.collector.steady_load import ReadyWatch, SteadyLoad
from tools.endurance.relay_trials import BATCH, HOUR_SECONDS, SHORT_PAUSE

REPORTS = 20_000
MESSAGES = 1_000
LARGEST = 20
HANG_SECONDS = 8.0
SHORT_SECONDS = 3.0
CALM_SECONDS = 2.0
"""Before each fault and after it."""
DEADLINE_SECONDS = 5.0
SLACK_SECONDS = 1.5
LOSS_WORDS = ("reports-lost", "survey-missing")
"""What /readyz says if acknowledged reports are gone."""
_DAY = 86_400


class Fault(NamedTuple):
    """A fault of the store of a collector."""

    name: str
    store: str
    site: Callable[..., AbstractContextManager[Site]]
    happen: Callable[[Site], AbstractContextManager[None]]
    """Breaks something, and mends it."""
    seconds: float = SHORT_SECONDS
    goes_on: bool = False
    """Whether other servers acknowledge reports meanwhile, within the deadline."""
    loses: bool = False
    """Whether Redis deletes reports, so that the collector must say so."""


# -- faults --------------------------------------------------------------------------------------


@contextmanager
def kill_worker(site: Site) -> Iterator[None]:
    os.kill(site.collector.workers()[0], signal.SIGKILL)
    yield


@contextmanager
def kill_collector(site: Site) -> Iterator[None]:
    site.collector.kill()
    yield
    site.collector.start()


@contextmanager
def kill_server(site: Site) -> Iterator[None]:
    site.servers[-1].kill()
    yield
    site.servers[-1].start()


@contextmanager
def hang_server(site: Site) -> Iterator[None]:
    site.servers[-1].signal(signal.SIGSTOP)
    try:
        yield
    finally:
        site.servers[-1].signal(signal.SIGCONT)


@contextmanager
def lock_file(site: Site) -> Iterator[None]:
    connection = sqlite3.connect(site.disk / "store.db", timeout=10, isolation_level=None)
    connection.execute("BEGIN IMMEDIATE")
    yield
    connection.close()


@contextmanager
def move_file(site: Site) -> Iterator[None]:
    (site.disk / "store.db").rename(site.disk / "moved.db")
    yield
    (site.disk / "moved.db").rename(site.disk / "store.db")


@contextmanager
def full_disk(site: Site) -> Iterator[None]:
    fill_disk(site.disk)
    yield
    (site.disk / "filler").unlink()
    for server in site.servers:  # Redis ends if it cannot write its append-only file
        server.kill()
        server.start()


@contextmanager
def no_memory(site: Site, spare: int = -100_000, policy: str = "noeviction") -> Iterator[None]:
    client = site.servers[-1].client
    client.config_set("maxmemory-policy", policy)
    client.config_set("maxmemory", client.info("memory")["used_memory"] + spare)
    yield
    client.config_set("maxmemory", 0)
    client.config_set("maxmemory-policy", "noeviction")


@contextmanager
def promote_replica(site: Site) -> Iterator[None]:
    new, old = site.servers
    old.client.execute_command("FAILOVER", "TO", "127.0.0.1", new.port)
    wait_for(lambda: new.client.info("replication")["role"] == "master")
    yield
    assert site.address is not None
    site.address.target = new.port


@contextmanager
def partition(site: Site) -> Iterator[None]:
    cut_network(site)
    yield
    mend_network(site)


@contextmanager
def wrong_clock(site: Site) -> Iterator[None]:
    for days in (1, -1):
        site.clock.write_text(str(days * _DAY))
        time.sleep(1)
    yield
    site.clock.unlink()


SQLITE, REDIS, CLUSTER = fault_sites.sqlite, fault_sites.single_redis, fault_sites.cluster
EVICT = partial(no_memory, spare=-200_000, policy="allkeys-lru")
FAULTS = (
    Fault("kill a worker", "SQLite", SQLITE, kill_worker),
    Fault("kill the collector", "SQLite", SQLITE, kill_collector),
    Fault("lock the file", "SQLite", SQLITE, lock_file, HANG_SECONDS),
    Fault("move the file", "SQLite", SQLITE, move_file),
    Fault("fill the disk", "SQLite", SQLITE, full_disk),
    Fault("change the clock", "SQLite", SQLITE, wrong_clock),
    Fault("kill Redis", "Redis", REDIS, kill_server),
    Fault("hang Redis", "Redis", REDIS, hang_server, HANG_SECONDS),
    Fault("no memory", "Redis", REDIS, no_memory),
    Fault("fill the disk", "Redis", REDIS, full_disk),
    Fault("evict keys", "Redis", REDIS, EVICT, loses=True),
    Fault("re-point the address", "Redis", fault_sites.replicated_redis, promote_replica),
    Fault("partition", "Redis", fault_sites.distant_redis, partition, HANG_SECONDS),
    Fault("change the clock", "Redis", REDIS, wrong_clock),
    Fault("kill a node", "cluster", CLUSTER, kill_server, goes_on=True),
    Fault("hang a node", "cluster", CLUSTER, hang_server, HANG_SECONDS, goes_on=True),
    Fault("hang a node for long", "cluster", CLUSTER, hang_server, 30, goes_on=True),
    Fault("no memory in a node", "cluster", CLUSTER, no_memory, goes_on=True),
    Fault("evict keys of a node", "cluster", CLUSTER, EVICT, loses=True),
    Fault(
        "partition of a node", "cluster", fault_sites.distant_cluster, partition, HANG_SECONDS, goes_on=True
    ),
)


# -- one trial -----------------------------------------------------------------------------------


class Seen(NamedTuple):
    """What a trial observed."""

    acknowledged: int
    counted: int
    gap: float
    ready: list[str]

    def __str__(self) -> str:
        return f"{self.acknowledged:>6,} {self.counted:>6,} {self.gap:>6.1f} s  {', '.join(self.ready)}"


def run(folder: Path, fault: Fault, prelude: str = "", seconds: float | None = None) -> Seen:
    """Let a fault happen while reports arrive; check by their ids that each is counted once."""
    plan, rng = plan_of(), random.Random(fault.name)
    bodies = [body for _, body in into_bodies(make_reports(plan, REPORTS, seed=7).reports, LARGEST, rng)]
    with fault.site(folder, prelude) as site:
        many = make_reports(plan, REPORTS if fault.loses else 1, seed=8).reports
        assert post_once(site.collector.base, b"".join(many))
        load = SteadyLoad(partial(post_once, site.collector.base), bodies)
        watch = ReadyWatch(site.collector.base)
        try:
            time.sleep(CALM_SECONDS)
            start = time.monotonic()
            with fault.happen(site):
                time.sleep(fault.seconds if seconds is None else seconds)
            end = time.monotonic()
            if fault.loses:
                wait_for(lambda: watch.now.startswith(LOSS_WORDS))  # followed by the survey
                load.stop()
            else:
                time.sleep(CALM_SECONDS)
                load.finish()
                wait_for(lambda: watch.now == "ready")
        finally:
            load.stop()
            watch.stop()
        wait_for(lambda: fault_sites.sees_whole_cluster(site))
        acknowledged = many + [each for body in load.acknowledged for each in iterate_reports(body)]
        ids, counted = {unpack(each).id for each in acknowledged}, ids_of(site.url, plan)
        seen = Seen(len(ids), len(counted), load.longest_gap(start), watch.words)
        assert fault.loses or counted == ids, f"not the acknowledged reports are counted: {seen}"
        if not fault.loses:
            require_equal(totals_of(site.url), totalled(plan, acknowledged).totals)
    limit = DEADLINE_SECONDS if fault.goes_on else end - start + DEADLINE_SECONDS
    assert seen.gap < limit + SLACK_SECONDS, f"{seen.gap:.1f} s without an acknowledgement: {seen}"
    return seen


# -- relays --------------------------------------------------------------------------------------


class RunningRelay:
    """A relay, its collector, and their files on a small disk."""

    def __init__(self, stack: ExitStack, folder: Path) -> None:
        self.disk = stack.enter_context(fault_sites.small_disk(folder / "disk"))
        self.site, self.clock, self._port = RelayedSite(self.disk), folder / "clock", free_port()
        self._settings = self.site.settings(f"http://127.0.0.1:{self._port}")
        self._log, self._stack = folder / "relay.log", stack
        self.base, self.collector = stack.enter_context(self.site.collector(self._port))
        self.start()

    def start(self) -> None:
        prelude = f"{fault_sites.shifted_clock(self.clock)}\n{SHORT_PAUSE}"
        self.relay = self._stack.enter_context(relay(self._settings, HOUR_SECONDS, self._log, prelude))

    def signal(self, process: int, number: int) -> None:
        for each in (process, *children_of(process)):
            os.kill(each, number)

    def post(self, message: bytes) -> bool:
        try:
            return send(self.site.url, message)[0] == 202
        except (OSError, HTTPException):
            return False


@contextmanager
def kill_relay(running: RunningRelay) -> Iterator[None]:
    running.signal(running.relay.pid, signal.SIGKILL)
    yield
    running.start()


@contextmanager
def hang_relay(running: RunningRelay) -> Iterator[None]:
    running.signal(running.relay.pid, signal.SIGSTOP)
    yield
    running.signal(running.relay.pid, signal.SIGCONT)


@contextmanager
def hang_collector(running: RunningRelay) -> Iterator[None]:
    running.signal(running.collector.pid, signal.SIGSTOP)
    yield
    running.signal(running.collector.pid, signal.SIGCONT)


@contextmanager
def full_relay(running: RunningRelay) -> Iterator[None]:
    fill_disk(running.disk)
    yield
    (running.disk / "filler").unlink()


@contextmanager
def wrong_relay_clock(running: RunningRelay) -> Iterator[None]:
    for days in (1, -1):
        running.clock.write_text(str(days * _DAY))
        time.sleep(1)
    yield
    running.clock.unlink()


RELAY_FAULTS: dict[str, Callable[[RunningRelay], AbstractContextManager[None]]] = {
    "kill the relay": kill_relay,
    "hang the relay": hang_relay,
    "hang its collector": hang_collector,
    "fill the disk": full_relay,
    "change the clock": wrong_relay_clock,
}


def run_relay(folder: Path, name: str, seconds: float = SHORT_SECONDS) -> Seen:
    """Let a fault of a relay happen while messages arrive; what it took is counted once, or still waits."""
    with ExitStack() as stack:
        running = RunningRelay(stack, folder)
        site = running.site
        reports = [relayed_reports(site.plan) for _ in range(MESSAGES)]
        ids = {seal_envelope(site.plan, each): {unpack(report).id for report in each} for each in reports}
        load, watch = SteadyLoad(running.post, list(ids)), ReadyWatch(running.base)
        try:
            time.sleep(CALM_SECONDS)
            start = time.monotonic()
            with RELAY_FAULTS[name](running):
                time.sleep(seconds)
            time.sleep(CALM_SECONDS)
            load.finish()
            wait_for(lambda: watch.now == "ready")
            wait_for(lambda: site.counts()["waiting"] < 2 * BATCH and site.counts()["leaving"] == 0)
        finally:
            load.stop()
            watch.stop()
        acknowledged = {each for message in load.acknowledged for each in ids[message]}
        counted, waiting = ids_of(site.store, site.plan), site.counts()["waiting"]
        seen = Seen(len(acknowledged), len(counted), load.longest_gap(start), watch.words)
        assert counted <= acknowledged, f"a report is counted that was not acknowledged: {seen}"
        assert len(counted) + waiting == len(acknowledged), f"{waiting} wait: {seen}"
    return seen


def every() -> Iterator[tuple[str, Trial]]:
    print("observed: acknowledged, counted, seconds without an acknowledgement, /readyz")
    for fault in FAULTS:
        yield f"{fault.name}, {fault.store}", lambda folder, fault=fault: str(run(folder, fault))  # type: ignore[misc]
    for name in RELAY_FAULTS:
        yield f"{name}, relay", lambda folder, name=name: str(run_relay(folder, name))  # type: ignore[misc]
