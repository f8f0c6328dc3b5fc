"""A client in a survey with waves: it draws one when the person agrees, and answers in that wave alone."""

import sqlite3
from concurrent.futures import ThreadPoolExecutor

import pytest

from encoders.randomness import SystemEntropy
from encoders.report import unpack
from encoders.survey import read_survey
from encoders.survey.compiled_plan import draw_report_id
from encoders.survey.invitation import format_token
from ldp_client import Client, State
from ldp_client.journal import Journal
from tests.ldp_client.conftest import Collector
from tests.support.commands import command
from tests.support.waves import DAY, ROW, SURVEY, WAVES, Clock, compile_waves

URL = "http://collector.test/v1/surveys/mood"
BEFORE = compile_waves().waves.list[0].opens - DAY


@pytest.fixture
def clock(monkeypatch):
    return Clock(monkeypatch, BEFORE)


@pytest.fixture
def journal(tmp_path):
    return Journal(tmp_path / "journal.db")


def client_of(plan, journal, **options):
    return Client(plan, URL, journal=journal, transport=Collector(plan), strict=True, spread=0, **options)


def wave_of(journal):
    (entry,) = journal.entries()
    return entry.wave


def test_a_person_is_asked_once_in_a_drawn_wave(clock, journal):
    plan = compile_waves()
    client = client_of(plan, journal)
    granted = client.grant()
    wave = plan.waves.list[wave_of(journal)]
    assert (granted.state, granted.epsilon) == (State.WAITING, 0)
    assert (granted.opens, granted.closes) == (wave.opens, wave.closes)
    clock.now = wave.opens - 1
    assert client.report(ROW, "yes").state is State.WAITING
    clock.now = wave.opens
    assert client.status().state is State.READY
    assert client.report(ROW, "yes").epsilon == 2
    assert client.flush().state is State.SENT
    (body,) = client.transport.bodies
    assert unpack(body).question // len(plan.questions) == wave_of(journal)
    for later in plan.waves.list:
        clock.now = later.opens
        assert client.report(ROW, "no").state is State.ALREADY_REPORTED
    assert len(client.transport.bodies) == 1


def test_a_person_who_does_not_answer_in_time_has_missed_their_wave(clock, journal):
    plan = compile_waves()
    client = client_of(plan, journal)
    client.grant()
    clock.now = plan.waves.list[wave_of(journal)].closes
    assert client.report({"mood": "no such value"}).state is State.MISSED  # the row is not read
    client.grant()
    assert client.status().state is State.MISSED
    clock.now = plan.waves.list[-1].closes + DAY
    assert client.report(ROW, "yes").state is State.MISSED
    assert client.transport.bodies == []


@pytest.mark.slow
def test_a_wave_is_kept_through_withdrawals_and_grants(clock, journal):
    client = client_of(compile_waves(), journal)
    client.grant()
    wave = wave_of(journal)
    for _ in range(20):
        client.withdraw()
        assert client.status().state is State.NO_CONSENT
        client.grant()
        assert wave_of(journal) == wave


@pytest.mark.slow
def test_who_agrees_after_their_wave_is_not_asked(clock, tmp_path):
    plan = compile_waves()
    clock.now = plan.waves.list[2].opens
    states = []
    for person in range(60):  # all would be asked with probability 3 ** -60
        client = client_of(plan, Journal(tmp_path / f"{person}.db"))
        states.append(client.grant().state)
    assert set(states) == {State.NOT_ASKED, State.READY}
    assert client.transport.bodies == []


@pytest.mark.slow
def test_waves_are_drawn_evenly(clock, tmp_path):
    drawn = []
    for person in range(120):
        client_of(compile_waves(), journal := Journal(tmp_path / f"{person}.db")).grant()
        drawn.append(wave_of(journal))
    # each of three waves has 40 people on average; 10 has a probability below 1e-9
    assert all(10 < drawn.count(wave) < 75 for wave in range(3))


def test_several_clients_and_processes_share_one_wave(clock, journal):
    plan = compile_waves()
    clients = [client_of(plan, Journal(journal.path)) for _ in range(8)]
    with ThreadPoolExecutor(8) as threads:
        receipts = list(threads.map(lambda each: each.grant(), clients))
    assert len({each.opens for each in receipts}) == 1
    clock.now = plan.waves.list[wave_of(journal)].opens
    with ThreadPoolExecutor(8) as threads:
        states = [each.state for each in threads.map(lambda each: each.report(ROW, "yes"), clients)]
    assert states.count(State.QUEUED) == 1
    assert set(states) <= {State.QUEUED, State.ALREADY_REPORTED}


def test_a_wave_that_ends_while_the_row_is_read_draws_nothing(clock, journal):
    plan = compile_waves()
    client = client_of(plan, journal)
    client.grant()
    wave = plan.waves.list[wave_of(journal)]
    clock.now = wave.opens

    class SlowRow(dict):
        def __getitem__(self, name):
            clock.now = wave.closes
            return super().__getitem__(name)

    receipt = client.report(SlowRow(ROW), "yes")
    assert (receipt.state, receipt.epsilon) == (State.MISSED, 0)
    assert journal.entries()[0].report is None


def test_a_clock_that_is_set_back_answers_once(clock, journal):
    plan = compile_waves()
    client = client_of(plan, journal)
    client.grant()
    clock.now = plan.waves.list[wave_of(journal)].opens
    client.report(ROW, "yes")
    clock.now = BEFORE
    assert client.status().state in (State.QUEUED, State.SENT)
    client.grant()
    clock.now = plan.waves.list[wave_of(journal)].opens
    assert client.report(ROW, "yes").state is State.ALREADY_REPORTED


