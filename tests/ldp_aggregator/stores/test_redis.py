"""Failures specific to Redis: it may lose reports that it has acknowledged."""

import os
import random
import signal
from contextlib import closing, suppress
from pathlib import Path

import numpy as np
import pytest
import redis

from ldp_aggregator.stores import StoreError, StorePolicy
from ldp_aggregator.stores.redis import RedisStore
from ldp_aggregator.stores.store import DURABLE
from tests.ldp_aggregator.stores.conftest import count
from tests.support.batches import is_ready, record
from tests.support.servers import paused_rewrite, rewrite_once, rewrites_file, rewriting_process, wait_for

pytestmark = pytest.mark.slow


def test_settings_that_may_lose_reports_are_refused_unless_accepted(store, client):
    assert store.check_durability(StorePolicy()) == DURABLE
    client.config_set("appendfsync", "everysec")
    with pytest.raises(StoreError, match=r"appendfsync everysec.*set appendonly yes and appendfsync always"):
        store.check_durability(StorePolicy())
    assert "last second" in store.check_durability(StorePolicy("everysec"))
    client.config_set("no-appendfsync-on-rewrite", "yes")
    for durability in ("always", "everysec"):
        client.config_set("appendfsync", durability)
        with pytest.raises(StoreError, match="no-appendfsync-on-rewrite"):
            store.check_durability(StorePolicy(durability))
    client.config_set("no-appendfsync-on-rewrite", "no")
    for weak in ({"appendfsync": "no"}, {"appendfsync": "always", "appendonly": "no"}):
        for name, value in weak.items():
            client.config_set(name, value)
        for durability in ("always", "everysec"):
            with pytest.raises(StoreError, match="may lose counted reports"):
                store.check_durability(StorePolicy(durability))
    client.config_set("maxmemory-policy", "allkeys-lru")
    with pytest.raises(StoreError, match="noeviction"):
        store.check_durability(StorePolicy("everysec"))
    assert "responsible" in store.check_durability(StorePolicy("unchecked"))


def test_settings_that_cannot_be_read_are_refused_too(url, client):
    client.execute_command("ACL", "SETUSER", "plain", "on", ">word", "~*", "+@all", "-config")
    store = RedisStore(url.replace("unix://", "unix://plain:word@"))
    with pytest.raises(StoreError, match="--durability unchecked"):
        store.check_durability(StorePolicy())


def test_a_redis_without_a_password_is_refused_unless_allowed():
    for address in ("redis://127.0.0.1:1/0", "rediss://someone@127.0.0.1:1"):
        with pytest.raises(StoreError, match="--allow-open-redis"):
            RedisStore(address).check_durability(StorePolicy("unchecked"))
        assert RedisStore(address).check_durability(StorePolicy("unchecked", allow_open=True))
    assert RedisStore("redis://:word@127.0.0.1:1").check_durability(StorePolicy("unchecked"))


def test_a_silent_redis_times_out(monkeypatch, start_redis):
    monkeypatch.setattr("ldp_aggregator.stores.redis_servers.TIMEOUT_SECONDS", 0.1)
    server, store = start_redis()
    count(store)
    server.signal(signal.SIGSTOP)
    with pytest.raises(StoreError, match=r"[Tt]ime"):
        count(store, b"1" * 16)
    server.signal(signal.SIGCONT)
    count(store, b"1" * 16)
    assert store.totals("sleep")["q"].n == 2


def test_a_redis_without_memory_counts_nothing(store, client):
    ids = {number.to_bytes(16, "big"): bytes(8) for number in range(1000)}
    record(store, "sleep", "q", dict(list(ids.items())[:1]), np.array([1, 0]))
    client.config_set("maxmemory", 1)
    for _ in range(2):
        with pytest.raises(StoreError, match="maxmemory"):
            record(store, "sleep", "q", dict(list(ids.items())[1:]), np.array([5, 6]))
    assert (store.totals("sleep")["q"].n, store.totals("sleep")["q"].cells.tolist()) == (1, [1, 0])
    client.config_set("maxmemory", 0)
    assert record(store, "sleep", "q", dict(list(ids.items())[1:]), np.array([5, 6])) == {}
    assert (store.totals("sleep")["q"].n, store.totals("sleep")["q"].cells.tolist()) == (1000, [6, 6])


def test_a_redis_that_lost_its_data_counts_from_zero(store, client):
    count(store)
    client.flushall()  # like a crash with appendfsync everysec
    count(store)
    assert store.totals("sleep")["q"].n == 1


