"""Run a cluster on this machine for a minute: three Redis nodes, two collectors, nginx, and devices.

Meanwhile one node is killed and started again, and another one hangs. At the end each acknowledged report
must be counted once. `make cluster-demo` runs it; deploy/cluster/compose.yaml starts the same servers.
"""

from __future__ import annotations

import random
import signal
import tempfile
import time
from contextlib import ExitStack
from functools import partial
from pathlib import Path

from encoders.report import iterate_reports, unpack
from tests.support.servers import ClusterNode, KillableCollector, front_proxy, redis_nodes, wait_for
from tools.endurance.collector.posting import post_once
from tools.endurance.collector.reports import (
    SURVEY,
    ids_of,
    into_bodies,
    make_reports,
    plan_of,
    require_equal,
    totalled,
    totals_of,
)
from tools.endurance.collector.steady_load import SteadyLoad

REPORTS = 60_000
SECONDS = 60.0


def run(folder: Path, seconds: float = SECONDS) -> int:
    """Run the demo for some seconds; return the number of reports, each counted once."""
    plan = plan_of()
    reports = make_reports(plan, REPORTS, seed=3).reports
    bodies = [body for _, body in into_bodies(reports, 5, random.Random(3))]
    survey = folder / "survey.toml"
    survey.write_text(SURVEY)
    with ExitStack() as stack:
        nodes = stack.enter_context(redis_nodes(folder))
        options = ("--shards", "3", "--trusted-proxy", "127.0.0.1")
        collectors = [
            KillableCollector(survey, nodes[0].url, folder / f"collector-{number}.log", options=options)
            for number in range(2)
        ]
        for collector in collectors:
            stack.callback(collector.stop)
            collector.start()
        base = stack.enter_context(front_proxy(folder, [collector.port for collector in collectors]))
        print(f"three Redis nodes, two collectors, and nginx at {base}", flush=True)
        load = SteadyLoad(partial(post_once, base), bodies, seconds / 6)
        try:
            _disturb(load, nodes, seconds / 6)
            load.finish()
        finally:
            load.stop()
        wait_for(lambda: all(node.sees_all() for node in nodes))
        acknowledged = [each for body in load.acknowledged for each in iterate_reports(body)]
        counted, expected = ids_of(nodes[0].url, plan), {unpack(each).id for each in acknowledged}
        assert counted == expected, "not the acknowledged reports are counted"
        require_equal(totals_of(nodes[0].url), totalled(plan, acknowledged).totals)
        shares = [_count_ids(node) / len(counted) for node in nodes]
    print(f"{len(acknowledged):,} reports acknowledged, and each is counted once")
    print(f"shares of the nodes: {', '.join(f'{share:.0%}' for share in shares)}")
    return len(counted)


def _disturb(load: SteadyLoad, nodes: list[ClusterNode], pause: float) -> None:
    """Kill a node and start it again, then stop another one for a while; print what goes on meanwhile."""
    time.sleep(pause)
    before = _report("all nodes work", load, 0)
    nodes[2].kill()
    time.sleep(pause)
    before = _report("one node is killed", load, before)
    nodes[2].start()
    time.sleep(pause)
    before = _report("it works again", load, before)
    nodes[1].signal(signal.SIGSTOP)
    time.sleep(pause)
    before = _report("another node hangs", load, before)
    nodes[1].signal(signal.SIGCONT)
    time.sleep(2 * pause)
    _report("it works again", load, before)


def _report(what: str, load: SteadyLoad, before: int) -> int:
    now = len(load.acknowledged)
    print(f"{what}: {now - before:,} requests acknowledged", flush=True)
    return now


def _count_ids(node: ClusterNode) -> int:
    return sum(map(node.client.hlen, node.client.keys("*:ids")))


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as name:
        run(Path(name))
