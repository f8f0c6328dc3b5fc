"""The contract of every store: no report is counted if the store has lost the survey."""

import os
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest
import redis

from ldp_aggregator.stores import MemoryStore, Store, StoreError, StoreFailure, open_store
from ldp_aggregator.stores.failure import MissingSurveyError
from ldp_aggregator.stores.group_commit import GroupCommit
from tests.support.batches import batch, is_ready, record
from tests.support.servers import LocalRedis

SURVEY, COUNTER, OTHER = "sleep-2026", "0123456789abcdef", "fedcba9876543210"
ONE = np.array([1], np.int64)


def ids(number: int) -> dict[bytes, bytes]:
    return {number.to_bytes(16, "big"): b"f" * 8}


def published(store: Store) -> Store:
    store.publish(SURVEY, b"{}", [COUNTER, OTHER])
    store.require_survey(SURVEY, b"{}", [COUNTER, OTHER])
    record(store, SURVEY, COUNTER, ids(1), ONE)
    return store


def refuses(store: Store, counter: str = COUNTER) -> StoreFailure:
    with pytest.raises(StoreError) as caught:
        record(store, SURVEY, counter, ids(2), ONE)
    return caught.value.reason


@pytest.fixture
def local_redis(tmp_path: Path) -> Iterator[LocalRedis]:
    with LocalRedis(tmp_path) as started:
        yield started


def test_a_survey_that_was_never_published_is_refused_if_it_is_required():
    store = MemoryStore()
    store.require_survey(SURVEY, b"{}")
    assert refuses(store) == StoreFailure.SURVEY_MISSING
    assert not is_ready(store)
    assert store.totals(SURVEY) == {}


@pytest.mark.slow
def test_an_emptied_redis_counts_no_report_until_its_data_are_back(local_redis):
    store = published(open_store(local_redis.url))
    with redis.Redis(unix_socket_path=str(local_redis.path)) as client:
        saved = {key: client.dump(key) for key in client.keys("ldp:*")}
        client.flushall()
        assert refuses(store) == StoreFailure.SURVEY_MISSING
        with pytest.raises(MissingSurveyError, match=SURVEY):
            store.check_ready()
        assert client.keys("ldp:{*") == []
        for key, value in saved.items():
            client.restore(key, 0, value, replace=True)
    assert is_ready(store)
    assert record(store, SURVEY, COUNTER, ids(2), ONE) == {}
    assert store.totals(SURVEY)[COUNTER].n == 2
    store.close()


@pytest.mark.slow
def test_an_emptied_server_of_a_cluster_refuses_only_its_questions(cluster_nodes):
    store = open_store(cluster_nodes[0].url)
    counters = [f"{number:016x}" for number in range(30)]
    store.publish(SURVEY, b"{}", counters)
    store.require_survey(SURVEY, b"{}", counters)
    for counter in counters:
        record(store, SURVEY, counter, ids(1), ONE)
    emptied = next(node for node in cluster_nodes if not node.client.keys("ldp:plans"))
    here = b" ".join(emptied.client.keys("ldp:*")).decode()
    lost = {counter for counter in counters if counter in here}
    emptied.client.flushall()
    assert 0 < len(lost) < len(counters)
    assert not is_ready(store)
    for counter in counters:
        if counter in lost:
            assert refuses(store, counter) == StoreFailure.SURVEY_MISSING
        else:
            assert record(store, SURVEY, counter, ids(2), ONE) == {}
    store.close()


@pytest.mark.slow
def test_another_survey_in_the_same_group_commit_is_counted(local_redis):
    store = published(open_store(local_redis.url))
    store.require_survey("lost", b"{}", [COUNTER])
    group = GroupCommit(store)
    with pytest.raises(MissingSurveyError, match="lost"):
        group.record([batch("lost", COUNTER, ids(1), ONE)])
    assert group.record([batch(SURVEY, COUNTER, ids(2), ONE)]) == [{}]
    store.close()


# -- SQLite's file ------------------------------------------------------------------------------


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "store.db"


@pytest.fixture
def sqlite_store(path: Path) -> Iterator[Store]:
    store = published(open_store(f"sqlite:///{path}"))
    yield store
    store.close()


def test_a_moved_file_is_missing_until_it_is_back(sqlite_store, path):
    path.rename(path.with_name("moved.db"))
    assert refuses(sqlite_store) == StoreFailure.FILE_MISSING
    assert not is_ready(sqlite_store)
    assert not path.exists()
    path.with_name("moved.db").rename(path)
    assert record(sqlite_store, SURVEY, COUNTER, ids(2), ONE) == {}


def test_another_file_in_the_place_of_the_old_one_is_used_only_after_a_restart(sqlite_store, path):
    backup = path.with_name("backup.db")
    with closing(sqlite3.connect(path)) as source, closing(sqlite3.connect(backup)) as target:
        source.backup(target)
    record(sqlite_store, SURVEY, COUNTER, ids(2), ONE)
    sqlite_store.close()
    path.unlink()
    backup.rename(path)
    assert refuses(sqlite_store) == StoreFailure.FILE_REPLACED
    assert not is_ready(sqlite_store)
    restarted = open_store(f"sqlite:///{path}")
    restarted.require_survey(SURVEY, b"{}")
    assert record(restarted, SURVEY, COUNTER, ids(1) | ids(3), ONE) == ids(1)
    assert record(restarted, SURVEY, COUNTER, ids(2), ONE) == {}
    assert restarted.totals(SURVEY)[COUNTER].n == 2
    restarted.close()


@pytest.mark.slow
def test_a_report_is_not_acknowledged_if_the_file_is_deleted_while_it_is_written(
    sqlite_store, path, monkeypatch
):
    from ldp_aggregator.stores import sqlite_counters

    def delete_after(*arguments: object, original: object = sqlite_counters.find_missing) -> object:
        missing = original(*arguments)
        os.unlink(path)
        return missing

    monkeypatch.setattr(sqlite_counters, "find_missing", delete_after)
    assert refuses(sqlite_store) != StoreFailure.SURVEY_MISSING


@pytest.mark.slow
def test_a_new_empty_file_in_the_place_of_the_old_one_counts_no_report(sqlite_store, path):
    path.unlink()
    path.with_name("empty.db").touch()
    path.with_name("empty.db").rename(path)
    assert refuses(sqlite_store) == StoreFailure.FILE_REPLACED
    with closing(open_store(f"sqlite:///{path}")) as restarted:
        restarted.require_survey(SURVEY, b"{}")
        assert refuses(restarted) == StoreFailure.SURVEY_MISSING
        assert not is_ready(restarted)


def test_a_missing_file_is_created_only_on_request(path):
    with pytest.raises(StoreError, match="does not exist") as caught:
        open_store(f"sqlite:///{path}", create=False)
    assert caught.value.reason == StoreFailure.FILE_MISSING
    assert not path.exists()
    open_store(f"sqlite:///{path}").close()
    open_store(f"sqlite:///{path}", create=False).close()


def test_a_missing_folder_is_named(tmp_path):
    with pytest.raises(StoreError, match=r"the folder .*nofolder does not exist"):
        open_store(f"sqlite:///{tmp_path}/nofolder/store.db")


def test_a_file_that_is_not_a_database_is_damaged(path):
    path.write_bytes(b"no database at all, but long enough to look at" * 30)
    with pytest.raises(StoreError) as caught:
        open_store(f"sqlite:///{path}")
    assert caught.value.reason == StoreFailure.DAMAGED