def test_no_node_of_a_cluster_is_asked_where_keys_are(cluster_nodes, cluster_store):
    for question in "abcdef":
        assert record(cluster_store, "sleep", question, {bytes(16): bytes(8)}, np.array([1])) == {}
    assert not any("cmdstat_command|getkeys" in node.client.info("commandstats") for node in cluster_nodes)


def test_a_wide_question_needs_few_commands_per_report(store, client):
    record(store, "sleep", "q", {bytes(16): bytes(8)}, np.arange(1024) % 2)
    before = client.info("commandstats")
    record(store, "sleep", "q", {b"1" * 16: bytes(8)}, np.arange(1024) % 2)
    after = client.info("commandstats")
    calls = {name: after[name]["calls"] - before.get(name, {"calls": 0})["calls"] for name in after}
    assert sum(calls.values()) - calls["cmdstat_info"] <= 9


def test_weak_settings_stop_recording_and_readiness(store, client):
    store.check_durability(StorePolicy())
    weak = {"appendonly": "no", "appendfsync": "everysec", "no-appendfsync-on-rewrite": "yes"}
    weak["maxmemory-policy"] = "allkeys-lru"
    for number, (name, value) in enumerate(weak.items()):
        ids = {number.to_bytes(16, "big"): bytes(8)}
        strong = client.config_get(name)[name]
        client.config_set(name, value)
        for _ in range(2):  # neither is a repeated report acknowledged
            with pytest.raises(StoreError, match="this Redis"):
                record(store, "sleep", "q", ids, np.array([1]))
        with pytest.raises(StoreError, match="this Redis"):
            store.check_ready()
        client.config_set(name, strong)
        wait_for(lambda: is_ready(store))
        assert record(store, "sleep", "q", ids, np.array([1])) == ids
    assert store.totals("sleep")["q"].n == len(weak)


def test_everysec_is_accepted_if_the_operator_accepts_it(store, client):
    client.config_set("appendfsync", "everysec")
    store.check_durability(StorePolicy("everysec"))
    assert count(store) == {}
    client.config_set("appendfsync", "no")
    with pytest.raises(StoreError, match="appendfsync no"):
        count(store, b"1" * 16)


def test_reports_are_refused_until_redis_has_written_its_file(start_redis):
    server, store = start_redis("--rdb-key-save-delay", "500")  # microseconds per key
    store.check_durability(StorePolicy())
    with redis.Redis.from_url(server.url) as client:
        client.mset({f"key{number}": "" for number in range(1000)})
        client.config_set("appendonly", "no")
        with pytest.raises(StoreError, match="appendonly no"):
            store.check_ready()
        client.config_set("appendonly", "yes")
        with paused_rewrite(client), pytest.raises(StoreError, match="has not written its append-only"):
            count(store)
        wait_for(lambda: is_ready(store))
        assert client.info("persistence")["aof_rewrite_in_progress"] == 0


def test_each_node_of_a_cluster_that_is_written_to_is_checked(cluster_nodes, cluster_store):
    cluster_store.check_durability(StorePolicy())
    questions = [f"q{number}" for number in range(12)]
    for node in cluster_nodes:
        node.client.config_set("appendfsync", "no")
        refused = 0
        for question in questions:
            before = cluster_store.totals("sleep").get(question)
            try:
                record(cluster_store, "sleep", question, {bytes(16): bytes(8)}, np.array([1]))
            except StoreError:
                refused += 1
            else:
                assert before is None or before.n == 1
        assert 0 < refused < len(questions)
        with pytest.raises(StoreError, match="appendfsync no"):
            cluster_store.check_ready()
        node.client.config_set("appendfsync", "always")
        cluster_store.check_ready()
    cluster_store.close()  # a rewrite is pending
    for node in cluster_nodes:
        assert node.client.info("commandstats")["cmdstat_bgrewriteaof"]["calls"] >= 1


def test_a_cluster_is_not_ready_if_one_node_has_no_memory(cluster_nodes, cluster_store):
    questions = [f"q{number}" for number in range(12)]
    cluster_store.publish("sleep", b"{}", questions)
    cluster_store.require_survey("sleep", b"{}", questions)
    for node in cluster_nodes:
        cluster_store.check_ready()
        node.client.config_set("maxmemory", 1)
        with pytest.raises(StoreError, match="maxmemory"):
            cluster_store.check_ready()
        node.client.config_set("maxmemory", 0)


def test_the_guarantee_warns_of_short_lists_in_order_of_arrival(store, client):
    client.config_set("hash-max-listpack-entries", 128)
    assert "order of arrival: set hash-max-listpack-entries 0" in store.check_durability(StorePolicy())


