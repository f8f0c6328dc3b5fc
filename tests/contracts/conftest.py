"""Every store, for its contracts."""

from collections.abc import Iterator
from pathlib import Path

import pytest
import redis
from redis._parsers import CommandsParser

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
def url(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
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
        monkeypatch.setattr(CommandsParser, "initialize", parse_commands_once)
        yield request.getfixturevalue("cluster_nodes")[0].url


_COMMANDS: dict[str, object] = {}
_PARSE_COMMANDS = CommandsParser.initialize


def parse_commands_once(parser: CommandsParser, client: redis.Redis) -> None:
    """Give a client of the cluster the list of its commands; each would parse it for 40 ms."""
    if not _COMMANDS:
        _PARSE_COMMANDS(parser, client)
        _COMMANDS.update(parser.commands)
    parser.commands = _COMMANDS


@pytest.fixture(scope="module")
def redis_of_this_module(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with redis_server(tmp_path_factory.mktemp("redis")) as address:
        yield address


@pytest.fixture
def store(url: str) -> Iterator[Store]:
    opened = open_store(url)
    yield opened
    opened.close()
