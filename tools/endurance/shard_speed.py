"""Measure one question on one node of a cluster, and on three: `python -m tools.endurance.shard_speed`.

The reports of a survey with one question, a million by default, are counted 1,000 per request, with one
sub-shard and with three in turn. Memory is that of the node's data, above an empty node.
"""

from __future__ import annotations

import sys
import tempfile
import time
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

from benchmarks.synthetic_archives import make_reports
from encoders.survey import Plan, read_survey
from ldp_aggregator.collector.intake import Intake
from ldp_aggregator.snapshot import take_snapshot
from ldp_aggregator.snapshot_entries import counter_names
from ldp_aggregator.stores import open_store
from ldp_aggregator.stores.group_commit import GroupCommit
from ldp_aggregator.stores.shards import fix_shards
from tests.support.servers import ClusterNode, emptied, redis_nodes

REPORTS = 1_000_000
PER_REQUEST = 1_000
ROUNDS = 2
SURVEY = '[survey]\nid = "one"\nepsilon = 1\n[features.only]\nvalues = ["u", "v", "w"]\n'
LINE = "{:>10} {:>12} {:>10} {:>24} {:>24}"


def main(count: int) -> None:
    plan = read_survey(SURVEY).compile()
    reports = make_reports(plan, count)
    bodies = [b"".join(reports[at : at + PER_REQUEST]) for at in range(0, count, PER_REQUEST)]
    print(LINE.format("sub-shards", "reports/s", "counted", "ids of the nodes", "memory of the nodes"))
    with tempfile.TemporaryDirectory() as folder, redis_nodes(Path(folder)) as nodes:
        for _ in range(ROUNDS):
            for shards in (1, 3):
                with emptied(nodes):
                    print(LINE.format(shards, *measure(nodes, plan, bodies, shards)), flush=True)


def measure(nodes: Sequence[ClusterNode], plan: Plan, bodies: Sequence[bytes], shards: int) -> list[str]:
    """Return reports per second, the number of counted reports, and the nodes' shares of ids and memory."""
    before = [node.client.info("memory")["used_memory"] for node in nodes]
    with closing(open_store(nodes[0].url)) as store:
        store.publish(plan.id, plan.json, counter_names(plan, fix_shards(store, plan.id, shards)))
        intake = Intake(plan, store, GroupCommit(store))
        start = time.perf_counter()
        for body in bodies:
            intake.record_body(body)
        seconds = time.perf_counter() - start
        counted = take_snapshot(store, plan.id).total()
    ids = [sum(map(node.client.hlen, node.client.keys("*:ids"))) for node in nodes]
    used = [node.client.info("memory")["used_memory"] - old for node, old in zip(nodes, before, strict=True)]
    return [f"{counted / seconds:,.0f}", f"{counted:,}", _shares(ids), _shares(used)]


def _shares(numbers: Sequence[int]) -> str:
    return ", ".join(f"{number / sum(numbers):.1%}" for number in numbers)


if __name__ == "__main__":
    main(int(sys.argv[1]) if sys.argv[1:] else REPORTS)
