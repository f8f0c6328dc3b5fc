"""The database of a relay: each message leaves once, in one batch, and none in a smaller crowd."""

from __future__ import annotations

import re
import sqlite3
import stat
import threading
import time
from contextlib import closing
from ipaddress import ip_address
from pathlib import Path

import numpy as np
import pytest

from encoders.errors import LdpError
from ldp_relay import held_messages as module
from ldp_relay.held_messages import (
    DELIVERED,
    LAST_DELIVERY,
    TOO_FEW,
    HeldMessages,
    Outcome,
    Passage,
)
from ldp_relay.networks import Admission, NetworkLimit
from tests.support.servers import wait_for

OPEN = 1 << 32
BATCH = 10
SIZES = [len(b"message 000")]


@pytest.fixture
def held(tmp_path: Path) -> HeldMessages:
    return HeldMessages(tmp_path / "relay.db")


def messages(count: int, first: int = 0) -> list[bytes]:
    return [b"message %03d" % number for number in range(first, first + count)]


def hold(held: HeldMessages, count: int, first: int = 0, survey: str = "s") -> None:
    for each in messages(count, first):
        assert held.hold(survey, each, OPEN) in (Outcome.NEW, Outcome.KNOWN)


def release(held: HeldMessages, survey: str = "s", *, is_closed: bool = False) -> int:
    return held.release(survey, BATCH, is_closed=is_closed, hour=7)


def pass_on(held: HeldMessages, survey: str = "s", most: int = 4) -> list[list[bytes]]:
    bodies = []
    while passage := held.next_passage(survey, most, SIZES):
        bodies.append(split(passage))
        held.mark_passed_on(passage, {"recorded": passage.records}, [0])
    return bodies


def split(passage: Passage) -> list[bytes]:
    return [passage.body[start : start + SIZES[0]] for start in range(0, len(passage.body), SIZES[0])]


def test_every_message_leaves_once_and_in_arrays_of_one_batch(held):
    hold(held, 35)
    assert release(held) == 2
    bodies = pass_on(held)
    assert [len(each) for each in bodies] == [4, 4, 2, 4, 4, 2]
    first = {each for body in bodies for each in body}
    assert len(first) == 20
    hold(held, 5, 35)
    assert release(held) == 1
    assert release(held, is_closed=True) == 1  # the rest, which is just one batch
    rest = [each for body in pass_on(held) for each in body]
    assert len(rest) == 20
    assert first | set(rest) == set(messages(40))
    assert held.batches("s") == [(7, 10, 0)] * 4


def test_the_same_array_comes_again_until_it_is_marked_also_after_a_restart(held, tmp_path):
    hold(held, 20)
    release(held)
    first = held.next_passage("s", 4, SIZES)
    assert held.next_passage("s", 4, SIZES) == first
    held.close()
    again = HeldMessages(tmp_path / "relay.db")
    assert again.next_passage("s", 4, SIZES) == first
    again.mark_passed_on(first, {"recorded": 4}, [0])
    assert not set(split(again.next_passage("s", 4, SIZES))) & set(split(first))


def test_a_message_that_is_sent_again_is_held_once_also_after_it_left(held):
    hold(held, 20)
    assert held.hold("s", messages(1)[0], OPEN) is Outcome.KNOWN
    hold(held, 20)
    assert held.counts("s")["waiting"] == 20
    release(held)
    pass_on(held)
    hold(held, 20)
    found = held.counts("s")
    assert found.pop(LAST_DELIVERY) % 3600 == 0
    counts = {"received": 20, "waiting": 10, "leaving": 0, "passed on, recorded": 10, DELIVERED: 3}
    assert found == counts


def test_messages_are_deleted_if_too_few_came(held):
    hold(held, 9)
    assert release(held) == 0
    assert release(held, is_closed=True) == 0
    assert held.next_passage("s", 4, SIZES) is None
    assert held.counts("s") == {"received": 9, "waiting": 0, "leaving": 0, TOO_FEW: 9}


def test_messages_that_leave_are_not_deleted_if_too_few_came_after_them(held):
    hold(held, 20)
    assert release(held) == 1
    for each in {*messages(20)} - leaving(held):
        held.withdraw("s", each, OPEN)
    hold(held, 9, 20)
    assert release(held, is_closed=True) == 0
    assert held.counts("s") == {"received": 29, "waiting": 0, "leaving": 10, TOO_FEW: 9}
    assert len({each for body in pass_on(held) for each in body}) == 10


