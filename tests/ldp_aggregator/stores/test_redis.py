"""What Redis alone can do wrong: forget what it has acknowledged."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
import redis

from ldp_aggregator.stores.redis import RedisStore
from tests.servers import redis_server


@pytest.fixture
def url(tmp_path: Path) -> Iterator[str]:
    with redis_server(tmp_path) as address:
        yield address


def test_settings_that_may_lose_reports_are_named(url: str) -> None:
    store = RedisStore(url)
    assert store.caveats() == []
    with redis.Redis.from_url(url) as server:
        server.config_set("appendfsync", "everysec")
        server.config_set("maxmemory-policy", "allkeys-lru")
    (caveat,) = store.caveats()
    assert caveat.endswith("set appendfsync always, maxmemory-policy noeviction")
    store.close()


def test_settings_that_cannot_be_read_are_named_too(url: str) -> None:
    with redis.Redis.from_url(url) as server:
        server.execute_command("ACL", "SETUSER", "plain", "on", ">word", "~*", "+@all", "-config")
    store = RedisStore(url.replace("unix://", "unix://plain:word@"))
    (caveat,) = store.caveats()
    assert "appendfsync always" in caveat
    store.close()
