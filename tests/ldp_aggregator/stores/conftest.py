"""Stores in a Redis that a test may stop and configure."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path

import numpy as np
import pytest
import redis

from ldp_aggregator.stores import MarksById, Store
from ldp_aggregator.stores.redis import RedisStore
from tests.support.batches import record
from tests.support.servers import ClusterNode, LocalRedis, redis_server

StartRedis = Callable[..., tuple[LocalRedis, RedisStore]]


def count(store: Store, name: bytes = bytes(16), question: str = "q") -> MarksById:
    """Count one report."""
    return record(store, "sleep", question, {name: bytes(8)}, np.array([1]))


@pytest.fixture
def url(tmp_path: Path) -> Iterator[str]:
    with redis_server(tmp_path) as address:
        yield address


@pytest.fixture
def client(url: str) -> Iterator[redis.Redis]:
    with redis.Redis.from_url(url) as client:
        yield client


@pytest.fixture
def store(url: str) -> Iterator[RedisStore]:
    store = RedisStore(url)
    yield store
    store.close()


@pytest.fixture
def cluster_store(cluster_nodes: Sequence[ClusterNode]) -> Iterator[RedisStore]:
    store = RedisStore(cluster_nodes[0].url)
    yield store
    store.close()


@pytest.fixture
def start_redis(tmp_path: Path) -> Iterator[StartRedis]:
    """Start a Redis with options, and open its store; `query` is added to the store's URL."""
    with ExitStack() as stack:

        def start(*options: str, query: str = "") -> tuple[LocalRedis, RedisStore]:
            server = stack.enter_context(LocalRedis(tmp_path, *options))
            store = RedisStore(f"{server.url}{query}")
            stack.callback(store.close)
            return server, store

        yield start