def leaving(held: HeldMessages) -> set[bytes]:
    sql = "SELECT content FROM messages WHERE batch NOT NULL"
    return {content for (content,) in held._database.execute(sql)}


def test_surveys_never_share_a_crowd(held):
    hold(held, 15)
    hold(held, 15, 15, survey="other")
    assert (release(held), release(held, "other")) == (0, 0)
    assert (release(held, is_closed=True), release(held, "other", is_closed=True)) == (1, 1)
    assert {each for body in pass_on(held) for each in body} == set(messages(15))


def test_a_withdrawn_message_is_gone_and_never_held_again(held):
    hold(held, 12)
    assert held.withdraw("s", messages(1)[0], OPEN) is Outcome.KNOWN
    assert held.withdraw("s", messages(1)[0], OPEN) is Outcome.KNOWN
    hold(held, 1)
    assert held.counts("s")["waiting"] == 11
    assert held.withdraw("s", b"a message that has not arrived yet", OPEN) is Outcome.NEW
    assert held.hold("s", b"a message that has not arrived yet", OPEN) is Outcome.KNOWN
    assert held.counts("s")["waiting"] == 11
    release(held, is_closed=True)
    assert held.withdraw("s", messages(2)[1], OPEN) is Outcome.LEFT
    assert len([each for body in pass_on(held) for each in body]) == 11


def test_a_closed_survey_holds_nothing(held):
    assert held.hold("s", b"late", int(time.time())) is Outcome.CLOSED
    assert held.withdraw("s", b"late", int(time.time())) is Outcome.CLOSED
    assert held.counts("s")["received"] == 0


@pytest.mark.parametrize(("count", "outcome"), [(12, Outcome.LEFT), (9, Outcome.KNOWN)])
def test_after_the_end_names_stay_and_nothing_leaves_twice_if_the_clock_is_set_back(held, count, outcome):
    hold(held, count)
    release(held, is_closed=True)
    left = pass_on(held)
    assert held.withdraw("s", messages(1)[0], closes=1) is outcome
    hold(held, count)  # by a clock that was set back
    release(held, is_closed=True)
    assert pass_on(held) == []
    assert sum(map(len, left)) == (count if count >= BATCH else 0)
    assert held.counts("s")["received"] == count


def test_of_messages_that_left_only_names_stay(held):
    hold(held, 20)
    release(held)
    pass_on(held)
    sql = "SELECT COUNT(*), COUNT(batch), COUNT(content) FROM messages WHERE has_left"
    assert held._database.execute(sql).fetchone() == (10, 0, 0)
    assert held._database.execute("SELECT COUNT(secret) FROM batches").fetchone() == (0,)


def test_rejected_messages_are_counted_for_their_batch(held):
    hold(held, 30)
    release(held)
    found = []
    while passage := held.next_passage("s", 4, SIZES):
        found.append((passage.batch, passage.size, passage.rejected))
        outcomes = {"recorded": passage.records - 1, "duplicate": 0, "rejected": 1}
        held.mark_passed_on(passage, outcomes, [1])
    assert found == [(batch, 10, [rejected]) for batch in (1, 2) for rejected in (0, 1, 2)]
    assert held.batches("s") == [(7, 10, 3)] * 2


def test_each_code_lets_one_message_be_held(held):
    held.add_codes("s", [b"one", b"two", b"three"])
    held.add_codes("other", [b"four"])
    first, second, third = messages(3)
    assert held.hold("s", first, OPEN, b"one") is Outcome.NEW
    assert held.hold("s", first, OPEN, b"one") is Outcome.KNOWN
    assert held.hold("s", second, OPEN, b"one") is Outcome.CODE_USED
    assert held.hold("s", second, OPEN, b"four") is Outcome.CODE_UNKNOWN
    assert held.withdraw("s", second, OPEN, b"one") is Outcome.CODE_USED
    assert held.withdraw("s", second, OPEN, b"two") is Outcome.NEW
    assert held.hold("s", third, OPEN, b"two") is Outcome.CODE_USED
    assert held.hold("s", third, 1, b"three") is Outcome.CLOSED
    assert held.hold("s", third, OPEN, b"three") is Outcome.NEW
    counts = held.counts("s")
    assert (counts["waiting"], counts["codes"], counts["codes used"]) == (2, 3, 3)