def test_now_asks_in_the_open_wave(clock, journal):
    plan = compile_waves(more='assign = "now"')
    client = client_of(plan, journal)
    receipt = client.grant()
    assert (receipt.state, receipt.opens) == (State.WAITING, plan.waves.list[0].opens)
    clock.now = plan.waves.list[1].opens
    assert client.status().state is State.READY
    client.report(ROW, "yes")
    client.flush()
    assert unpack(client.transport.bodies[0]).question // len(plan.questions) == 1


def test_after_the_last_wave_nobody_is_asked(clock, journal):
    plan = compile_waves(more='assign = "now"')
    clock.now = plan.waves.list[-1].closes
    assert client_of(plan, journal).grant().state is State.NOT_ASKED


def token_of(plan, wave):
    question = plan.in_wave(plan.questions[0], wave)
    return format_token(plan, draw_report_id(plan, question, SystemEntropy()))


def test_a_token_names_the_wave(clock, journal):
    plan = compile_waves(SURVEY.replace("epsilon = 2", 'epsilon = 2, enrolment = "token"'))
    client_of(plan, journal, token=token_of(plan, 2)).grant()
    assert wave_of(journal) == 2
    client_of(plan, journal, token=token_of(plan, 1)).grant()
    assert wave_of(journal) == 1
    clock.now = plan.waves.list[1].opens
    other = Client(plan, URL, journal=journal, transport=Collector(plan), token=token_of(plan, 0), spread=0)
    refused = other.report(ROW, "yes")
    assert (refused.state, refused.reason) == (State.INVALID, "invalid-token")
    assert "another wave" in refused.why
    assert other.transport.bodies == []


def test_a_journal_without_waves_is_extended(tmp_path, clock):
    path = tmp_path / "journal.db"
    journal = Journal(path)
    client_of(compile_waves(), journal).grant()
    with sqlite3.connect(path) as connection:
        connection.execute("ALTER TABLE surveys DROP COLUMN wave")
        connection.execute("ALTER TABLE surveys DROP COLUMN wave_name")
        connection.execute("ALTER TABLE surveys DROP COLUMN series")
        connection.execute("DROP TABLE series")
        connection.execute("PRAGMA user_version = 6")
    (entry,) = Journal(path).entries()
    assert (entry.wave, entry.state) == (None, State.READY)


def test_a_clock_set_back_after_a_late_grant_leaves_no_reason(clock, journal):
    plan = compile_waves()
    client = client_of(plan, journal)
    clock.now = plan.waves.list[-1].closes
    assert client.grant().state is State.NOT_ASKED
    clock.now = plan.waves.list[wave_of(journal)].opens
    client.report(ROW, "yes")
    assert journal.entries()[0].reason == ""


@pytest.mark.slow
def test_the_command_says_when_the_person_is_asked(clock, journal, monkeypatch):
    plan = compile_waves()
    client_of(plan, journal).grant()
    name = plan.waves.list[wave_of(journal)].name
    shown = command("ldp-client", "status", "--journal", journal.path).stdout
    assert f"agreed to; the wave {name} has not opened yet" in shown


def test_a_preview_of_another_round_does_not_take_the_wave_of_an_answered_one(clock, journal):
    first = compile_waves(SURVEY.replace("epsilon = 2", 'epsilon = 2, family = "moods"'))
    client = client_of(first, journal)
    client.grant()
    clock.now = first.waves.list[wave_of(journal)].opens
    client.report(ROW, "yes")
    two = WAVES.replace("count = 3", "count = 2").replace("month", "year")
    second = read_survey(SURVEY.replace("mood", "second", 1).replace("= 2}", '= 2, family = "moods"}') + two)
    other = Client(
        second.compile(), URL.replace("mood", "second"), journal=journal, transport=Collector(first)
    )
    assert "You are asked once" in str(other.preview(ROW, "yes"))


def test_a_token_that_another_client_grants_meanwhile_draws_nothing(clock, journal):
    plan = compile_waves(SURVEY.replace("epsilon = 2", 'epsilon = 2, enrolment = "token"'))
    entropy = SystemEntropy()
    first, second = (
        client_of(plan, journal, token=format_token(plan, draw_report_id(plan, question, entropy)))
        for question in (plan.in_wave(plan.questions[0], wave) for wave in (0, 1))
    )
    first.grant()
    clock.now = plan.waves.list[0].opens

    class Slow(dict):
        def __getitem__(self, name):
            second.grant()
            return super().__getitem__(name)

    receipt = first.report(Slow(ROW), "yes")
    assert (receipt.state, receipt.epsilon) == (State.WAITING, 0)
    assert receipt.opens == plan.waves.list[1].opens
    [entry] = journal.entries()
    assert (entry.state, entry.wave, entry.report) == (State.READY, 1, None)


def test_a_rehearsal_shows_all_states(clock, journal):
    """Each withdrawal and grant draws again: false alarm 1e-10."""
    plan = compile_waves()
    client = client_of(plan, journal, rehearsal=True)
    clock.now = plan.waves.list[1].opens
    seen = set()
    for _ in range(60):
        client.withdraw()
        client.grant()
        seen.add(client.report(ROW, "yes").state)
    assert seen == {State.NOT_ASKED, State.QUEUED, State.WAITING}
    while client.grant().state is not State.WAITING:
        client.withdraw()
    clock.now = plan.waves.list[2].closes
    assert client.report(ROW, "yes").state is State.MISSED
    assert journal.entries() == []


def test_a_preview_is_of_the_drawn_wave(clock, journal):
    plan = compile_waves()
    client = client_of(plan, journal)
    assert "You are asked once, in one of 3 waves, from 2027-01-31" in str(client.preview(ROW, "yes"))
    client.grant()
    shown = client.preview(ROW, "yes")
    assert shown.report
    assert plan.waves.list[wave_of(journal)].name in str(shown)
