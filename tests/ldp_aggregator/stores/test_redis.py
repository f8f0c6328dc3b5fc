"""What Redis alone can do wrong: forget what it has acknowledged."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
import redis

from ldp_aggregator.stores import Policy, StoreError
from ldp_aggregator.stores.base import DURABLE
from ldp_aggregator.stores.redis import RedisStore
from tests.counting import record
from tests.servers import LocalRedis, redis_nodes, redis_server


@pytest.fixture
def url(tmp_path: Path) -> Iterator[str]:
    with redis_server(tmp_path) as address:
        yield address


def test_settings_that_may_lose_reports_are_refused_unless_accepted(url: str) -> None:
    store = RedisStore(url)
    assert store.promise(Policy()) == DURABLE
    with redis.Redis.from_url(url) as server:
        server.config_set("appendfsync", "everysec")
        with pytest.raises(
            StoreError, match=r"appendfsync everysec.*set appendonly yes and appendfsync always"
        ):
            store.promise(Policy())
        assert "last second" in store.promise(Policy("everysec"))
        server.config_set("no-appendfsync-on-rewrite", "yes")
        for durability in ("always", "everysec"):
            server.config_set("appendfsync", durability)
            with pytest.raises(StoreError, match="no-appendfsync-on-rewrite"):
                store.promise(Policy(durability))
        server.config_set("no-appendfsync-on-rewrite", "no")
        for weak in ({"appendfsync": "no"}, {"appendfsync": "always", "appendonly": "no"}):
            for name, value in weak.items():
                server.config_set(name, value)
            for durability in ("always", "everysec"):
                with pytest.raises(StoreError, match="may forget"):
                    store.promise(Policy(durability))
        server.config_set("maxmemory-policy", "allkeys-lru")
        with pytest.raises(StoreError, match="noeviction"):
            store.promise(Policy("everysec"))
    assert "vouches" in store.promise(Policy("unchecked"))
    store.close()


def test_settings_that_cannot_be_read_are_refused_too(url: str) -> None:
    with redis.Redis.from_url(url) as server:
        server.execute_command("ACL", "SETUSER", "plain", "on", ">word", "~*", "+@all", "-config")
    store = RedisStore(url.replace("unix://", "unix://plain:word@"))
    with pytest.raises(StoreError, match="--durability unchecked"):
        store.promise(Policy())
    store.close()


def test_a_redis_that_anybody_may_change_is_refused_unless_told() -> None:
    for address in ("redis://127.0.0.1:1/0", "rediss://someone@127.0.0.1:1"):
        with pytest.raises(StoreError, match="--allow-open-redis"):
            RedisStore(address).promise(Policy("unchecked"))
        assert RedisStore(address).promise(Policy("unchecked", allow_open=True))
    assert RedisStore("redis://:word@127.0.0.1:1").promise(Policy("unchecked"))


def test_a_silent_redis_is_not_waited_for_for_ever(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ldp_aggregator.stores.redis._SECONDS", 0.1)
    server = LocalRedis(tmp_path)
    server.start()
    try:
        store = RedisStore(server.url)
        record(store, "sleep", "q", {bytes(16): bytes(8)}, np.array([1]))
        server.signal(signal.SIGSTOP)
        with pytest.raises(StoreError, match=r"[Tt]ime"):
            record(store, "sleep", "q", {b"1" * 16: bytes(8)}, np.array([1]))
        server.signal(signal.SIGCONT)
        record(store, "sleep", "q", {b"1" * 16: bytes(8)}, np.array([1]))
        assert store.totals("sleep")["q"].n == 2
        store.close()
    finally:
        server.signal(signal.SIGCONT)
        server.stop()


def test_no_memory_changes_nothing(url: str) -> None:
    store = RedisStore(url)
    ids = {number.to_bytes(16, "big"): bytes(8) for number in range(1000)}
    record(store, "sleep", "q", dict(list(ids.items())[:1]), np.array([1, 0]))
    with redis.Redis.from_url(url) as server:
        server.config_set("maxmemory", 1)
        for _ in range(2):
            with pytest.raises(StoreError, match="maxmemory"):
                record(store, "sleep", "q", dict(list(ids.items())[1:]), np.array([5, 6]))
        assert (store.totals("sleep")["q"].n, store.totals("sleep")["q"].cells.tolist()) == (1, [1, 0])
        server.config_set("maxmemory", 0)
    assert record(store, "sleep", "q", dict(list(ids.items())[1:]), np.array([5, 6])) == {}
    assert (store.totals("sleep")["q"].n, store.totals("sleep")["q"].cells.tolist()) == (1000, [6, 6])
    store.close()


def test_a_redis_that_was_set_back_shows_what_is_counted_from_then_on(url: str) -> None:
    store = RedisStore(url)
    record(store, "sleep", "q", {bytes(16): bytes(8)}, np.array([1]))
    with redis.Redis.from_url(url) as server:
        server.flushall()  # as after a crash with appendfsync everysec
    record(store, "sleep", "q", {bytes(16): bytes(8)}, np.array([1]))
    assert store.totals("sleep")["q"].n == 1
    store.close()


def test_no_server_of_a_cluster_is_asked_where_keys_are(tmp_path: Path) -> None:
    with redis_nodes(tmp_path) as nodes:
        store = RedisStore(nodes[0].url)
        for question in "abcdef":
            assert record(store, "sleep", question, {bytes(16): bytes(8)}, np.array([1])) == {}
        store.close()
        assert not any("cmdstat_command|getkeys" in node.client.info("commandstats") for node in nodes)


def test_a_wide_question_costs_a_few_commands_a_report(url: str) -> None:
    store = RedisStore(url)
    with redis.Redis.from_url(url) as server:
        record(store, "sleep", "q", {bytes(16): bytes(8)}, np.arange(1024) % 2)
        before = server.info("commandstats")
        record(store, "sleep", "q", {b"1" * 16: bytes(8)}, np.arange(1024) % 2)
        after = server.info("commandstats")
    calls = {name: after[name]["calls"] - before.get(name, {"calls": 0})["calls"] for name in after}
    assert sum(calls.values()) - calls["cmdstat_info"] <= 6
    store.close()