def test_two_devices_with_one_code_at_once_are_one_message(held):
    held.add_codes("s", [b"one"])
    outcomes = []
    threads = [
        threading.Thread(target=lambda each=each: outcomes.append(held.hold("s", each, OPEN, b"one")))
        for each in messages(16)
    ]
    with held._lock:
        for each in threads:
            each.start()
        wait_for(lambda: len(held._queue) == 16)
    for each in threads:
        each.join()
    assert sorted(outcomes) == [Outcome.CODE_USED] * 15 + [Outcome.NEW]


OLD_SCHEMA = """
CREATE TABLE surveys (number INTEGER PRIMARY KEY, digest TEXT NOT NULL UNIQUE);
CREATE TABLE messages (
    name BLOB PRIMARY KEY, survey INTEGER NOT NULL, content BLOB, batch INTEGER, position INTEGER
) WITHOUT ROWID;
CREATE INDEX held ON messages (survey, batch, position) WHERE content NOT NULL;
CREATE TABLE batches (
    number INTEGER PRIMARY KEY, survey INTEGER NOT NULL, hour INTEGER NOT NULL, size INTEGER NOT NULL{}
);
CREATE TABLE events (
    survey INTEGER NOT NULL, event TEXT NOT NULL, count INTEGER NOT NULL, PRIMARY KEY (survey, event)
) WITHOUT ROWID;
INSERT INTO surveys VALUES (1, 's');
"""


