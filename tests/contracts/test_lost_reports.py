"""The contract of every store: one that has lost reports says so and counts nothing more there."""

import sqlite3
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing, nullcontext, suppress
from itertools import chain, combinations, product
from pathlib import Path

import numpy as np
import pytest
import redis

from ldp_aggregator import damage
from ldp_aggregator.damage import find_damage
from ldp_aggregator.stores import Batch, Store, StoreError, StoreFailure, StorePolicy, open_store
from ldp_aggregator.stores.failure import (
    CounterError,
    Loss,
    LostReportsError,
    MissingSurveyError,
    compare_numbers,
)
from tests.support.batches import batch, is_ready, record
from tests.support.servers import LocalRedis

SURVEY, COUNTER, OTHER, SUPPORT = "sleep-2026", "0123456789abcdef", "fedcba9876543210", "0123456789abcdef+"
COUNTERS = (COUNTER, OTHER, SUPPORT)
ONE = np.array([1], np.int64)
REPORTS = 1000


@pytest.fixture(autouse=True)
def counters_of_a_plan(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(damage, "stored_counters", lambda *_: COUNTERS)


def ids(*numbers: int) -> dict[bytes, bytes]:
    return {number.to_bytes(16, "big"): b"f" * 8 for number in numbers}


def filled(url: str) -> Store:
    store = open_store(url)
    store.publish(SURVEY, b"{}", COUNTERS)
    store.require_survey(SURVEY, b"{}", COUNTERS)
    record(store, SURVEY, COUNTER, ids(*range(REPORTS)), ONE * REPORTS)
    record(store, SURVEY, OTHER, ids(1), ONE)
    no_ids = np.empty((0, 16), np.uint8), np.empty((0, 8), np.uint8)
    store.record([Batch(SURVEY, SUPPORT, *no_ids, ONE * 7)])
    assert store.find_losses(SURVEY) == {}
    store.check_ready()
    return store


def assert_lost(store: Store, reports: int, lost_ids: int) -> None:
    """Require that the store knows its loss, and counts nothing more in this counter, but in others."""
    assert store.find_losses(SURVEY) == {COUNTER: Loss(reports, lost_ids)}
    for names in ((REPORTS + 1,), (1,)):  # a report that was counted is not acknowledged either
        with pytest.raises(StoreError) as caught:
            record(store, SURVEY, COUNTER, ids(*names), ONE)
        assert caught.value.reason == StoreFailure.REPORTS_LOST
    for number in (reports, lost_ids):
        assert not number or f"{number:,}" in str(caught.value)
    with pytest.raises(LostReportsError, match=r"--accept-loss"):
        store.check_ready()
    assert record(store, SURVEY, OTHER, ids(2), ONE) == {}
    assert store.totals(SURVEY)[OTHER].n == 2


def test_numbers_that_differ_are_a_loss():
    assert compare_numbers(5, 5, 5, 4) == Loss(0, 0)
    assert compare_numbers(5, 2) == Loss(3, 0)
    assert compare_numbers(2, 5) == Loss(0, 3)
    assert compare_numbers(1, 2, 5) == Loss(3, 4)
    for numbers in ((5, 2), (2, 5), (1, 2, 5), (0, 0, 9)):
        loss = compare_numbers(*numbers)
        assert loss.excess_ids == numbers[0] - numbers[1]


# -- Redis --------------------------------------------------------------------------------------

EVICTED = {
    "sums": (["sums"], Loss(REPORTS, 0)),
    "ids": (["ids"], Loss(0, REPORTS)),
    "both": (["sums", "ids"], Loss(REPORTS, REPORTS)),
}


@pytest.fixture(
    params=[pytest.param("redis", marks=pytest.mark.slow), pytest.param("cluster", marks=pytest.mark.slow)]
)
def url(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    if request.param == "cluster":
        yield request.getfixturevalue("cluster_nodes")[0].url
        return
    with LocalRedis(tmp_path) as server:
        yield server.url


@pytest.mark.parametrize("evicted", EVICTED)
def test_an_evicted_key_is_noticed_by_every_process(url, evicted):
    names, loss = EVICTED[evicted]
    store = filled(url)
    for name in names:
        store._redis.delete(f"ldp:{{{SURVEY}:{COUNTER}}}:{name}")
    assert_lost(store, loss.reports, loss.ids)
    store.close()
    other = open_store(url)  # which has seen nothing before
    other.require_survey(SURVEY, b"{}", COUNTERS)
    assert other.find_losses(SURVEY) == {COUNTER: loss}
    assert not is_ready(other)
    other.close()


def test_reports_of_an_earlier_version_are_no_loss(url):
    store = filled(url)
    store._redis.hdel(store._keys(SURVEY, COUNTER)[2], f"{SURVEY}:{COUNTER}")  # which it did not write
    assert store.find_losses(SURVEY) == {}
    record(store, SURVEY, COUNTER, ids(REPORTS), ONE)
    store._redis.delete(*[f"ldp:{{{SURVEY}:{COUNTER}}}:{name}" for name in ("ids", "sums")])
    assert_lost(store, REPORTS + 1, REPORTS + 1)
    store.close()


def lose_plan_and_reports(store: Store) -> None:
    for key in [*store._redis.scan_iter("ldp:{*")]:
        if not key.endswith(b"published"):
            store._redis.delete(key)
    store._redis.hdel("ldp:plans", SURVEY)


def test_a_survey_that_was_erased_can_be_published_again(url):
    store = filled(url)
    store.unpublish(SURVEY)
    store.erase(SURVEY)
    store.close()
    store = filled(url)
    assert store.totals(SURVEY)[COUNTER].n == REPORTS
    store.close()


def test_reports_that_were_lost_with_the_plan_stay_lost_when_it_is_published_again(url):
    store = filled(url)
    lose_plan_and_reports(store)
    store.close()
    with closing(open_store(url)) as restarted:
        restarted.publish(SURVEY, b"{}", [COUNTER, OTHER])
        assert restarted.find_losses(SURVEY)[COUNTER] == Loss(REPORTS, REPORTS)


@pytest.mark.slow
def test_every_set_of_evicted_keys_is_noticed_after_a_restart_and_names_the_survey(tmp_path):
    mine = [f"ldp:{{{SURVEY}:{counter}}}:{name}" for counter in (COUNTER, OTHER) for name in ("ids", "sums")]
    keys = ["ldp:plans", "ldp:published", *mine]
    with LocalRedis(tmp_path) as server:
        for evicted in chain.from_iterable(combinations(keys, size) for size in range(1, len(keys))):
            store = filled(server.url)
            store._redis.delete(*evicted)
            with pytest.raises(CounterError) as caught:
                store.check_ready()
            assert caught.value.surveys == (SURVEY,)
            store.close()
            with closing(open_store(server.url)) as restarted:
                found = find_damage(restarted)
                assert f"lost the plan of {SURVEY}" in str(found[SURVEY]) or "ldp:plans" not in evicted
                restarted.publish(SURVEY, b"{}", COUNTERS)
                restarted.require_survey(SURVEY, b"{}", COUNTERS)
                if evicted == ("ldp:plans",):  # nothing else is lost: the survey goes on
                    restarted.check_ready()
                    assert find_damage(restarted) == {}
                else:
                    assert not is_ready(restarted)
                    assert "--accept-loss" in str(find_damage(restarted)[SURVEY])
                restarted._redis.flushall()


@pytest.mark.slow
def test_a_server_of_a_cluster_that_lost_everything_is_noticed_after_a_restart(cluster_nodes):
    counters = [f"{number:016x}" for number in range(30)]
    for with_plan, emptied in product((False, True), cluster_nodes):
        with closing(open_store(cluster_nodes[0].url)) as store:
            store.publish(SURVEY, b"{}", counters)
            store.require_survey(SURVEY, b"{}", counters)
            for counter in counters:
                record(store, SURVEY, counter, ids(1), ONE)
            kept = emptied.client.hgetall("ldp:plans") if emptied.client.keys("ldp:plans") else {}
            emptied.client.flushall()
            if kept and with_plan:
                emptied.client.hset("ldp:plans", mapping=kept)
        with closing(open_store(cluster_nodes[0].url)) as restarted:
            lost = {each for each in counters if not restarted.totals(SURVEY).get(each)}
            assert 0 < len(lost) < 30
            restarted.publish(SURVEY, b"{}", counters)  # as each start does
            restarted.require_survey(SURVEY, b"{}", counters)
            found = restarted.find_losses(SURVEY, counters)
            assert found == dict.fromkeys(lost, Loss(counters=1))
            assert not is_ready(restarted)
            for counter in counters:
                with pytest.raises(MissingSurveyError) if counter in lost else nullcontext():
                    record(restarted, SURVEY, counter, ids(2), ONE)
        for node in cluster_nodes:
            node.client.flushall()


def test_a_publication_that_is_killed_at_any_command_is_no_loss(url, monkeypatch):
    other, whole = b'{"changed": 1}', dict[bytes, int]()
    for plan, cut in product((b"{}", other), range(20)):
        if plan in whole:
            continue
        with closing(open_store(url)) as store:
            if plan == other:
                store.publish(SURVEY, b"{}", COUNTERS)
            remaining = [cut]

            def stop(name: str, remaining: list[int] = remaining) -> Callable[..., object]:
                call = getattr(store._redis, name)

                def counted(*arguments: object, **options: object) -> object:
                    remaining[0] -= 1
                    if remaining[0] < 0:
                        raise KeyboardInterrupt
                    return call(*arguments, **options)

                return counted

            with monkeypatch.context() as patched, suppress(KeyboardInterrupt):
                for name in ("hset", "hget", "hdel"):
                    patched.setattr(store._redis, name, stop(name))
                patched.setattr(
                    store, "_mark", lambda *each, of=store: (type(of)._mark(of, *each), stop("ping")())
                )
                store.publish(SURVEY, plan, COUNTERS)
                whole[plan] = cut
        with closing(open_store(url)) as restarted:
            restarted._redis.delete(f"ldp:publishing:{SURVEY}")  # it expires
            assert find_damage(restarted) == {}
            restarted.publish(SURVEY, plan, COUNTERS)
            restarted.require_survey(SURVEY, plan, COUNTERS)
            restarted.check_ready()
            assert record(restarted, SURVEY, COUNTER, ids(1), ONE) == {}
            restarted.unpublish(SURVEY)
            restarted.erase(SURVEY)
    assert whole.keys() == {b"{}", other}


def test_every_report_that_is_evicted_is_in_the_number_of_the_lost(url):
    counters = [f"{number:016x}" for number in range(30)]
    with closing(open_store(url)) as store:
        client = store._redis
        if "cluster" in url:  # one of its servers
            client = client.get_redis_connection(client.get_node_from_key(f"ldp:{{{SURVEY}:{counters[0]}}}"))
        acknowledged = dict.fromkeys(counters, REPORTS)
        store.publish(SURVEY, b"{}", counters)
        store.require_survey(SURVEY, b"{}", counters)
        store.check_durability(StorePolicy(allow_open=True))
        for counter in counters:
            record(store, SURVEY, counter, ids(*range(REPORTS)), ONE * REPORTS)
        client.config_set("maxmemory-policy", "allkeys-lru")
        client.config_set("maxmemory", client.info("memory")["used_memory"] - 300_000)
        client.config_set("maxmemory-policy", "noeviction")
        client.config_set("maxmemory", 0)
        evicted = client.info("stats")["evicted_keys"]
        assert 0 < evicted < 2 * len(counters)
        for number in range(REPORTS, REPORTS + 60):
            with suppress(CounterError):
                record(store, SURVEY, counters[number % 30], ids(number), ONE)
                acknowledged[counters[number % 30]] += 1
        losses, totals = store.find_losses(SURVEY), store.totals(SURVEY)
        assert losses
        for counter, count in acknowledged.items():
            lost = losses[counter].reports if counter in losses else 0
            assert (totals[counter].n if counter in totals else 0) + lost == count
        assert not is_ready(store)
        assert f"this Redis has evicted {evicted} keys" in store.check_durability(
            StorePolicy(allow_open=True)
        )


@pytest.mark.slow
def test_an_older_copy_is_noticed_while_a_collector_runs(tmp_path):
    with LocalRedis(tmp_path) as server, redis.Redis.from_url(server.url) as client:
        store = filled(server.url)
        store.check_durability(StorePolicy(allow_open=True))
        store.check_ready()
        older = {key: client.dump(key) for key in client.keys("ldp:*")}
        record(store, SURVEY, COUNTER, ids(REPORTS, REPORTS + 1), ONE)
        client.flushall()
        for key, value in older.items():
            client.restore(key, 0, value)
        assert_lost(store, 2, 2)
        weak = open_store(server.url)
        weak.require_survey(SURVEY, b"{}", COUNTERS)
        weak.check_durability(StorePolicy("everysec", allow_open=True))
        weak.check_ready()
        record(weak, SURVEY, COUNTER, ids(REPORTS), ONE)
        client.flushall()
        for key, value in older.items():
            client.restore(key, 0, value)
        weak.check_ready()  # "everysec" accepts that a crash loses the last reports
        weak.close()
        store.close()


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["redis", "sqlite"])
def test_reports_that_are_counted_during_a_check_are_no_loss(tmp_path, kind):
    with LocalRedis(tmp_path) as server:
        store = filled(server.url if kind == "redis" else f"sqlite:///{tmp_path}/store.db")
        store.check_durability(StorePolicy(allow_open=True))
        end, errors = time.monotonic() + 3, list[object]()

        def load(first: int) -> None:
            for number in range(first, first + 10**6):
                if time.monotonic() > end:
                    return
                record(store, SURVEY, COUNTER, ids(number), ONE)

        threads = [threading.Thread(target=load, args=(each * 10**7,)) for each in (1, 2)]
        for thread in threads:
            thread.start()
        while time.monotonic() < end:
            errors += [store.find_losses(SURVEY), store.find_losses(SURVEY, thorough=False)]
            store.check_ready()
        for thread in threads:
            thread.join()
        assert not any(errors)
        store.close()


# -- SQLite -------------------------------------------------------------------------------------

ONLY_COUNTER = f"SELECT number FROM counters WHERE name = '{COUNTER}'"
EDITS: dict[str, tuple[str, Callable[[int], Loss]]] = {
    "sums reset": (f"UPDATE counters SET n = 10 WHERE name = '{COUNTER}'", lambda left: Loss(left - 10, 0)),
    "all ids deleted": (
        f"DELETE FROM buckets WHERE number >> 32 = ({ONLY_COUNTER})",
        lambda _: Loss(0, REPORTS),
    ),
    "last ids deleted": (
        f"DELETE FROM buckets WHERE number >> 32 = ({ONLY_COUNTER}) AND number % (1 << 32) > 9",
        lambda left: Loss(0, REPORTS - left),
    ),
}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "store.db"


def edit(path: Path, statement: str) -> int:
    """Change the file as an operator could; return the number of ids that are left."""
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute(statement)
        rows = connection.execute(f"SELECT entries FROM buckets WHERE number >> 32 = ({ONLY_COUNTER})")
        return sum(int.from_bytes(entries[:4], "little") for (entries,) in rows)


@pytest.mark.parametrize("change", EDITS)
def test_an_edited_file_is_noticed_by_every_process(path, change):
    statement, expect = EDITS[change]
    store = filled(f"sqlite:///{path}")
    loss = expect(edit(path, statement))
    fresh = open_store(f"sqlite:///{path}")
    fresh.require_survey(SURVEY, b"{}")
    assert_lost(fresh, loss.reports, loss.ids)
    assert fresh.find_losses(SURVEY, thorough=False) == {COUNTER: loss}
    for each in (store, fresh):
        assert not is_ready(each)
        each.close()


def test_a_part_of_the_ids_that_is_deleted_is_found_by_a_thorough_check_and_where_it_is_needed(path):
    store = filled(f"sqlite:///{path}")
    left = edit(path, f"DELETE FROM buckets WHERE number >> 32 = ({ONLY_COUNTER}) AND number % 2 = 0")
    assert 0 < left < REPORTS
    assert store.find_losses(SURVEY) == {COUNTER: Loss(0, REPORTS - left)}
    refused = 0
    for number in range(REPORTS, REPORTS + 20):
        try:
            record(store, SURVEY, COUNTER, ids(number), ONE)
        except CounterError:
            refused += 1
    assert 0 < refused < 20
    store.close()


def test_a_deleted_counter_and_an_older_content_are_noticed_while_a_collector_runs(path):
    store = filled(f"sqlite:///{path}")
    store.check_ready()
    with closing(sqlite3.connect(path)) as live, closing(sqlite3.connect(":memory:")) as older:
        live.backup(older)
        record(store, SURVEY, COUNTER, ids(REPORTS, REPORTS + 1), ONE)
        older.backup(live)
    assert_lost(store, 2, 2)
    edit(path, f"DELETE FROM counters WHERE name = '{COUNTER}'")
    assert store.find_losses(SURVEY)[COUNTER].reports == REPORTS + 2
    store.close()


def test_a_deleted_counter_is_noticed_after_a_restart_and_its_ids_are_known(path):
    store = filled(f"sqlite:///{path}")
    store.close()
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute(f"DELETE FROM counters WHERE name IN ('{COUNTER}', '{SUPPORT}')")
    with closing(open_store(f"sqlite:///{path}")) as fresh:
        fresh.publish("new", b"{}", [])
        record(fresh, "new", COUNTER, ids(1), ONE)  # whose row must not get the buckets of the lost one
        assert fresh.find_losses("new") == {}
        fresh.require_survey(SURVEY, b"{}")
        assert_lost(fresh, REPORTS, 0)
        assert fresh.find_losses(SURVEY, thorough=False) == {COUNTER: Loss(REPORTS, 0)}
        assert (
            len(fresh.find_recorded(SURVEY, {COUNTER: batch(SURVEY, COUNTER, ids(3), ONE).ids})[COUNTER]) == 1
        )
        assert sum(len(each) for each, _ in fresh.report_ids(SURVEY, COUNTER)) == REPORTS
        no_ids = np.empty((0, 16), np.uint8), np.empty((0, 8), np.uint8)
        fresh.record([Batch(SURVEY, SUPPORT, *no_ids, ONE * 7)])
        assert fresh.totals(SURVEY)[SUPPORT].cells == [7]
        fresh.erase(SURVEY)
    with closing(open_store(f"sqlite:///{path}")) as erased:
        assert erased.find_losses(SURVEY) == {}


def test_a_lost_plan_is_noticed(path):
    store = filled(f"sqlite:///{path}")
    edit(path, "DELETE FROM plans")
    assert f"the store has lost the plan of {SURVEY}: start a collector" in str(find_damage(store)[SURVEY])
    store.publish(SURVEY, b"{}", COUNTERS)
    assert find_damage(store) == {}
    store.close()


def test_a_transaction_that_is_undone_is_no_loss(path):
    store = filled(f"sqlite:///{path}")
    with pytest.raises(StoreError, match="overflow"):
        store.record(
            [batch(SURVEY, COUNTER, ids(REPORTS), ONE), batch(SURVEY, OTHER, ids(9), ONE * (2**63 - 1))]
        )
    store.check_ready()
    assert record(store, SURVEY, COUNTER, ids(REPORTS), ONE) == {}
    store.close()
