"""Settings of Redis that change while a collector runs: when reports are durable again."""

import os
import signal
import time
from contextlib import closing, suppress

import numpy as np
import pytest
import redis

from ldp_aggregator.stores import StoreError, StoreFailure, StorePolicy
from ldp_aggregator.stores.redis import RedisStore
from ldp_aggregator.stores.redis_servers import counter_keys
from tests.ldp_aggregator.stores.conftest import StartRedis, count
from tests.support.batches import is_ready, record
from tests.support.servers import (
    TOKEN,
    ClusterNode,
    LocalRedis,
    RedisServer,
    free_port,
    listens,
    paused_rewrite,
    redis_nodes,
    rewrite_once,
    rewriting_process,
    wait_for,
)

_SLOW = 500
"""Pause of a rewrite after each key, in microseconds."""

pytestmark = pytest.mark.slow


@pytest.fixture
def filled(start_redis: StartRedis) -> tuple[LocalRedis, RedisStore]:
    server, store = start_redis()
    with redis.Redis.from_url(server.url) as client:
        rewrite_once(client)
        client.mset({f"key{number}": "" for number in range(1000)})
    return server, store


def fail_rewrite(server: LocalRedis, client: redis.Redis) -> None:
    """Kill the process that rewrites the file, as the kernel does if memory is short."""
    client.config_set("rdb-key-save-delay", _SLOW)
    client.bgrewriteaof()
    os.kill(rewriting_process(client), signal.SIGKILL)
    wait_for(lambda: client.info("persistence")["aof_last_bgrewrite_status"] == "err")
    client.config_set("rdb-key-save-delay", 0)


def test_a_failed_rewrite_does_not_refuse_reports_after_another_setting_was_weak(
    filled,
):
    server, store = filled
    store.check_durability(StorePolicy())
    with redis.Redis.from_url(server.url) as client:
        fail_rewrite(server, client)
        client.config_set("maxmemory-policy", "allkeys-lru")
        with pytest.raises(StoreError, match="noeviction"):
            store.check_ready()
        client.config_set("maxmemory-policy", "noeviction")
        assert count(store) == {}


def test_waiting_for_the_file_ends_after_a_failed_rewrite(filled):
    server, store = filled
    store.check_durability(StorePolicy())
    store._check._unwritten[""] = object()  # appendonly was seen off, and the rewrite then failed
    with redis.Redis.from_url(server.url) as client:
        fail_rewrite(server, client)
        with pytest.raises(StoreError, match="aof_last_bgrewrite_status"):
            store.check_ready()
        wait_for(lambda: is_ready(store))
        assert client.info("persistence")["aof_last_bgrewrite_status"] == "ok"


def test_settings_read_before_they_were_weak_do_not_end_the_wait(
    filled,
):
    server, store = filled
    store.check_durability(StorePolicy())
    strong = store._check.check_servers()
    with redis.Redis.from_url(server.url) as client:
        client.config_set("appendonly", "no")
        with pytest.raises(StoreError, match="appendonly no"):
            store.check_ready()
        with pytest.raises(StoreError, match="has not written its append-only file yet"):
            store._check.check_replies([{}], strong)
        client.config_set("rdb-key-save-delay", _SLOW)
        client.config_set("appendonly", "yes")
        with paused_rewrite(client), pytest.raises(StoreError, match="has not written its append-only file"):
            store.check_ready()
        wait_for(lambda: is_ready(store))


def test_one_node_of_a_cluster_does_not_end_the_wait_for_another(cluster_store):
    cluster_store.check_durability(StorePolicy())
    first, second = ({"target_nodes": node} for node in cluster_store._redis.get_primaries()[:2])
    settings = cluster_store._check.check_servers()[:1]
    off = [settings[0] | {"appendonly": "no"}]
    with pytest.raises(StoreError, match="may lose counted reports"):
        cluster_store._check.check_replies([first], off)
    cluster_store._check.check_replies([second], settings)
    assert list(cluster_store._check._unwritten) == [first["target_nodes"].name]

    def is_written() -> bool:  # false while a rewrite runs, which the store requests when it starts
        with suppress(StoreError):
            cluster_store._check.check_replies([first], settings)
        return not cluster_store._check._unwritten

    wait_for(is_written)


def move_slot(source: ClusterNode, target: ClusterNode, key: str) -> None:
    """Move a slot with its keys to another node for good, as an operator does to balance a cluster."""
    slot = source.client.execute_command("CLUSTER", "KEYSLOT", key)
    names = [node.client.execute_command("CLUSTER", "MYID") for node in (source, target)]
    target.client.execute_command("CLUSTER", "SETSLOT", slot, "IMPORTING", names[0])
    source.client.execute_command("CLUSTER", "SETSLOT", slot, "MIGRATING", names[1])
    keys = source.client.execute_command("CLUSTER", "GETKEYSINSLOT", slot, 100)
    words = ("127.0.0.1", target.port, "", 0, 5000, "AUTH", TOKEN, "KEYS", *keys)
    source.client.execute_command("MIGRATE", *words)
    for node in (target, source):
        node.client.execute_command("CLUSTER", "SETSLOT", slot, "NODE", names[1])