@pytest.mark.parametrize("rejected", ["", ", rejected INTEGER NOT NULL DEFAULT 0"])
def test_a_file_of_an_earlier_version_is_carried_on(tmp_path, rejected):
    """Of the first batch 4 messages have left, the second one waits, and 10 messages are in no batch."""
    with closing(sqlite3.connect(tmp_path / "relay.db")) as old:
        old.executescript(OLD_SCHEMA.format(rejected))
        for number, each in enumerate(messages(30)):
            batch, left = (number // 10 + 1 if number < 20 else None), number < 4
            place = None if left or batch is None else number % 10
            row = (module.name_of(each), 1, None if left else each, batch, place)
            old.execute("INSERT INTO messages VALUES (?, ?, ?, ?, ?)", row)
        for number in (1, 2):
            old.execute("INSERT INTO batches (number, survey, hour, size) VALUES (?, 1, 7, 10)", (number,))
        withdrawn = module.name_of(b"withdrawn")
        old.execute("INSERT INTO messages VALUES (?, 1, NULL, NULL, NULL)", (withdrawn,))
        old.commit()
    for _ in range(2):  # opened again
        held = HeldMessages(tmp_path / "relay.db")
        assert held.batches("s") == [(7, 10, 0)] * 2
        assert held.withdraw("s", messages(1)[0], OPEN) is Outcome.LEFT
        assert held.withdraw("s", messages(5)[4], OPEN) is Outcome.LEFT
        assert held.withdraw("s", b"withdrawn", OPEN) is Outcome.KNOWN
        assert held.counts("s") == {"received": 0, "waiting": 10, "leaving": 16}
        assert len({*held._database.execute("SELECT secret FROM batches")} - {(None,)}) == 2
    bodies = pass_on(held)
    assert [len(each) for each in bodies] == [4, 2, 4, 4, 2]
    assert {each for body in bodies for each in body} == set(messages(16, 4))
    hold(held, 30)
    assert held.counts("s")["waiting"] == 10


def test_a_file_of_a_later_version_is_refused_and_stays(held, tmp_path):
    hold(held, 1)
    held._database.execute("PRAGMA user_version = 2")
    held.close()
    before = (tmp_path / "relay.db").read_bytes()
    with pytest.raises(LdpError, match=r"relay\.db: a later version of ldp-relay wrote this database: run "):
        HeldMessages(tmp_path / "relay.db")
    assert (tmp_path / "relay.db").read_bytes() == before


def test_plans_with_messages_are_listed(held):
    hold(held, 25)
    hold(held, 12, 25, survey="other")
    assert held.digests() == {"s", "other"}
    release(held, "other", is_closed=True)
    pass_on(held, "other")
    assert held.digests() == {"s"}


def test_requests_at_the_same_time_share_a_write(held, monkeypatch):
    writes = []
    write = HeldMessages._write
    monkeypatch.setattr(
        HeldMessages, "_write", lambda self, tickets: (writes.append(len(tickets)), write(self, tickets))
    )
    threads = [threading.Thread(target=hold, args=(held, 1, number)) for number in range(16)]
    with held._lock:  # as if a write was in progress
        for each in threads:
            each.start()
        wait_for(lambda: len(held._queue) == 16)
    for each in threads:
        each.join()
    assert writes == [16]
    assert held.counts("s")["waiting"] == 16


def test_a_failed_write_is_an_error_of_every_request_and_holds_nothing(held, monkeypatch):
    def fail(database: sqlite3.Connection) -> None:
        raise sqlite3.OperationalError("disk is full")

    with monkeypatch.context() as patch:
        patch.setattr(module, "transaction", fail)
        with pytest.raises(sqlite3.OperationalError, match="disk is full"):
            held.hold("s", b"message", OPEN)
    assert held.counts("s")["received"] == 0
    hold(held, 1)


def test_the_file_is_its_owner_s_and_its_rows_are_not_in_the_order_of_arrival(held, tmp_path):
    assert stat.S_IMODE((tmp_path / "relay.db").stat().st_mode) == 0o600
    hold(held, 50)
    rows = held._database.execute("SELECT content FROM messages").fetchall()
    assert [content for (content,) in rows] == sorted(messages(50), key=module.name_of)


def test_after_the_hour_the_file_does_not_show_the_order_of_arrival(held, tmp_path):
    hold(held, 60)
    release(held)
    held.forget_arrivals()
    content = (tmp_path / "relay.db").read_bytes()
    waiting = [each for each in messages(60) if content.count(each) == 1]  # no beginning of another one
    places = sorted(waiting, key=content.index)
    pages = [[each for each in places if content.index(each) // 4096 == page] for page in range(40)]
    assert sum(map(len, pages)) > 30
    for page in pages:
        assert page == sorted(page, key=module.name_of, reverse=True)


def test_a_message_that_is_repeated_takes_nobody_elses_place(held):
    limit = NetworkLimit(2)
    admission = Admission(limit, ip_address("192.0.2.1"))
    first, second, third = messages(3)
    assert held.hold("s", first, OPEN, admission=admission) is Outcome.NEW
    repeats = [threading.Thread(target=held.hold, args=("s", first, OPEN, b"", admission)) for _ in range(8)]
    for each in repeats:
        each.start()
    assert held.hold("s", second, OPEN, admission=admission) is Outcome.NEW
    for each in repeats:
        each.join()
    assert held.hold("s", third, OPEN, admission=admission) is Outcome.FULL
    assert held.hold("s", first, OPEN, admission=admission) is Outcome.KNOWN


def test_a_held_message_is_known_after_the_end_too(held):
    hold(held, 1)
    assert held.hold("s", messages(1)[0], 1) is Outcome.KNOWN


def test_deleted_bytes_and_the_order_of_arrival_are_not_in_the_files(held, tmp_path):
    hold(held, 35)
    assert release(held) == 2  # at a full hour
    assert (tmp_path / "relay.db-wal").stat().st_size == 0
    content = (tmp_path / "relay.db").read_bytes()
    held.close()
    assert all(each in content for each in messages(35))
    held = HeldMessages(tmp_path / "relay.db")
    gone = {each for body in pass_on(held) for each in body}
    content = b"".join(path.read_bytes() for path in tmp_path.iterdir())
    for each in messages(35)[10:]:  # no name is the beginning of another one
        assert (each in content) == (each not in gone)


@pytest.mark.slow
def test_the_order_of_one_survey_says_nothing_about_another(held):
    """Devices answer two surveys in one order; a false alarm has a probability below 1e-7."""
    count = 2_000
    size = len("other 000000")
    for survey in ("s", "other"):
        for number in range(count):
            assert held.hold(survey, f"{survey:5} {number:06}".encode(), OPEN)
        release(held, survey, is_closed=True)
    bodies = [held.next_passage(survey, count, [size]).body for survey in ("s", "other")]
    places = [[int(each[-6:]) for each in re.findall(rb"[a-z]+ +[0-9]{6}", body)] for body in bodies]
    assert all(sorted(each) == list(range(count)) for each in places)
    correlation = np.corrcoef(*map(np.argsort, places))[0, 1]
    assert abs(correlation) < 5.4 / count**0.5
    same = sum(one == other for one, other in zip(*places, strict=True))
    assert same < 15  # pairs of one device at one place: 1 is expected