def aof_of(folder: Path) -> dict[str, bytes]:
    """Read the files of the append-only file; Redis may delete old ones meanwhile."""
    files = {}
    for path in (folder / "appendonlydir").iterdir():
        with suppress(FileNotFoundError):
            files[path.name] = path.read_bytes()
    return files


def arrival_numbers(data: bytes, names: list[bytes]) -> list[int]:
    """Return the arrival numbers of ids in the order in which a file holds them."""
    places = sorted((data.find(name), turn) for turn, name in enumerate(names))
    return [turn for place, turn in places if place >= 0]


def assert_no_order(base: bytes, names: list[bytes]) -> None:
    """Check that a file holds all ids, and not in their order. False alarm: below 1e-7 (5.6 deviations)."""
    order = np.array(arrival_numbers(base, names))
    assert len(order) == len(names)
    score = np.corrcoef(order, np.arange(len(order)))[0, 1] * np.sqrt(len(order) - 1)
    assert abs(score) < 5.6


def test_the_ids_of_one_batch_are_written_in_sorted_order(url, tmp_path):
    store, rng = RedisStore(url), random.Random(8)
    names = [rng.randbytes(16) for _ in range(2500)]  # more than one command in the script
    record(store, "sleep", "q", dict.fromkeys(names, bytes(8)), np.array([1]))
    (data,) = [each for name, each in aof_of(tmp_path).items() if name.endswith("incr.aof")]
    held = arrival_numbers(data, names)
    assert [names[turn] for turn in held] == sorted(names)
    store.close()


def test_the_file_is_rewritten_after_the_interval_and_then_shows_no_order(tmp_path, start_redis):
    _, store = start_redis("--rdbcompression", "no", query="?rewrite_seconds=1")
    store.check_durability(StorePolicy())
    names = [random.Random(turn).randbytes(16) for turn in range(600)]
    for name in names:
        count(store, name)
    wait_for(lambda: all(names[-1] not in data for file, data in aof_of(tmp_path).items() if "incr" in file))
    wait_for(lambda: len(aof_of(tmp_path)) == 3)  # the old files are deleted last
    files = aof_of(tmp_path)
    assert not any(name in data for file, data in files.items() if "incr" in file for name in names)
    (base,) = [data for file, data in files.items() if "base" in file]
    assert_no_order(base, names)


def test_a_file_written_while_the_hash_table_grows_shows_no_order(tmp_path, start_redis):
    server, store = start_redis("--rdbcompression", "no")
    store.check_durability(StorePolicy())
    names = [random.Random(turn).randbytes(16) for turn in range(600)]
    with redis.Redis.from_url(server.url) as client:
        for turn, name in enumerate(names):
            if turn == 514:  # the table grows after 512 ids, but no further while the file is rewritten
                client.config_set("rdb-key-save-delay", 10_000_000)
                client.bgrewriteaof()
                process = rewriting_process(client)
            count(store, name)
        os.kill(process, signal.SIGKILL)
        client.config_set("rdb-key-save-delay", 0)
        wait_for(lambda: not rewrites_file(client))
        store.close()  # rewrites the file
        wait_for(lambda: client.info("persistence")["aof_last_bgrewrite_status"] == "ok")
        wait_for(lambda: not rewrites_file(client) and len(aof_of(tmp_path)) == 3)
    (base,) = [data for file, data in aof_of(tmp_path).items() if "base" in file]
    assert_no_order(base, names)


def test_a_snapshot_shows_no_order_of_reports(tmp_path, start_redis):
    server, store = start_redis()
    names = [random.Random(turn).randbytes(16) for turn in range(600)]
    for name in names:
        count(store, name)
    with redis.Redis.from_url(server.url) as client:
        client.save()
    assert_no_order((tmp_path / "dump.rdb").read_bytes(), names)


def test_the_time_of_a_rewrite_is_drawn_within_the_interval(url, monkeypatch, client):
    rewrite_once(client)
    # the file contains this time, and would otherwise show the arrival of the first report
    monkeypatch.setattr("ldp_aggregator.stores.redis_settings._draw_uniform", lambda: 0.001)
    store = RedisStore(f"{url}?rewrite_seconds=1000")
    store.check_durability(StorePolicy())
    count(store)
    wait_for(lambda: "cmdstat_bgrewriteaof" in client.info("commandstats"))
    store.close()


