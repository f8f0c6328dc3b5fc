"""Every store, for its contracts."""

from collections.abc import Iterator
from pathlib import Path

import pytest
import redis

from ldp_aggregator.stores import Store, open_store
from tests.support.servers import redis_server


@pytest.fixture(
    params=[
        "memory",
        "sqlite",
        pytest.param("redis", marks=pytest.mark.slow),
        pytest.param("cluster", marks=pytest.mark.slow),
    ]
)
def url(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    if request.param == "memory":
        yield "memory://"
    elif request.param == "sqlite":
        yield f"sqlite:///{tmp_path}/store.db"
    elif request.param == "redis":
        address = request.getfixturevalue("redis_of_this_module")
        yield address
        with redis.Redis.from_url(address) as client:
            client.flushall()
    else:
        yield request.getfixturevalue("cluster_nodes")[0].url


@pytest.fixture(scope="module")
def redis_of_this_module(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with redis_server(tmp_path_factory.mktemp("redis")) as address:
        yield address


@pytest.fixture
def store(url: str) -> Iterator[Store]:
    opened = open_store(url)
    yield opened
    opened.close()