def test_a_node_that_a_question_moved_to_is_checked_before_it_acknowledges(cluster_nodes, cluster_store):
    cluster_store.check_durability(StorePolicy())
    record(cluster_store, "moving", "q", {bytes(16): bytes(8)}, np.array([1]))
    key = "ldp:{moving:q}:ids"
    port = cluster_store._redis.get_node_from_key(key).port
    (source,) = (node for node in cluster_nodes if node.port == port)
    target = next(node for node in cluster_nodes if node is not source)
    target.client.config_set("appendfsync", "no")
    move_slot(source, target, key)
    ids = {b"1" * 16: bytes(8)}
    for why in ("has moved", "appendfsync no"):
        with pytest.raises(StoreError, match=why):
            record(cluster_store, "moving", "q", ids, np.array([1]))
    target.client.config_set("appendfsync", "always")
    assert record(cluster_store, "moving", "q", ids, np.array([1])) == ids
    assert cluster_store.totals("moving")["q"].n == 2


def test_each_failure_of_redis_has_its_reason(filled):
    server, store = filled
    store.check_durability(StorePolicy())

    def reason() -> StoreFailure:
        with pytest.raises(StoreError) as caught:
            store.check_ready()
        return caught.value.reason

    with redis.Redis.from_url(server.url) as client:
        client.config_set("appendfsync", "no")
        assert reason() == StoreFailure.WEAK_DURABILITY
        client.config_set("appendfsync", "always")
        client.config_set("maxmemory", 1)
        assert reason() == StoreFailure.OUT_OF_MEMORY
        client.config_set("maxmemory", 0)
        client.config_set("requirepass", "word")
        client.connection_pool.disconnect()
    store.close()
    assert reason() == StoreFailure.NO_PERMISSION
    server.kill()
    assert reason() == StoreFailure.CONNECTION_FAILED


def test_tls_to_a_redis_without_tls_is_named_as_the_likely_cause(tmp_path, monkeypatch):
    port = free_port()
    server = RedisServer(tmp_path, "--port", str(port), "--bind", "127.0.0.1")
    server.start()
    monkeypatch.setattr("ldp_aggregator.stores.redis_servers.TIMEOUT_SECONDS", 0.5)
    try:
        wait_for(lambda: listens(port))
        store = RedisStore(f"rediss://:word@127.0.0.1:{port}/0")
        with pytest.raises(StoreError, match="does this Redis speak TLS"):
            store.check_durability(StorePolicy())
    finally:
        server.stop()


def rewrites(node: ClusterNode) -> int:
    return int(node.client.info("commandstats").get("cmdstat_bgrewriteaof", {"calls": 0})["calls"])


@pytest.mark.parametrize("fault", ["moves", "hangs"])
def test_files_are_rewritten_while_the_key_of_the_lock_moves_or_its_node_hangs(cluster_nodes, fault):
    url = f"{cluster_nodes[0].url}?rewrite_seconds=0.5&socket_timeout=1"
    with closing(RedisStore(url)) as store:
        store.check_durability(StorePolicy())
        port = store._servers.node_of_key("ldp:rewriting")["target_nodes"].port
        source = next(node for node in cluster_nodes if node.port == port)
        others = [node for node in cluster_nodes if node is not source]
        question = next(each for each in map(str, range(99)) if server_port(store, each) != port)
        record(store, "survey", question, {bytes(16): bytes(8)}, np.array([1]))
        wait_for(lambda: all(rewrites(node) for node in others))
        try:
            if fault == "moves":
                move_slot(source, others[0], "ldp:rewriting")
            else:
                source.signal(signal.SIGSTOP)
            before = rewrites(others[0])
            for number in range(1, 2000):
                record(store, "survey", question, {number.to_bytes(16, "big"): bytes(8)}, np.array([1]))
                if rewrites(others[0]) > before:
                    break
                time.sleep(0.05)
            assert rewrites(others[0]) > before
        finally:
            if fault == "moves":
                move_slot(others[0], source, "ldp:rewriting")
            else:
                source.signal(signal.SIGCONT)
    wait_for(lambda: all(node.sees_all() for node in cluster_nodes))


def server_port(store: RedisStore, question: str) -> int:
    return int(store.server_of("survey", question).rpartition(":")[2])


def test_a_store_finds_what_has_moved_to_a_new_node(tmp_path):
    """A cluster of its own, because a node joins it."""
    key, new = counter_keys("survey", "q")[0], ClusterNode(tmp_path / "new")
    with (
        redis_nodes(tmp_path, (("127.0.0.1", ""),) * 2) as nodes,
        closing(RedisStore(nodes[0].url)) as store,
        closing(new.client),
    ):
        store.publish("survey", b"plan", ["q"])
        record(store, "survey", "q", {bytes(16): bytes(8)}, np.array([1]))
        source = next(each for each in nodes if each.client.keys(key))
        new.start()
        try:
            bus = new.client.config_get("cluster-port")["cluster-port"]
            source.client.execute_command("CLUSTER", "MEET", new.host, new.port, bus)
            wait_for(new.sees_all)
            move_slot(source, new, key)
            assert store.totals("survey")["q"].n == 1
            assert store.counters("survey") == {"q"}
        finally:
            new.stop()
