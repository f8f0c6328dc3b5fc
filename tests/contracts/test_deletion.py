"""The contract of every store: a deleted survey is gone, counts nothing more, and does not come back."""

import hashlib
import os
import re
import signal
import sqlite3
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from itertools import count
from unittest.mock import patch

import numpy as np
import pytest
import redis

from encoders.randomness import FastStream
from encoders.survey import read_survey
from ldp_aggregator import deletion
from ldp_aggregator.collector.invitations import count_tokens, create_tokens, token_namespace
from ldp_aggregator.deletion import DeletionError, delete_survey
from ldp_aggregator.migrate import migrate_survey
from ldp_aggregator.snapshot import take_snapshot
from ldp_aggregator.stores import MemoryStore, Store, StoreError, open_store, sqlite_file
from ldp_aggregator.stores.failure import MissingSurveyError
from ldp_aggregator.stores.operator_log import (
    DELETED,
    DeletedSurveyError,
    Tombstone,
    read_log,
    read_tombstones,
    write_log,
)
from ldp_aggregator.stores.redis import RedisStore
from ldp_aggregator.stores.schedule import Schedule
from ldp_aggregator.stores.store import SCHEDULES, TEXTS
from tests.support.batches import record
from tests.support.servers import wait_for
from tests.support.surveys import SLEEP
from tests.support.threads import in_threads

SURVEY, OTHER = "sleep-2026", "diet"
COUNTERS = [f"{number:016x}" for number in range(40)]
"""Enough for every server of a cluster to have some."""
PLAN = b"{}"
ONE = np.array([1], np.int64)


def entries(*numbers: int) -> dict[bytes, bytes]:
    return {b"identity" + number.to_bytes(8, "big"): b"the-mark" for number in numbers}


def fill(store: Store) -> Store:
    """Collect 160 reports, 3 tokens and 5 rejections of the survey, and one report of another survey."""
    for survey in (SURVEY, OTHER):
        store.publish(survey, PLAN, COUNTERS)
        store.require_survey(survey, PLAN, COUNTERS)
        store.set_note(TEXTS, survey, b"texts")
        store.set_note(SCHEDULES, survey, b"{}")
        store.add_rejections(survey, "malformed", 5)
    for counter in COUNTERS:
        record(store, SURVEY, counter, entries(1, 2, 3, 4), ONE)
    record(store, token_namespace(SURVEY), COUNTERS[0], entries(7, 8, 9), np.zeros(0, np.int64))
    record(store, OTHER, COUNTERS[0], entries(1), ONE)
    return store


def delete(store: Store, survey: str = SURVEY) -> dict[str, object]:
    return delete_survey(store, survey, "anna", even_open=True)


def contents(store: Store, survey: str) -> list[object]:
    """Return all that a store has of a survey, except for notes."""
    kept = [each.get(survey) for each in (store.plans(), store.notes(TEXTS), store.notes(SCHEDULES))]
    ids = [list(store.report_ids(survey, counter)) for counter in COUNTERS]
    return [*kept, store.totals(survey), store.totals(token_namespace(survey)), store.rejections(survey), ids]


NOTHING: list[object] = [None, None, None, {}, {}, {}, [[]] * len(COUNTERS)]


def test_a_deleted_survey_leaves_its_id_its_digest_and_the_date(store):
    found = delete(fill(store))
    assert (found["reports"], found["rejected"], found["tokens"]) == (160, 5, 3)
    assert contents(store, SURVEY) == NOTHING
    assert read_tombstones(store) == {SURVEY: Tombstone(found["digest"], found["time"], complete=True)}
    assert abs(found["time"] - time.time()) < 60
    assert found["digest"] == hashlib.sha256(PLAN).hexdigest()


def test_another_survey_is_not_touched(store):
    before = contents(fill(store), OTHER)[3]
    delete(store)
    assert list(store.plans()) == [OTHER]
    assert contents(store, OTHER)[3].keys() == before.keys()
    assert record(store, OTHER, COUNTERS[0], entries(1), ONE) == entries(1)
    assert record(store, OTHER, COUNTERS[0], entries(2), ONE) == {}
    store.check_ready()  # although this collector requires the deleted survey too


@pytest.mark.parametrize("plan", [PLAN, b'{"another": 1}'])
def test_no_plan_is_published_under_the_id_again(store, plan):
    delete(fill(store))
    with pytest.raises(DeletedSurveyError, match=r"was deleted from this store on 2\d{3}-.* another id"):
        store.publish(SURVEY, plan, COUNTERS)
    assert contents(store, SURVEY) == NOTHING


