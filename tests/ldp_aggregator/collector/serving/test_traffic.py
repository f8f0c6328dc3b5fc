"""Counts of requests: complete, shared by processes, and never lower than before."""

import os
import signal
import threading
from collections import Counter
from math import inf
from urllib.error import URLError

import pytest
from prometheus_client.parser import text_string_to_metric_families
from prometheus_client.samples import Sample

from ldp_aggregator.collector import create_app
from ldp_aggregator.collector.serving.traffic import RESTARTS, ROUTES, STATUSES, Traffic
from ldp_aggregator.collector.settings import CollectorSettings
from ldp_aggregator.stores import MemoryStore
from ldp_client import make_report
from tests.ldp_aggregator.collector.conftest import REPORTS, ROW, SHORT_RETRY, ask
from tests.support.servers import TOKEN, collector, free_port, wait_for, workers_of


def test_every_view_is_a_route_and_no_other():
    app = create_app(CollectorSettings(page=True), MemoryStore())
    views = {rule.endpoint.rpartition(".")[2] for rule in app.url_map.iter_rules()}
    assert ROUTES.keys() == views | {"unknown"}


def test_threads_count_completely():
    traffic = Traffic()

    def count() -> None:
        for _ in range(2_000):
            traffic.add("reports", "200", 0.01)
            traffic.add("a-path", "418", 9.0)

    threads = [threading.Thread(target=count) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    requests = {("reports", "200"): 8_000, ("unknown", "other"): 8_000}
    durations = {("reports", 0.025): 8_000, ("unknown", inf): 8_000}
    assert {key: count for key, count in traffic.totals().items() if count} == requests | durations


@pytest.mark.slow
def test_processes_count_together_and_a_row_is_used_again():
    master = Traffic(rows=3)
    rows = [master.take_row(), master.take_row()]
    assert sorted(rows) == [1, 2]
    assert master.take_row() == 0  # more workers than rows share one
    for row in (*rows, rows[0]):  # the third process takes the row of the first
        child = os.fork()
        if child == 0:
            traffic = Traffic()
            traffic.use_row(master, row)
            for _ in range(100):
                traffic.add("reports", "200", 0.01)
            os._exit(0)
        os.waitpid(child, 0)
        assert child in master.processes()
        master.release_row(row, restart=True)
    assert master.totals()["reports", "200"] == 300
    assert (master.totals()[RESTARTS], master.processes()) == (3, [])


def test_statuses_are_a_fixed_set():
    assert len(set(STATUSES)) == len(STATUSES)
    traffic = Traffic()
    for status in range(100, 600):
        traffic.add("livez", str(status), 0.0)
    counted = {status: traffic.totals()["livez", status] for status in STATUSES}
    assert counted == dict.fromkeys(STATUSES, 1) | {"other": 500 - len(STATUSES) + 1}


def samples(base: str) -> Counter[str]:
    """Return the samples of a collector's metrics that its processes count."""
    text = ask(f"{base}/metrics", token=TOKEN)[1].decode()
    families = text_string_to_metric_families(text)
    return Counter({name_of(each): each.value for family in families for each in family.samples})


def name_of(sample: Sample) -> str:
    """Return the name and the labels of a sample."""
    return " ".join([sample.name, *(f"{key}={value}" for key, value in sorted(sample.labels.items()))])


@pytest.mark.slow
def test_counts_of_all_workers_survive_kills_and_reloads(survey, url):
    with collector([survey], url, workers=2, prelude=SHORT_RETRY) as (base, process):
        wait_for(lambda: samples(base)["ldp_workers"] == 2)

        def post(count: int) -> None:
            for _ in range(count):
                assert ask(f"{base}{REPORTS}", b"junk")[0] == 400

        rejected = "ldp_requests_total route=reports status=400"
        post(20)
        assert samples(base)[rejected] == 20  # whichever worker answers
        first = workers_of(process)
        assert samples(base)["ldp_memory_bytes"] > 20 << 20
        os.kill(first[0], signal.SIGKILL)
        wait_for(lambda: answered(base)["ldp_worker_restarts_total"] == 1)
        wait_for(lambda: answered(base)["ldp_workers"] == 2)
        post(20)
        assert samples(base)[rejected] == 40
        process.send_signal(signal.SIGHUP)
        wait_for(lambda: not set(first) & set(workers_of(process)) and answered(base)["ldp_workers"] == 2)
        post(20)
        found = samples(base)
        assert (found[rejected], found["ldp_worker_restarts_total"]) == (60, 1)  # a reload is no restart
        assert found["ldp_request_seconds_bucket class=reports le=+Inf"] == 60


def answered(base: str) -> Counter[str]:
    """Return the samples, or none while a worker that ends refuses the connection."""
    try:
        return samples(base)
    except (URLError, ConnectionError):
        return Counter()


HANGING = """
import pathlib, time
from ldp_aggregator.stores.sqlite import SQLiteStore
SQLiteStore.record = lambda *_: [time.sleep(0.05) for _ in iter(pathlib.Path("{}").exists, True)]
"""


@pytest.mark.slow
def test_metrics_at_the_separate_address_are_quick_while_every_thread_waits_for_the_store(
    survey, url, plan, tmp_path
):
    port, ended = free_port(), tmp_path / "ended"
    options = ("--operator-bind", f"127.0.0.1:{port}", "--threads", "2")
    prelude = HANGING.format(ended)
    with collector([survey], url, workers=1, options=options, prelude=prelude) as (base, _):
        report = make_report(plan, ROW, "yes")
        waiting = [
            threading.Thread(target=lambda: ask(f"{base}{REPORTS}", report), daemon=True) for _ in range(4)
        ]
        for thread in waiting:
            thread.start()
        found = samples(f"http://127.0.0.1:{port}")
        assert found["ldp_workers"] == 1
        assert all(thread.is_alive() for thread in waiting)
        ended.touch()
