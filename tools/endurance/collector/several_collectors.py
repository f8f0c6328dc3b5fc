"""Two collectors on one store, and a cluster that loses a shard."""

from __future__ import annotations

import random
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

import redis

from encoders.report import unpack
from encoders.survey import Plan
from ldp_aggregator.stores import Total
from tests.support.servers import ClusterNode, KillableCollector, redis_nodes, redis_server, wait_for
from tools.endurance.collector.posting import Client, Crowd, deliver, talk
from tools.endurance.collector.reports import (
    SURVEY,
    into_bodies,
    make_reports,
    plan_of,
    require_equal,
    totals_of,
)


@contextmanager
def shared_store(folder: Path, kind: str) -> Iterator[str]:
    if kind == "cluster":
        with redis_nodes(folder) as nodes:
            yield nodes[0].url
    else:
        with redis_server(folder) as url:
            yield url


def several(folder: Path, url: str, reports: int, largest: int = 100) -> Counter[str]:
    """Two collectors on one store: half of the reports go to both at first, then all of them do."""
    plan, rng = plan_of(), random.Random(reports)
    sent = make_reports(plan, reports, seed=5)
    survey = folder / "survey.toml"
    survey.write_text(SURVEY)
    with ExitStack() as stack:
        collectors = [KillableCollector(survey, url, folder / f"{n}.log", workers=1) for n in range(2)]
        for collector in collectors:
            stack.callback(collector.stop)
            collector.launch()
        for collector in collectors:
            collector.wait()
        third = reports // 3
        shares = [sent.reports[: 2 * third], sent.reports[third:]]
        crowds = [
            Crowd([collector.base], into_bodies(rng.sample(share, len(share)), largest, rng))
            for collector, share in zip(collectors, shares, strict=True)
        ]
        seen = sum((crowd.join() for crowd in crowds), Counter[str]())
        assert seen == {"recorded": reports, "duplicate": third}, seen
        for collector in collectors:
            again = deliver(collector.base, into_bodies(sent.reports, largest, rng))
            assert again == {"duplicate": reports}, again
            seen += again
        require_equal(totals_of(url), sent.totals)
    return seen


# -- 6. a cluster loses a shard -------------------------------------------------------------------


@dataclass
class Loss:
    """Number of unreachable questions, the responses to their reports meanwhile, and response times."""

    lost: int
    others: int
    refused: int
    slowest: float


def shard_loss(folder: Path, nodes: Sequence[ClusterNode], reports: int, turns: int = 1) -> Loss:
    """Kill one primary without a replica: reports of its questions wait, the others are counted."""
    plan, rng = plan_of(), random.Random(reports)
    survey = folder / "survey.toml"
    survey.write_text(SURVEY)
    collector = KillableCollector(survey, nodes[0].url, folder / "collector.log", workers=1)
    try:
        collector.start()
        # all workers: a later one may need the lost node to start
        wait_for(lambda: _ready(collector.port))
        expected: dict[str, Total] = {}
        found = Loss(0, 0, 0, 0.0)
        for turn in range(turns):
            sent = make_reports(plan, reports, seed=turn)
            for key, total in sent.totals.items():
                expected[key] = expected[key] + total if key in expected else total
            shards = {
                index: next(node for node in nodes if _keeps(node, plan, index))
                for index in range(len(plan.questions))
            }
            victim = shards[rng.randrange(len(shards))]
            wait_for(lambda: all(node.sees_all() for node in nodes))
            victim.kill()
            found.lost = sum(node is victim for node in shards.values())
            found.others = len(shards) - found.lost
            left = []
            client = Client(collector.base)
            for report in sent.reports:
                start = time.monotonic()
                gone = shards[unpack(report).question] is victim
                status, response = client.post(report) if gone else client.deliver(report)
                found.slowest = max(found.slowest, time.monotonic() - start)
                if gone:
                    assert (status, response["reason"], response["retryable"]) == (
                        503,
                        "store-unavailable",
                        True,
                    ), (status, response)
                    found.refused += 1
                    left.append((1, report))
                else:
                    assert response == {"status": "recorded"}, response
            client.close()
            victim.start()
            deliver(collector.base, left)
            assert deliver(collector.base, [(reports, b"".join(sent.reports))]) == {"duplicate": reports}
        require_equal(totals_of(nodes[0].url), expected)
    finally:
        collector.stop()
    return found


def _ready(port: int) -> bool:
    return talk(port, b"GET /readyz HTTP/1.1\r\nHost: x\r\n\r\n").startswith(b"HTTP/1.1 200")


def _keeps(node: ClusterNode, plan: Plan, index: int) -> bool:
    """Return whether a node itself holds the keys of a question."""
    try:
        node.client.exists(f"ldp:{{{plan.id}:{plan.questions[index].key}}}:ids")
    except redis.exceptions.MovedError:
        return False
    return True