def test_nothing_is_written_for_a_deleted_survey(store):
    delete(fill(store))
    for counter in COUNTERS:
        with pytest.raises(MissingSurveyError):
            record(store, SURVEY, counter, entries(5), ONE)
    store.add_rejections(SURVEY, "survey-closed")  # a collector that had not noticed
    for kind in (TEXTS, SCHEDULES):
        with pytest.raises(StoreError, match="has no survey"):
            store.set_note(kind, SURVEY, b"{}")
    assert contents(store, SURVEY) == NOTHING


def test_a_survey_with_the_name_of_the_keys_is_deleted_without_the_notes(store):
    store.publish("ldp", PLAN, COUNTERS)
    record(store, "ldp", COUNTERS[0], entries(1), ONE)
    assert delete(store, "ldp")["reports"] == 1
    assert contents(store, "ldp") == NOTHING
    assert (list(read_tombstones(store)), len(read_log(store))) == (["ldp"], 1)


def test_only_a_closed_survey_is_deleted(store):
    fill(store)
    for schedule in (
        Schedule(),
        Schedule(opens=1 << 40),
        Schedule(import_run="a"),
        Schedule(closes=1, grace=1 << 40),
    ):
        store.set_note(SCHEDULES, SURVEY, schedule.to_json())
        with pytest.raises(
            DeletionError, match=r"is not closed.* `ldp-collector close sleep-2026` .*--even-open"
        ):
            delete_survey(store, SURVEY, "anna")
    assert (store.notes(DELETED), read_log(store)) == ({}, [])
    store.set_note(SCHEDULES, SURVEY, Schedule(closes=1).to_json())
    delete_survey(store, SURVEY, "anna")
    delete_survey(store, SURVEY, "ben")
    assert [(each.who, each.what, each.survey) for each in read_log(store)] == [("anna", "deleted", SURVEY)]


def test_redis_recognises_a_counted_report_when_a_deletion_has_begun(store, url):
    if url.startswith(("memory", "sqlite")):
        pytest.skip("counts all batches of a call or none")
    fill(store)
    store.unpublish(SURVEY)
    assert record(store, SURVEY, COUNTERS[3], entries(1, 2), ONE) == entries(1, 2)
    with pytest.raises(MissingSurveyError):
        record(store, SURVEY, COUNTERS[3], entries(5), ONE)


def test_a_deletion_that_runs_again_changes_nothing(store):
    first = delete(fill(store))
    assert delete(store) == first
    with pytest.raises(StoreError, match="has no survey 'unknown'; it has: diet"):
        delete(store, "unknown")


STEPS = ["set_note", "unpublish", "totals", "erase"]


@pytest.mark.parametrize("step", STEPS)
@pytest.mark.parametrize("after", [False, True])
def test_a_deletion_that_was_interrupted_is_completed_with_the_same_numbers(store, monkeypatch, step, after):
    fill(store)
    original = getattr(store, step)

    def interrupt(*arguments: object, **more: object) -> None:
        if after:
            original(*arguments, **more)
        raise StoreError("interrupted")

    monkeypatch.setattr(store, step, interrupt)
    with pytest.raises(StoreError, match="interrupted"):
        delete(store)
    monkeypatch.undo()
    if step != "set_note":  # the first note is the entry of the log
        assert not read_tombstones(store)[SURVEY].complete
        with pytest.raises(DeletedSurveyError):
            store.publish(SURVEY, PLAN, COUNTERS)
        store.check_ready()
    found = delete(store)
    assert (found["reports"], found["tokens"]) == (160, 3)
    assert contents(store, SURVEY) == NOTHING


def test_two_deletions_at_once_agree_about_the_numbers(store, url, monkeypatch):
    fill(store)
    second = store if url == "memory://" else open_store(url)
    barrier = threading.Barrier(2)

    def count_late(*arguments: object, original: object = deletion.count_tokens) -> int:
        barrier.wait(20)  # both have counted the reports
        return original(*arguments)  # type: ignore[operator]

    monkeypatch.setattr(deletion, "count_tokens", count_late)
    one, other = in_threads(delete, [store, second])
    assert one == other
    assert (one["reports"], one["tokens"]) == (160, 3)
    assert contents(store, SURVEY) == NOTHING
    if second is not store:
        second.close()


