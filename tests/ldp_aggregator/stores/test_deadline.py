"""Every call of a store has one deadline, also if a server hangs or another process holds the file's lock."""

import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, suppress
from pathlib import Path

import numpy as np
import pytest

from ldp_aggregator.stores import Batch, Store, StoreError, StoreFailure, StorePolicy, open_store
from ldp_aggregator.stores.group_commit import GroupCommit
from ldp_aggregator.stores.redis import RedisStore
from ldp_aggregator.stores.store import SCHEDULES, TEXTS
from tests.ldp_aggregator.stores.conftest import StartRedis
from tests.support.batches import batch, is_ready
from tests.support.servers import ClusterNode, wait_for
from tests.support.threads import in_threads

pytestmark = pytest.mark.slow

DEADLINE = 0.5
SLACK = 0.4
"""What a busy machine may add, in seconds; a second try would take another deadline."""
QUESTIONS = [f"q{number}" for number in range(12)]
"""So many that each of three nodes has some, but for one cluster in 100."""
ONE = np.array([1])


def report(question: str, number: int = 1) -> Batch:
    return batch("sleep", question, {number.to_bytes(16, "big"): bytes(8)}, ONE)


CALLS: dict[str, Callable[[Store], object]] = {
    "plans": lambda store: store.plans(),
    "publish": lambda store: store.publish("sleep", b"{}", QUESTIONS),
    "publish another plan": lambda store: store.publish("unused", b"[]", QUESTIONS),
    "set_texts": lambda store: store.set_note(TEXTS, "sleep", b"{}"),
    "texts": lambda store: store.notes(TEXTS),
    "set_schedule": lambda store: store.set_note(SCHEDULES, "sleep", b"{}"),
    "schedules": lambda store: store.notes(SCHEDULES),
    "record": lambda store: store.record([report(each, 2) for each in QUESTIONS]),
    "find_recorded": lambda store: store.find_recorded("sleep", dict.fromkeys(QUESTIONS, report("q0").ids)),
    "totals": lambda store: store.totals("sleep"),
    "report_ids": lambda store: [list(store.report_ids("sleep", each)) for each in QUESTIONS],
    "add_rejections": lambda store: store.add_rejections("sleep", "malformed"),
    "rejections": lambda store: store.rejections("sleep"),
    "check_ready": lambda store: store.check_ready(),
    "check_durability": lambda store: store.check_durability(StorePolicy(allow_open=True)),
}


