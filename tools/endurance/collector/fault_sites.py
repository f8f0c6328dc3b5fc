"""Collectors on each kind of store, for the faults of tools/endurance/fault_trials.py."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from tests.support.forwarder import Forwarder
from tests.support.servers import TOKEN, ClusterNode, KillableCollector, TcpRedis, redis_nodes, wait_for
from tools.endurance.collector.reports import SURVEY

DISK_SIZE = "16m"


@dataclass
class Site:
    """A collector, its store, and what a fault may break."""

    collector: KillableCollector
    url: str
    """Of the store, past the address that the collector uses."""
    clock: Path
    """The file with the number of seconds by which the collector's clock is wrong."""
    disk: Path
    """The folder of the store's files."""
    servers: list[TcpRedis] = field(default_factory=list)
    """The Redis servers; the last one is that which fails."""
    address: Forwarder | None = None
    namespace: str = ""
    """The network namespace of the last server."""


def shifted_clock(clock: Path) -> str:
    """Return Python that shifts a process's clock by the number of seconds in a file, if there is one."""
    return f"""
import time
def _now(true=time.time):
    try:
        with open({str(clock)!r}) as file:
            return true() + float(file.read())
    except (OSError, ValueError):
        return true()
time.time = _now
"""


@contextmanager
def _serve(folder: Path, disk: Path, store: str, url: str, prelude: str) -> Iterator[Site]:
    survey, clock = folder / "survey.toml", folder / "clock"
    survey.write_text(SURVEY)
    prelude = f"{shifted_clock(clock)}\n{prelude}"
    collector = KillableCollector(survey, store, folder / "collector.log", prelude=prelude)
    try:
        collector.start()
        wait_for(lambda: len(collector.workers()) == 2)
        yield Site(collector, url, clock, disk)
    finally:
        collector.stop()


@contextmanager
def sqlite(folder: Path, prelude: str = "") -> Iterator[Site]:
    with small_disk(folder / "disk") as disk:
        url = f"sqlite:///{disk}/store.db"
        with _serve(folder, disk, url, url, prelude) as site:
            yield site


@contextmanager
def single_redis(folder: Path, prelude: str = "") -> Iterator[Site]:
    with (
        small_disk(folder / "disk") as disk,
        TcpRedis(disk / "redis") as server,
        _serve(folder, disk, server.url, server.url, prelude) as site,
    ):
        site.servers = [server]
        yield site


@contextmanager
def replicated_redis(folder: Path, prelude: str = "") -> Iterator[Site]:
    """Serve a primary with a replica; the collector uses an address that can be pointed to either."""
    with (
        TcpRedis(folder / "new") as new,
        TcpRedis(folder / "old") as old,
        Forwarder(old.port) as address,
    ):
        new.client.replicaof("127.0.0.1", old.port)
        wait_for(lambda: new.client.info("replication")["master_link_status"] == "up")
        store = f"redis://:{TOKEN}@127.0.0.1:{address.port}"
        with _serve(folder, folder, store, new.url, prelude) as site:
            site.servers, site.address = [new, old], address
            yield site


@contextmanager
def distant_redis(folder: Path, prelude: str = "") -> Iterator[Site]:
    with (
        network_namespace() as (name, _, inside),
        TcpRedis(folder / "redis", host=inside, namespace=name) as server,
        _serve(folder, folder, server.url, server.url, prelude) as site,
    ):
        site.servers, site.namespace = [server], name
        yield site


@contextmanager
def cluster(
    folder: Path, prelude: str = "", host: str = "127.0.0.1", inside: str = "127.0.0.1", namespace: str = ""
) -> Iterator[Site]:
    """Serve a cluster of three, the last of which may be in a network namespace."""
    with (
        redis_nodes(folder, [(host, ""), (host, ""), (inside, namespace)]) as nodes,
        _serve(folder, folder, nodes[0].url, nodes[0].url, prelude) as site,
    ):
        site.servers, site.namespace = list(nodes), namespace
        yield site


@contextmanager
def distant_cluster(folder: Path, prelude: str = "") -> Iterator[Site]:
    """Serve a cluster, one node of which is in a network namespace."""
    with (
        network_namespace() as (name, outside, inside),
        cluster(folder, prelude, outside, inside, name) as site,
    ):
        yield site


# -- what the sites need -------------------------------------------------------------------------


def _run(*words: str) -> bool:
    return shutil.which(words[0]) is not None and not subprocess.run(words, capture_output=True).returncode


@contextmanager
def small_disk(folder: Path) -> Iterator[Path]:
    """Mount a small file system. Skips if the user may not mount."""
    folder.mkdir()
    if not _run("mount", "-t", "tmpfs", "-o", f"size={DISK_SIZE}", "tmpfs", str(folder)):
        pytest.skip("needs the right to mount a tmpfs")
    try:
        yield folder
    finally:
        _run("umount", "--lazy", str(folder))


@contextmanager
def network_namespace() -> Iterator[tuple[str, str, str]]:
    """Make a network namespace; yield its name, and the addresses outside and inside. Skips without root."""
    name = f"ldp{os.getpid()}"
    net = f"10.213.{os.getpid() % 250}"
    if not _run("ip", "netns", "add", name):
        pytest.skip("needs the right to make a network namespace, and iproute2")
    try:
        link = f"l{os.getpid()}"
        for words in (
            f"ip link add {link} type veth peer name inner netns {name}",
            f"ip addr add {net}.1/30 dev {link}",
            f"ip link set {link} up",
            f"ip -n {name} addr add {net}.2/30 dev inner",
            f"ip -n {name} link set inner up",
            f"ip -n {name} link set lo up",
        ):
            if not _run(*words.split()):
                pytest.skip(f"cannot run: {words}")
        yield name, f"{net}.1", f"{net}.2"
    finally:
        _run("ip", "netns", "del", name)


def cut_network(site: Site) -> None:
    """Drop all that the last server sends: it still receives, and counts, what it cannot acknowledge."""
    assert _run("ip", "-n", site.namespace, "route", "add", "blackhole", _outside(site))


def mend_network(site: Site) -> None:
    assert _run("ip", "-n", site.namespace, "route", "del", "blackhole", _outside(site))


def _outside(site: Site) -> str:
    return f"{site.servers[-1].host.rpartition('.')[0]}.1/32"


def fill_disk(disk: Path) -> None:
    with suppress(OSError), (disk / "filler").open("wb", buffering=0) as filler:
        while True:
            filler.write(bytes(4096))


def sees_whole_cluster(site: Site) -> bool:
    return all(node.sees_all() for node in site.servers if isinstance(node, ClusterNode))