def test_a_deletion_that_begins_beside_another_one_agrees_with_it(store, monkeypatch):
    fill(store)
    first = []

    def read_early(*arguments: object, original: object = deletion.read_tombstones) -> object:
        monkeypatch.undo()
        tombstones = original(*arguments)  # type: ignore[operator]
        first.append(delete(store))  # the other one begins and ends after this moment
        return tombstones

    monkeypatch.setattr(deletion, "read_tombstones", read_early)
    assert delete(store) == first[0]
    assert contents(store, SURVEY) == NOTHING


@pytest.mark.slow
def test_a_report_beside_a_deletion_is_counted_before_it_or_refused(store, url):
    if url == "memory://":
        pytest.skip("the memory store belongs to one process")
    fill(store)
    collectors = [open_store(url) for _ in range(3)]
    for each in collectors:
        each.require_survey(SURVEY, PLAN, COUNTERS)
    counted = [0, 0, 0]

    def send(number: int) -> None:
        for turn in range(100_000):
            try:
                known = record(
                    collectors[number], SURVEY, COUNTERS[turn % 40], entries(1000 * turn + number + 10), ONE
                )
            except MissingSurveyError:
                return
            counted[number] += not known

    senders = [threading.Thread(target=send, args=[number]) for number in range(3)]
    for each in senders:
        each.start()
    wait_for(lambda: min(counted) > 0)
    found = delete(store)
    for each in senders:
        each.join(120)
    assert found["reports"] == 160 + sum(counted)
    assert contents(store, SURVEY) == NOTHING
    for each in collectors:
        each.close()


def test_a_snapshot_beside_a_deletion_is_refused(store, plan, monkeypatch):
    store.publish(plan.id, plan.json)
    original = store.totals

    def delete_before(survey: str) -> object:
        monkeypatch.undo()
        delete(store, plan.id)
        return original(survey)

    monkeypatch.setattr(store, "totals", delete_before)
    with pytest.raises(DeletedSurveyError):
        take_snapshot(store, plan.id)


@pytest.mark.slow
def test_tokens_that_are_made_beside_a_deletion_are_deleted_too(store):
    invited = read_survey(SLEEP.replace("epsilon = 1.0", 'epsilon = 1.0\nenrolment = "token"')).compile()
    store.publish(invited.id, invited.json)
    tokens = create_tokens(store, invited, 20_000, FastStream(1))
    next(tokens)
    delete(store, invited.id)
    with pytest.raises(DeletedSurveyError):
        list(tokens)
    assert count_tokens(store, invited.id) == 0


def test_a_deleted_survey_is_not_imported_again(store):
    source = fill(MemoryStore())
    delete(fill(store))
    with pytest.raises(DeletedSurveyError):
        migrate_survey(source, store, SURVEY)
    assert contents(store, SURVEY) == NOTHING


def test_an_import_beside_a_deletion_leaves_nothing(store, monkeypatch):
    source = fill(MemoryStore())
    original = store.record

    def delete_before(batches: object) -> object:
        monkeypatch.undo()
        delete(store)
        return original(batches)

    monkeypatch.setattr(store, "record", delete_before)
    with pytest.raises(DeletedSurveyError):
        migrate_survey(source, store, SURVEY)
    assert contents(store, SURVEY) == NOTHING


@pytest.mark.slow
def test_sqlite_overwrites_the_ids_of_deleted_reports(tmp_path):
    path = tmp_path / "store.db"
    store = fill(open_store(f"sqlite:///{path}"))
    record(store, SURVEY, COUNTERS[0], entries(*range(1000, 80_000)), ONE)
    record(store, OTHER, COUNTERS[0], entries(1 << 40), ONE)
    store.close()
    assert path.read_bytes().count(b"identity") > 79_000
    store = open_store(f"sqlite:///{path}")
    delete(store)
    store.close()
    data = path.read_bytes()
    assert data.count(b"identity") == 2  # of the other survey
    assert not path.with_name("store.db-wal").exists()
    with sqlite3.connect(path) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]


# -- notes and the log --------------------------------------------------------------------------


def test_notes_are_kept_by_kind_and_name(store):
    store.set_note("log", "a", b"1")
    store.set_note("log", "b/c", b"2")
    store.set_note("logs", "a", b"3")
    store.set_note("log", "a", b"4", once=True)
    store.set_note("log", "d", b"5", once=True)
    assert store.notes("log") == {"a": b"1", "b/c": b"2", "d": b"5"}
    store.set_note("log", "a", b"6")
    assert store.notes("log") == {"a": b"6", "b/c": b"2", "d": b"5"}
    assert store.notes(DELETED) == {}