@pytest.fixture(autouse=True)
def short_deadline(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ldp_aggregator.stores.redis_servers.TIMEOUT_SECONDS", DEADLINE)
    monkeypatch.setattr("ldp_aggregator.stores.sqlite_file._BUSY_SECONDS", DEADLINE)


def prepared(store: Store) -> Store:
    """Publish surveys, and count a report of each question."""
    for survey in ("sleep", "unused"):
        store.publish(survey, b"{}", QUESTIONS)
        store.require_survey(survey, b"{}", QUESTIONS)
    store.record([report(each) for each in QUESTIONS])
    return store


def seconds_of(call: Callable[[], object], limit: float) -> float:
    """Return the seconds of a call; after `limit` try again up to ten times, if a busy machine delayed it."""
    for _ in range(10):
        start = time.monotonic()
        with suppress(StoreError):
            call()
        if (seconds := time.monotonic() - start) < limit:
            break
    return seconds


def assert_calls_end_in_time(store: Store) -> None:
    for name, call in CALLS.items():
        # marks that were removed are set again
        limit = DEADLINE * (2 if name == "publish another plan" else 1) + SLACK
        assert seconds_of(lambda call=call: call(store), limit) < limit, name


@pytest.fixture
def hanging_node(cluster_nodes: Sequence[ClusterNode]) -> Iterator[ClusterNode]:
    """Return a node of a cluster that the test may stop; it continues afterwards."""
    node = cluster_nodes[1]
    yield node
    node.signal(signal.SIGCONT)
    wait_for(lambda: all(each.sees_all() for each in cluster_nodes))


def test_every_call_to_a_redis_that_hangs_ends_in_time(start_redis: StartRedis):
    server, store = start_redis()
    prepared(store)
    server.signal(signal.SIGSTOP)
    try:
        assert_calls_end_in_time(store)
        with pytest.raises(StoreError) as caught:
            store.check_ready()
        assert caught.value.reason == StoreFailure.TIMEOUT
    finally:
        server.signal(signal.SIGCONT)
    wait_for(lambda: is_ready(store))


def test_every_call_to_a_cluster_of_which_a_node_hangs_ends_in_time(hanging_node, cluster_store):
    prepared(cluster_store)
    hanging_node.signal(signal.SIGSTOP)
    assert_calls_end_in_time(cluster_store)
    hanging_node.signal(signal.SIGCONT)
    wait_for(lambda: is_ready(cluster_store))


def test_every_call_to_a_locked_sqlite_file_ends_in_time(tmp_path: Path):
    store = prepared(open_store(f"sqlite:///{tmp_path}/store.db"))
    with closing(sqlite3.connect(tmp_path / "store.db", isolation_level=None)) as other:
        other.execute("BEGIN EXCLUSIVE")
        assert_calls_end_in_time(store)
        with pytest.raises(StoreError) as caught:
            store.check_ready()
        assert caught.value.reason == StoreFailure.LOCKED
    assert is_ready(store)
    store.close()


HOLD_LOCK = """
import sqlite3, sys
connection = sqlite3.connect(sys.argv[1], isolation_level=None)
connection.execute("BEGIN IMMEDIATE")
print("locked", flush=True)
sys.stdin.readline()
connection.close()
"""


def test_no_report_is_lost_after_another_process_has_locked_the_file(tmp_path: Path):
    # closing a file releases all locks of a process: an error must not open and close the store's file
    path = tmp_path / "store.db"
    store = prepared(open_store(f"sqlite:///{path}"))
    words = [sys.executable, "-c", HOLD_LOCK, str(path)]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as other:
        assert other.stdout is not None
        assert other.stdout.readline()
        with pytest.raises(StoreError, match="locked"):
            store.record([report("q0", 2)])
        other.communicate("\n")
    assert path.with_name("store.db-wal").exists()
    store.record([report("q0", 2)])
    with closing(open_store(f"sqlite:///{path}")) as read:
        assert read.totals("sleep")["q0"].n == 2
    store.close()


def test_a_hanging_node_delays_only_the_questions_that_it_has(hanging_node, cluster_store, monkeypatch):
    prepared(cluster_store)
    group = GroupCommit(cluster_store)
    name = f"127.0.0.1:{hanging_node.port}"
    hanging = [each for each in QUESTIONS if cluster_store.server_of("sleep", each) == name]
    others = [each for each in QUESTIONS if each not in hanging]
    tried, failed, record = list[str](), list[str](), cluster_store.record

    def record_and_log(batches: Sequence[Batch]) -> object:
        tried.extend(batch.counter for batch in batches)
        return record(batches)

    def count_all(number: int) -> None:
        for question in QUESTIONS:
            try:
                group.record([report(question, number)])
            except StoreError:
                failed.append(question)

    monkeypatch.setattr(cluster_store, "record", record_and_log)
    hanging_node.signal(signal.SIGSTOP)
    in_threads(count_all, range(10, 14))
    assert sorted(failed) == sorted(4 * hanging)
    # one thread at a time waits for the node; without a memory of the failure, each would wait each time
    waited = [each for each in tried if each in hanging]
    assert 0 < len(waited) < 4 * len(hanging)
    assert sorted(set(tried) - set(hanging)) == sorted(others)
    totals = cluster_store_totals(cluster_store, hanging_node)
    assert {question: totals[question].n for question in others} == dict.fromkeys(others, 5)
    for number in range(10, 14):  # devices send again
        for question in QUESTIONS:
            group.record([report(question, number)])
    assert {each.n for each in cluster_store.totals("sleep").values()} == {5}


def test_one_thread_at_a_time_looks_for_tokens_on_a_node_that_hangs(hanging_node, cluster_store, monkeypatch):
    prepared(cluster_store)
    name = f"127.0.0.1:{hanging_node.port}"
    hanging = next(each for each in QUESTIONS if cluster_store.server_of("sleep", each) == name)
    hanging_node.signal(signal.SIGSTOP)
    group = GroupCommit(cluster_store)

    tries, failed, find = list[str](), list[int](), cluster_store.find_recorded

    def look(number: int) -> None:
        with pytest.raises(StoreError):
            group.find_recorded("sleep", {hanging: report(hanging).ids})
        failed.append(number)

    def find_until_the_others_have_failed(survey: str, ids: dict) -> object:
        tries.append(survey)
        try:
            return find(survey, ids)
        finally:
            wait_for(lambda: len(failed) == 8 or len(tries) > 1)

    look(0)
    with monkeypatch.context() as patch:
        patch.setattr(cluster_store, "find_recorded", find_until_the_others_have_failed)
        in_threads(look, range(1, 9))
    assert len(tries) == 1
    hanging_node.signal(signal.SIGCONT)
    wait_for(lambda: is_ready(cluster_store))
    assert group.find_recorded("sleep", {hanging: report(hanging).ids})[hanging]


def cluster_store_totals(store: RedisStore, node: ClusterNode) -> dict:
    """Let the node continue; return the totals."""
    node.signal(signal.SIGCONT)
    wait_for(lambda: is_ready(store))
    return store.totals("sleep")
