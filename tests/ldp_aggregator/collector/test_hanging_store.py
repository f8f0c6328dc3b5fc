"""A running collector of whose Redis Cluster one node hangs: the one with the opening times."""

import signal
import threading
import time
from collections.abc import Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from encoders.report import MEDIA_TYPE
from encoders.survey import Plan
from ldp_aggregator.collector.settings import CollectorSettings
from ldp_aggregator.collector.startup import publish_surveys
from ldp_aggregator.reports.batch_reader import BatchReader
from ldp_aggregator.stores.redis import RedisStore
from ldp_aggregator.stores.shards import read_shards
from ldp_client import make_report
from tests.ldp_aggregator.collector.conftest import REPORTS, ROW, ask
from tests.support.servers import ClusterNode, collector, wait_for

pytestmark = pytest.mark.slow


def test_the_other_nodes_go_on_while_the_node_with_the_opening_times_hangs(
    survey: Path, plan: Plan, cluster_nodes: Sequence[ClusterNode]
):
    url, reader, took = f"{cluster_nodes[0].url}?socket_timeout=10", BatchReader(plan), []
    store = RedisStore(url)
    name = store._servers.node_of_key("ldp:windows")["target_nodes"].name
    (hanging,) = (node for node in cluster_nodes if name.endswith(f":{node.port}"))
    elsewhere = {each.key for each in plan.questions if store.server_of(plan.id, each.key) != name}
    store.close()
    assert elsewhere

    def post(end: float) -> None:
        while time.monotonic() < end or len(took) <= 20:
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
        assert {status for status, _ in took} == {200}
        assert max(seconds for _, seconds in took) < 10  # one that waits for the node waits for 10 s
        wait_for(lambda: ask(f"{base}/readyz")[0] == 200)
    wait_for(lambda: all(node.sees_all() for node in cluster_nodes))


def test_a_worker_starts_while_a_node_without_plans_hangs(survey: Path, cluster_nodes: Sequence[ClusterNode]):
    url = f"{cluster_nodes[0].url}?socket_timeout=0.3"
    published = publish_surveys(CollectorSettings(surveys=(survey,), store=url, operator_token="a-token"))
    store = RedisStore(url)
    needed = {store._servers.node_of_key(key)["target_nodes"].port for key in ("ldp:plans", "ldp:windows")}
    store.close()
    hanging = next(node for node in cluster_nodes[1:] if node.port not in needed)
    hanging.signal(signal.SIGSTOP)
    try:
        app = published.make_app()
        reports = [make_report(plan, ROW, "yes") for plan in published.plans for _ in range(40)]
        send = app.test_client().post
        statuses = {send(REPORTS, data=each, content_type=MEDIA_TYPE).status_code for each in reports}
        app.extensions["ldp"].store.close()
    finally:
        hanging.signal(signal.SIGCONT)
    assert 200 in statuses <= {200, 503}
    wait_for(lambda: all(node.sees_all() for node in cluster_nodes))


def test_surveys_that_are_published_keep_their_number_of_sub_shards(
    tmp_path: Path, cluster_nodes: Sequence[ClusterNode], caplog: pytest.LogCaptureFixture
):
    paths = []
    for name in ("first", "second"):
        paths.append(tmp_path / f"{name}.toml")
        paths[-1].write_text(f'survey = {{id = "{name}", epsilon = 1}}\nfeatures.tea.values = ["a", "b"]\n')
    settings = CollectorSettings(surveys=(paths[0],), store=cluster_nodes[0].url, operator_token="a-token")
    publish_surveys(settings)
    publish_surveys(replace(settings, surveys=tuple(reversed(paths)), shards=3))
    assert "shards-kept" in caplog.text
    with closing(RedisStore(settings.store)) as store:
        assert [read_shards(store, each) for each in ("first", "second")] == [1, 3]
