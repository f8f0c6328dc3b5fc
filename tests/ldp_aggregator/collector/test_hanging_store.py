"""A running collector of whose Redis Cluster one node hangs: the one with the opening times."""

import signal
import threading
import time
from collections.abc import Sequence
from pathlib import Path

import pytest

from encoders.survey import Plan
from ldp_aggregator.reports.batch_reader import BatchReader
from ldp_aggregator.stores.redis import RedisStore
from ldp_client import make_report
from tests.ldp_aggregator.collector.conftest import REPORTS, ROW, ask
from tests.support.servers import ClusterNode, collector, wait_for

pytestmark = pytest.mark.slow


def test_the_other_nodes_go_on_while_the_node_with_the_opening_times_hangs(
    survey: Path, plan: Plan, cluster_nodes: Sequence[ClusterNode]
):
    url, reader, took = cluster_nodes[0].url, BatchReader(plan), []
    store = RedisStore(url)
    name = store._servers.node_of_key("ldp:windows")["target_nodes"].name
    (hanging,) = (node for node in cluster_nodes if name.endswith(f":{node.port}"))
    elsewhere = {each.key for each in plan.questions if store.server_of(plan.id, each.key) != name}
    store.close()
    assert elsewhere

    def post(end: float) -> None:
        while time.monotonic() < end:
            report = make_report(plan, ROW, "yes")
            batches, _ = reader.read(report)
            begin = time.monotonic()
            status, _ = ask(f"{base}{REPORTS}", report)
            if {batch.question.key for batch in batches if len(batch.positions)} <= elsewhere:
                took.append((status, time.monotonic() - begin))

    with collector([survey], url) as (base, _):
        assert ask(f"{base}{REPORTS}", make_report(plan, ROW, "yes"))[0] == 200
        time.sleep(2.1)  # the opening times are read again at the next request
        hanging.signal(signal.SIGSTOP)
        try:
            threads = [threading.Thread(target=post, args=(time.monotonic() + 14,)) for _ in range(8)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
        finally:
            hanging.signal(signal.SIGCONT)
        assert len(took) > 20
        assert {status for status, _ in took} == {200}
        assert max(seconds for _, seconds in took) < 2.5  # one that waits for the node waits for 5 s
        wait_for(lambda: ask(f"{base}/readyz")[0] == 200)
    wait_for(lambda: all(node.sees_all() for node in cluster_nodes))