def test_the_log_is_in_the_order_of_time(store, monkeypatch):
    for number in (2, 0, 1):
        monkeypatch.setattr(time, "time_ns", lambda number=number: 1_800_000_000 * 10**9 + number)
        write_log(store, "anna", f"opened {number}", SURVEY, "detail")
    assert [each.what for each in read_log(store)] == ["opened 0", "opened 1", "opened 2"]
    assert read_log(store)[0] == ("2027-01-15T08:00:00Z", "anna", "opened 0", SURVEY, "detail")


def test_a_daily_entry_replaces_that_of_the_same_day(store, monkeypatch):
    for seconds in (0, 3600, 90_000):
        monkeypatch.setattr(time, "time_ns", lambda seconds=seconds: (1_800_000_000 + seconds) * 10**9)
        write_log(store, "anna", "exported", SURVEY, daily=True)
    write_log(store, "ben", "exported", SURVEY, daily=True)
    assert [(each.who, each.time[:13]) for each in read_log(store)] == [
        ("anna", "2027-01-15T09"),
        *[("anna", "2027-01-16T09"), ("ben", "2027-01-16T09")],
    ]


# -- kills ----------------------------------------------------------------------------------------

CHANGING = re.compile(
    rb"(?:^|\r\n)\*\d+\r\n\$\d+\r\n(?!(?:HELLO|CLIENT|CLUSTER|GET|HGET|HGETALL|SCAN|HSCAN)\r\n)"
)
"""The beginning of a command to Redis that is none of those which only read."""


def killed_at(url: str, survey: str, step: int) -> bool:
    """Delete a survey in a child process that is killed before its n-th step; return whether it was."""
    child = os.fork()
    if child == 0:
        steps = count(1)

        def next_step(*_: object) -> None:
            if next(steps) == step:
                os.kill(os.getpid(), signal.SIGKILL)

        try:
            with patched_to_call(next_step), closing(open_store(url)) as store:
                delete_survey(store, survey, "anna", even_open=True)
        finally:
            os._exit(0)
    return os.WIFSIGNALED(os.waitpid(child, 0)[1])


@contextmanager
def patched_to_call(next_step: Callable[..., None]) -> Iterator[None]:
    """Call a function before each statement of SQLite, and each command to Redis that may change it."""
    send, connect = redis.connection.AbstractConnection.send_packed_command, sqlite_file.connect

    def send_later(connection: object, commands: list[bytes], **more: object) -> object:
        if CHANGING.search(b"".join(commands)):  # a kill before one that reads is as one before the next
            next_step()
        return send(connection, commands, **more)

    def connect_traced(*arguments: object) -> sqlite3.Connection:
        connection = connect(*arguments)
        connection.set_trace_callback(next_step)
        return connection

    with (
        patch.object(redis.connection.AbstractConnection, "send_packed_command", send_later),
        patch.object(sqlite_file, "connect", connect_traced),
    ):
        yield


def delete_with_a_kill(url: str, survey: str, step: int) -> bool:
    """Fill a store, and delete the survey with a kill at a step, then completely; return whether it came."""
    with closing(open_store(url)) as store:
        store.publish(survey, PLAN, COUNTERS[:3])
        for counter in COUNTERS[:3]:
            record(store, survey, counter, entries(1, 2), ONE)
        record(store, token_namespace(survey), COUNTERS[0], entries(7), np.zeros(0, np.int64))
    if not killed_at(url, survey, step):
        return False
    with closing(open_store(url)) as store:
        if isinstance(store, RedisStore):
            end_lock(store, survey)
        store.require_survey(survey, PLAN, COUNTERS[:3])
        store.check_ready()
        is_begun = survey in read_tombstones(store)
        if is_begun:
            with pytest.raises(DeletedSurveyError):
                store.publish(survey, PLAN, COUNTERS)
        else:
            assert record(store, survey, COUNTERS[0], entries(3), ONE) == {}
        found = delete(store, survey)
        assert (found["reports"], found["tokens"]) == (6 if is_begun else 7, 1)
        assert contents(store, survey) == NOTHING
        assert survey not in store.plans()
    return True


def end_lock(store: RedisStore, survey: str) -> None:
    """Check that the lock of a killed process ends by itself, and let it end now."""
    lock = f"ldp:publishing:{survey}"
    if store._redis.exists(lock):
        assert 0 < store._redis.pttl(lock) <= 60_000
        store._redis.delete(lock)


@pytest.mark.slow
def test_a_deletion_that_is_killed_at_any_time_is_completed_with_the_right_numbers(url):
    if url == "memory://":
        pytest.skip("the memory store belongs to one process")
    kills = next(step for step in count(1) if not delete_with_a_kill(url, f"sleep-{step}", step))
    assert kills > 15
