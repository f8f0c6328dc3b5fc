"""After an address was pointed to another Redis, a collector uses that one without a restart."""

import shutil
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import NamedTuple

import pytest
import redis

from encoders.survey import read_survey
from ldp_aggregator.stores import StoreError, StoreFailure, StorePolicy
from ldp_aggregator.stores.redis import RedisStore
from ldp_aggregator.stores.redis_servers import RedisServers
from ldp_aggregator.stores.redis_settings import _RECONNECT_SECONDS, AofRewriter
from ldp_client import make_report
from tests.ldp_aggregator.collector.conftest import REPORTS, ROW, SURVEY, ask
from tests.ldp_aggregator.collector.test_durability import SHORT_CACHE
from tests.ldp_aggregator.stores.conftest import count
from tests.support.batches import is_ready
from tests.support.forwarder import Forwarder
from tests.support.servers import TOKEN, TcpRedis, collector, wait_for

pytestmark = pytest.mark.slow


class Pair(NamedTuple):
    """A primary with a replica, and an address that leads to the primary."""

    old: TcpRedis
    new: TcpRedis
    address: Forwarder

    @property
    def url(self) -> str:
        return f"redis://:{TOKEN}@127.0.0.1:{self.address.port}/0"


@pytest.fixture
def pair(tmp_path: Path) -> Iterator[Pair]:
    with ExitStack() as stack:
        old, new = (stack.enter_context(TcpRedis(tmp_path / name)) for name in ("old", "new"))
        become_replica(new, old.port)
        wait_for(lambda: new.client.info("replication")["master_link_status"] == "up")
        yield Pair(old, new, stack.enter_context(Forwarder(old.port)))


def become_replica(server: TcpRedis, primary: int) -> None:
    server.client.replicaof("127.0.0.1", primary)


def wait_until_replicated(pair: Pair) -> None:
    """Wait until the replica has all data."""
    offset = pair.old.client.info("replication")["master_repl_offset"]
    wait_for(lambda: pair.new.client.info("replication")["slave_repl_offset"] >= offset)


def promote(pair: Pair) -> None:
    """Make the replica a second primary, once it has all data."""
    wait_until_replicated(pair)
    pair.new.client.replicaof("NO", "ONE")


def lose_its_primary(server: TcpRedis) -> None:
    server.client.config_set("replica-serve-stale-data", "no")
    become_replica(server, 1)


def need_replicas(server: TcpRedis) -> None:
    server.client.config_set("min-replicas-to-write", 1)


def fail_to_save(server: TcpRedis) -> None:
    server.client.config_set("save", "3600 1")
    shutil.rmtree(server.client.config_get("dir")["dir"])
    server.client.bgsave()
    wait_for(lambda: server.client.info("persistence")["rdb_last_bgsave_status"] == "err")


@pytest.mark.parametrize(
    ("spoil", "reason"),
    [
        (lambda server: become_replica(server, server.port), StoreFailure.READ_ONLY),
        (lose_its_primary, StoreFailure.READ_ONLY),
        (need_replicas, StoreFailure.READ_ONLY),
        (fail_to_save, StoreFailure.DISK_ERROR),
    ],
    ids=["READONLY", "MASTERDOWN", "NOREPLICAS", "MISCONF"],
)
def test_after_an_answer_of_the_wrong_server_the_address_is_looked_up_again(
    pair: Pair, spoil: Callable[[TcpRedis], object], reason: StoreFailure
):
    store = RedisStore(pair.url)
    store.check_durability(StorePolicy())
    count(store)
    promote(pair)
    spoil(pair.old)
    with pytest.raises(StoreError) as caught:
        count(store, b"1" * 16)
    assert caught.value.reason == reason
    assert not is_ready(store)
    pair.address.target = pair.new.port
    assert count(store, b"1" * 16) == {}
    assert is_ready(store)
    assert store.totals("sleep")["q"].n == 2
    store.close()


def test_a_rewrite_is_tried_again_while_a_redis_has_lost_its_primary(pair: Pair):
    servers = RedisServers(pair.url)
    lose_its_primary(pair.old)
    rewriter = AofRewriter(servers, 1.0)
    with pytest.raises(redis.ResponseError):
        rewriter._rewrite_now()
    assert rewriter._try(rewriter._rewrite) == _RECONNECT_SECONDS
    servers.close()


def test_a_collector_goes_on_after_its_redis_died_and_its_address_leads_to_the_replica(
    pair: Pair, tmp_path: Path
):
    survey, plan = tmp_path / "survey.toml", read_survey(SURVEY).compile()
    survey.write_text(SURVEY)
    with collector([survey], pair.url, prelude=SHORT_CACHE) as (base, _):
        reports = [make_report(plan, ROW, "yes") for _ in range(30)]
        for each in reports[:20]:
            assert ask(f"{base}{REPORTS}", each)[0] == 200
        wait_until_replicated(pair)
        pair.old.kill()
        assert ask(f"{base}{REPORTS}", reports[20])[0] == 503
        pair.address.target = pair.new.port
        wait_for(lambda: ask(f"{base}{REPORTS}", reports[20])[0] == 503)  # the replica takes no writes yet
        assert ask(f"{base}/readyz")[0] == 503
        pair.new.client.replicaof("NO", "ONE")
        wait_for(lambda: ask(f"{base}/readyz")[0] == 200)
        for each in reports:
            wait_for(lambda each=each: ask(f"{base}{REPORTS}", each)[0] == 200)
    assert sum(map(pair.new.client.hlen, pair.new.client.keys("ldp:{*:ids"))) == len(reports)


def test_a_collector_goes_on_after_its_replica_was_promoted(pair: Pair, tmp_path: Path):
    survey, plan = tmp_path / "survey.toml", read_survey(SURVEY).compile()
    survey.write_text(SURVEY)
    with collector([survey], pair.url, prelude=SHORT_CACHE) as (base, _):
        reports = [make_report(plan, ROW, "yes") for _ in range(30)]
        for each in reports[:20]:
            assert ask(f"{base}{REPORTS}", each)[0] == 200
        promote(pair)
        become_replica(pair.old, pair.new.port)
        assert ask(f"{base}{REPORTS}", reports[20])[0] == 503
        pair.address.target = pair.new.port
        wait_for(lambda: ask(f"{base}/readyz")[0] == 200)
        for each in reports:
            wait_for(lambda each=each: ask(f"{base}{REPORTS}", each)[0] == 200)
    assert sum(map(pair.new.client.hlen, pair.new.client.keys("ldp:{*:ids"))) == len(reports)
