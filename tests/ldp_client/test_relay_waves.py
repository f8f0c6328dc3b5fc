"""A client in a survey with waves and a relay: it sends one message, to the address of its wave."""

import json
import sqlite3

import pytest

pytest.importorskip("cryptography.hazmat.primitives.hpke")

from encoders.report import unpack
from encoders.survey.unsealing import open_inner, open_outer
from ldp_client import Client, Response, State
from ldp_client.journal import Journal
from ldp_client.journal.journal import MESSAGE_SECONDS
from tests.ldp_client.conftest import FakeTransport
from tests.support.relays import ALL, COLLECTOR, RELAY, ROW, SMALL, waved_plan
from tests.support.waves import DAY, Clock

ORIGIN = "https://relay.example"
URL = f"{ORIGIN}/night-work"
HELD = Response(202, b'{"status": "held"}')
BOTH = pytest.mark.parametrize("survey", [SMALL, ALL], ids=["one", "all"])


@pytest.fixture
def clock(monkeypatch):
    return Clock(monkeypatch, waved_plan().waves.list[0].opens - DAY)


@pytest.fixture
def journal(tmp_path):
    return Journal(tmp_path / "journal.db")


def client_of(plan, journal, *responses, **options):
    transport = FakeTransport(*(responses or (HELD,)))
    usual = {"relay": ORIGIN, "journal": journal, "transport": transport, "strict": True, "spread": 0}
    return Client(plan, URL, **usual | options)


def drawn(plan, journal):
    (entry,) = journal.entries()
    return entry.wave, plan.waves.list[entry.wave]


def open_message(plan, message, wave):
    """Return the indices of the questions in a message, as relay and collector open it."""
    content, count = open_outer(plan, message, RELAY, wave=wave), len(plan.longest_by_column)
    size = len(content) // count
    parts = [content[size * column : size * (column + 1)] for column in range(count)]
    return [unpack(open_inner(plan, each, COLLECTOR, column)).question for column, each in enumerate(parts)]


@BOTH
def test_a_message_goes_to_the_drawn_wave_in_its_time(clock, journal, survey):
    plan = waved_plan(survey)
    client = client_of(plan, journal)
    assert client.grant().state is State.WAITING
    index, wave = drawn(plan, journal)
    clock.now = wave.opens - 1
    assert client.report(ROW).state is State.WAITING
    clock.now = wave.opens
    assert client.report(ROW).state is State.QUEUED
    assert client.flush().state is State.SENT
    [(method, url, message)] = client.transport.requests
    assert (method, url) == ("POST", f"{URL}/{plan.digest}/{wave.name}")
    asked = open_message(plan, message, index)
    if plan.asks_all:
        assert asked == [2 * index, 2 * index + 1]
    else:
        assert asked[0] // 2 == index
    (entry,) = journal.entries()
    assert (entry.closes, entry.wave_name) == (wave.closes, wave.name)


def test_a_message_is_withdrawn_at_the_address_of_its_wave(clock, journal):
    plan = waved_plan()
    client = client_of(plan, journal)
    client.grant()
    _, wave = drawn(plan, journal)
    clock.now = wave.opens
    client.report(ROW)
    client.flush()
    (entry,) = journal.entries()
    assert entry.plan is None  # the address does not need it
    client.transport.responses = [Response(204, b"")]
    assert Client(plan, URL, relay=ORIGIN, journal=journal, transport=client.transport).withdraw().why == (
        "the relay does not have the report, and will not pass it on"
    )
    assert client.transport.requests[-1] == ("DELETE", f"{URL}/{plan.digest}/{wave.name}", entry.sealed)


def test_a_message_is_forgotten_a_week_after_its_wave(clock, journal):
    plan = waved_plan(more='assign = "now"')
    first = plan.waves.list[0]
    client = client_of(plan, journal)
    client.grant()
    clock.now = first.opens
    client.report(ROW)
    client.flush()
    journal.forget_messages(first.closes + MESSAGE_SECONDS - 1)
    assert journal.entries()[0].sealed
    journal.forget_messages(first.closes + MESSAGE_SECONDS)
    assert journal.entries()[0].sealed is None
    assert "or deleted it because too few others answered" in client.status().why


def test_now_sends_to_the_open_wave(clock, journal):
    plan = waved_plan(more='assign = "now"')
    client = client_of(plan, journal)
    client.grant()
    clock.now = plan.waves.list[1].opens
    client.report(ROW)
    client.flush()
    [(_, url, message)] = client.transport.requests
    assert url == f"{URL}/{plan.digest}/2027-02"
    assert open_message(plan, message, 1)[0] // 2 == 1


def test_an_answer_at_the_edge_of_two_waves_is_sealed_for_neither(clock, journal, monkeypatch):
    """The wave ends when the report is to be made: nothing is drawn, and the next wave can be answered."""
    plan = waved_plan(more='assign = "now"')
    client = client_of(plan, journal)
    client.grant()
    clock.now = plan.waves.list[0].opens
    commit = Journal.commit

    def commit_late(*arguments):
        clock.now = plan.waves.list[0].closes
        return commit(*arguments)

    with monkeypatch.context() as patch:
        patch.setattr(Journal, "commit", commit_late)
        assert client.report(ROW).state is State.READY
    assert (journal.entries()[0].sealed, journal.entries()[0].epsilon) == (None, "0")
    client.report(ROW)
    client.flush()
    [(_, url, message)] = client.transport.requests
    assert url.endswith("/2027-02")
    assert open_message(plan, message, 1)[0] // 2 == 1


def test_a_relay_that_has_ended_the_wave_is_asked_again(clock, journal):
    """Its answer is final after a day, as at the end of a survey."""
    plan = waved_plan()
    client = client_of(plan, journal, Response(410, json.dumps({"reason": "survey-closed"}).encode()))
    client.grant()
    _, wave = drawn(plan, journal)
    clock.now = wave.closes - 1
    client.report(ROW)
    assert client.flush(0.2).state is State.QUEUED
    assert journal.entries()[0].reason == "closed-once"
    assert {url for _, url, _ in client.transport.requests} == {f"{URL}/{plan.digest}/{wave.name}"}


def test_the_name_of_the_wave_is_added_to_an_earlier_journal(clock, journal, tmp_path):
    client_of(waved_plan(), journal).grant()
    with sqlite3.connect(tmp_path / "journal.db") as connection:
        for name in ("wave", "wave_name"):
            connection.execute(f"ALTER TABLE surveys DROP COLUMN {name}")
        connection.execute("ALTER TABLE surveys DROP COLUMN series")
        connection.execute("DROP TABLE series")
        connection.execute("PRAGMA user_version = 6")
    (entry,) = Journal(tmp_path / "journal.db").entries()
    assert (entry.wave, entry.wave_name) == (None, None)
    assert entry.post[0] == f"{URL}/reports"