def test_a_rewrite_that_fails_is_requested_again(monkeypatch, start_redis):
    monkeypatch.setattr("ldp_aggregator.stores.redis_settings._RETRY_SECONDS", 0.05)
    delay = ("--rdb-key-save-delay", "10000000")  # microseconds per key
    server, store = start_redis(*delay, query="?rewrite_seconds=1")
    store.check_durability(StorePolicy())
    count(store, b"1" * 16)
    with redis.Redis.from_url(server.url) as client:
        os.kill(rewriting_process(client), signal.SIGKILL)
        client.config_set("rdb-key-save-delay", 0)
        wait_for(lambda: client.info("commandstats")["cmdstat_bgrewriteaof"]["calls"] >= 2)
        wait_for(lambda: client.info("persistence")["aof_last_bgrewrite_status"] == "ok")


@pytest.mark.parametrize("restarts_collector", [False, True])
def test_the_beginning_of_a_transaction_is_not_executed_at_a_later_start(
    tmp_path, start_redis, restarts_collector
):
    server, store = start_redis()
    store.check_durability(StorePolicy())
    with redis.Redis.from_url(server.url) as client:

        def is_rewritten() -> bool:
            return client.info("persistence")["aof_last_rewrite_time_sec"] >= 0 and not rewrites_file(client)

        wait_for(is_rewritten)
        count(store, b"1" * 16)
        with closing(RedisStore(server.url)) as other:  # which does not see the response
            count(other, b"2" * 16)
        server.kill()
        (file,) = (tmp_path / "appendonlydir").glob("*.incr.aof")
        written, _, _ = file.read_bytes().rpartition(b"HSET")  # of the table of published plans
        file.write_bytes(written.rpartition(b"HSET")[0])  # the sums are written, but not the id
        with pytest.raises(StoreError):
            count(store, b"2" * 16)
        server.start()
        if restarts_collector:
            store.close()
            store = RedisStore(server.url)
            store.check_durability(StorePolicy())
        wait_for(is_rewritten)
        count(store, b"2" * 16)
        server.kill()
        server.start()
        assert store.totals("sleep")["q"].n == 2
        assert store.find_losses("sleep") == {}
        store.close()


def test_the_ids_of_a_deleted_survey_leave_the_file(tmp_path, start_redis):
    _, store = start_redis()
    count(store, b"a deleted report")
    assert any(b"a deleted report" in data for data in aof_of(tmp_path).values())
    store.erase("sleep")  # by a command, which does not check the settings
    store.close()
    wait_for(lambda: not any(b"a deleted report" in data for data in aof_of(tmp_path).values()))


def test_rewrites_go_on_after_the_clock_of_redis_was_set_back(url, client):
    rewrite_once(client)
    client.set("ldp:rewriting", 1, px=3_600_000)
    store = RedisStore(f"{url}?rewrite_seconds=1")
    store.check_durability(StorePolicy())
    wait_for(lambda: "cmdstat_bgrewriteaof" in client.info("commandstats"))
    assert client.pttl("ldp:rewriting") <= 1000
    store.close()


def test_the_rewrites_of_all_nodes_of_a_cluster_are_checked(cluster_nodes, cluster_store):
    rewriter = cluster_store._rewriter
    rewriter._rewrite_now()
    wait_for(lambda: rewriter._check_rewrite() is None)
    assert not any(rewrites_file(node.client) for node in cluster_nodes)


def test_two_collectors_rewrite_the_file_once_per_interval(url, client, monkeypatch):
    rewrite_once(client)
    monkeypatch.setattr("ldp_aggregator.stores.redis_settings._draw_uniform", lambda: 0.001)
    stores = [RedisStore(f"{url}?rewrite_seconds=1000") for _ in range(2)]
    for number, store in enumerate(stores):
        store.check_durability(StorePolicy())
        count(store, bytes([number]) * 16)
    seen: dict[str, dict[str, int]] = {}

    def both_have_tried() -> bool:
        seen.update(client.info("commandstats"))
        return {"cmdstat_bgrewriteaof", "cmdstat_pttl"} <= seen.keys()  # one of them waits for the other

    wait_for(both_have_tried)
    assert seen["cmdstat_bgrewriteaof"]["calls"] == 1
    for store in stores:
        store.close()


@pytest.mark.parametrize("seconds", ["", "soon", "-1", "nan", "1e9"])
def test_an_invalid_interval_is_refused(seconds):
    with pytest.raises(StoreError, match="rewrite_seconds"):
        RedisStore(f"redis://127.0.0.1:1/0?rewrite_seconds={seconds}")
