"""The recorder for applications' own tests, used as an application would."""

import os
import re
import time
from dataclasses import replace
from pathlib import Path

import pytest

import ldp_client
from ldp_client import Client, HttpTransport, Journal, LdpError, State, TransportError
from ldp_client.testing import BEHAVIOURS, Recorder, recording
from tests.ldp_client.conftest import RECORDED, ROW, URL, FakeTransport, wait_for_attempt
from tests.support.servers import wait_for

ROOT = Path(__file__).resolve().parents[2]
HOST = "https://collector.example/v1/surveys/sleep"


def test_an_application_s_report_is_recorded_once(ldp_recorder, plan):
    ldp_recorder.serve(plan)
    client = ldp_client.configure(HOST)
    client.grant()
    ldp_recorder.offline = True
    assert ldp_client.report(ROW, "no").state is State.QUEUED
    assert client.flush(0.1).state is State.QUEUED
    assert ldp_recorder.reports == []
    ldp_recorder.offline = False
    assert client.flush().state is State.SENT
    (report,) = ldp_recorder.reports
    assert report.plan_digest.hex() == plan.digest
    assert len(ldp_recorder.bodies) == 1


def test_recorder_records_reports_while_the_environment_asks_for_rehearsals(tmp_path, monkeypatch, plan):
    monkeypatch.setenv("LDP_REHEARSAL", "1")
    with pytest.MonkeyPatch.context() as patch, recording(tmp_path, patch) as recorder:
        with Client(recorder.serve(plan)) as client:
            client.grant()
            assert not client.report(ROW, "no").rehearsal
        assert len(recorder.reports) == 1
    assert os.environ["LDP_REHEARSAL"] == "1"


def test_each_test_starts_with_a_new_journal(ldp_recorder, plan):
    url = ldp_recorder.serve(plan)
    with ldp_client.Client(url) as client:
        assert client.status().state is State.NO_CONSENT
        assert client.grant().state is State.READY
        client.report(ROW, "yes")
    assert len(ldp_recorder.reports) == 1
    assert ldp_client.Client("https://elsewhere.example/v1/surveys/diet").grant().state is State.UNAVAILABLE


def test_a_survey_that_the_recorder_does_not_serve_is_named(ldp_recorder, plan):
    with Client("https://collector.example/v1/surveys/sleep-2027") as client:
        receipt = client.grant()
        assert (receipt.state, receipt.reason) == (State.UNAVAILABLE, "unknown-survey")
        assert receipt.why == "ldp_recorder does not serve a survey: call ldp_recorder.serve(plan) first"
        ldp_recorder.serve(plan)
        assert client.grant().why == "ldp_recorder serves sleep, not sleep-2027"


def test_recorder_responds_to_repeated_and_malformed_bodies_like_a_collector(ldp_recorder, plan):
    url = ldp_recorder.serve(plan)
    body = ldp_client.make_report(plan, ROW, "no")
    responses = [
        ldp_recorder.request("POST", f"{url}/reports", each, 1.0) for each in (body, body, b"nonsense")
    ]
    assert [(each.status, each.entry("status") or each.entry("reason")) for each in responses] == [
        (200, "recorded"),
        (200, "duplicate"),
        (400, "malformed"),
    ]
    assert len(ldp_recorder.reports) == 1


def test_the_reports_of_several_surveys_are_there_at_once(ldp_recorder, plan):
    for name in ("sleep", "diet", "sport"):
        client = ldp_client.Client(ldp_recorder.serve(replace(plan, id=name, family=name)))
        client.grant()
        assert client.report(ROW, "no").state is State.QUEUED
    assert len(ldp_recorder.reports) == 3


# -- collectors in trouble --------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize(
    ("behaviour", "seconds", "state", "reason"),
    [
        ("normal", 5, State.SENT, ""),
        ("busy", 5, State.QUEUED, "too-many-requests"),
        ("closed", 5, State.QUEUED, "closed-once"),
        ("rejected", 5, State.REJECTED, "bad-payload"),
        ("plan-changed", 0.3, State.QUEUED, "wrong-plan"),
        ("slow", 0.3, State.QUEUED, "no-answer-yet"),
    ],
)
def test_recorder_responds_like_a_collector_in_trouble(ldp_recorder, plan, behaviour, seconds, state, reason):
    with Client(ldp_recorder.serve(plan), spread=0) as client:
        client.grant()
        ldp_recorder.respond(behaviour, seconds=60)
        client.report(ROW, "no")
        if behaviour != "slow":
            wait_for_attempt(client)
        receipt = client.flush(seconds)
        ldp_recorder.offline = True  # nothing more is sent when the client is closed
        client.close(0)
    assert (receipt.state, receipt.reason) == (state, reason)


def test_every_behaviour_is_in_the_documentation():
    page = (ROOT / "docs" / "embedding.md").read_text("utf-8")
    assert sorted(re.findall(r'^\| `"([a-z-]+)"', page, re.MULTILINE)) == sorted(BEHAVIOURS)


@pytest.mark.slow
def test_reports_are_counted_when_the_trouble_is_over(ldp_recorder, plan):
    with Client(ldp_recorder.serve(plan), spread=0) as client:
        client.grant()
        for behaviour in ("busy", "plan-changed"):
            ldp_recorder.respond(behaviour, retry_after=0.05)
            client.report(ROW, "no")
            assert client.flush(0.3).state is State.QUEUED
            assert ldp_recorder.reports == []
        ldp_recorder.respond("normal")
        assert client.flush().state is State.SENT
    assert len(ldp_recorder.reports) == 1
    assert len(set(ldp_recorder.bodies)) == 1


def test_busy_collector_asks_for_a_pause(ldp_recorder, plan):
    with Client(ldp_recorder.serve(plan), spread=0) as client:
        client.grant()
        ldp_recorder.respond("busy", retry_after=60)
        client.report(ROW, "no")
        assert client.flush().reason == "too-many-requests"
        ldp_recorder.respond("normal")
        assert client.flush(0.3).reason == "too-many-requests"
        assert len(ldp_recorder.bodies) == 1
        assert len(ldp_recorder.reports) == 1  # forgets the pause


def test_closed_collector_serves_no_plan(ldp_recorder, plan):
    url = ldp_recorder.serve(plan)
    ldp_recorder.respond("closed")
    receipt = Client(url).grant()
    assert (receipt.state, receipt.reason) == (State.EXPIRED, "survey-closed")


@pytest.mark.parametrize("family", ["", "changed"])
def test_changed_plan_is_refused_by_a_pinned_digest_and_takes_reports_of_its_own(ldp_recorder, plan, family):
    plan = replace(plan, family=family)
    url = ldp_recorder.serve(plan)
    ldp_recorder.respond("plan-changed")
    receipt = Client(url, digest=plan.digest).grant()
    assert (receipt.state, receipt.reason) == (State.REJECTED, "plan-changed")
    with Client(url, spread=0) as client:
        client.grant()
        client.report(ROW, "no")
        assert client.flush().state is State.SENT
    [report] = ldp_recorder.reports
    assert report.plan_digest != plan.digest_bytes


@pytest.mark.slow
def test_slow_collector_counts_the_report_after_its_pause(ldp_recorder, plan):
    with Client(ldp_recorder.serve(plan), spread=0) as client:
        client.grant()
        ldp_recorder.respond("slow", seconds=0.2)
        client.report(ROW, "no")
        start = time.monotonic()
        assert client.flush().state is State.SENT
        assert time.monotonic() - start > 0.1


def test_client_gives_up_on_a_collector_that_is_slower_than_its_timeout(ldp_recorder, plan):
    url = ldp_recorder.serve(plan)
    ldp_recorder.respond("slow", seconds=10)
    with pytest.raises(TransportError, match="slow"):
        ldp_recorder.request("GET", url, None, 0.05)


@pytest.mark.slow
def test_next_behaviour_ends_a_slow_response(ldp_recorder, plan):
    with Client(ldp_recorder.serve(plan), spread=0) as client:
        client.grant()
        ldp_recorder.respond("slow", seconds=1000)
        client.report(ROW, "no")
        assert client.flush(0.2).reason == "no-answer-yet"
        ldp_recorder.respond("normal")
        assert client.flush().state is State.SENT


def test_unknown_behaviour_is_refused_with_the_known_ones(ldp_recorder):
    with pytest.raises(ValueError, match=r"no behaviour 'shut': choose one of normal, busy, closed"):
        ldp_recorder.respond("shut")


@pytest.mark.slow
def test_reports_queued_before_a_test_are_neither_sent_nor_recorded_during_it(plan, tmp_path, monkeypatch):
    attempts = list[str]()

    def refuse(
        _: HttpTransport, method: str, url: str, body: bytes | None, timeout: float
    ) -> ldp_client.Response:
        attempts.append(method)
        raise TransportError("refused")

    monkeypatch.setenv("LDP_JOURNAL", str(tmp_path / "own.db"))
    monkeypatch.setattr(HttpTransport, "request", refuse)
    monkeypatch.setattr("ldp_client.retry_after.draw_backoff", lambda failures, draw: 0.01)
    with Client(plan, URL, spread=0) as own:
        own.grant()
        own.report(ROW, "no")
        wait_for(lambda: attempts)
        with pytest.MonkeyPatch.context() as patch, recording(tmp_path / "test", patch) as recorder:
            recorder.serve(plan)
            before = len(attempts)
            time.sleep(0.1)  # ten attempts at least, if it went on
            assert own.grant().state is State.READY
            assert recorder.reports == []
            assert len(attempts) == before
        wait_for(lambda: len(attempts) > before)
        assert own.status().state is State.QUEUED
        assert (own.outcomes, len(Journal().entries())) == ({State.QUEUED: 1}, 1)


def test_report_queued_in_an_explicit_journal_is_not_recorded(plan, tmp_path):
    with Client(
        plan, URL, journal=tmp_path / "own.db", transport=FakeTransport(TransportError("no network"))
    ) as one:
        one.grant()
        one.report(ROW, "no")
    later = Client(plan, URL, journal=tmp_path / "own.db", spread=1e9)  # its reports wait for long
    with pytest.MonkeyPatch.context() as patch, recording(tmp_path / "test", patch) as recorder:
        recorder.serve(plan)
        assert recorder.reports == []
    assert later.status().state is State.QUEUED
    later._journal.withdraw(later.identity)
    later.close()


def test_a_client_that_is_closed_by_a_configure_in_a_test_is_open_afterwards(plan, tmp_path, monkeypatch):
    monkeypatch.setattr(ldp_client, "_client", None)
    own = ldp_client.configure(plan, url=URL, journal=tmp_path / "own.db", transport=FakeTransport(RECORDED))
    with pytest.MonkeyPatch.context() as patch, recording(tmp_path / "test", patch):
        ldp_client.configure(plan, url=URL)
    assert own.grant().state is State.READY
    own.close()


@pytest.mark.slow
def test_reports_are_there_once_the_recorder_is_online_again(ldp_recorder, plan):
    client = ldp_client.Client(ldp_recorder.serve(plan), spread=0)
    client.grant()
    ldp_recorder.offline = True
    client.report(ROW, "no")
    assert client.flush(0.2).state is State.QUEUED
    ldp_recorder.offline = False
    assert len(ldp_recorder.reports) == 1


def test_a_client_made_in_a_test_uses_the_next_test_s_recorder(plan, tmp_path, monkeypatch):
    made: list[Client] = []
    for number in range(2):
        with pytest.MonkeyPatch.context() as patch, recording(tmp_path / str(number), patch) as recorder:
            url = recorder.serve(plan)
            if not made:
                made.append(Client(url, spread=0))
            assert made[0].grant().state is State.READY
            assert made[0].report(ROW, "no").state is State.QUEUED
            assert len(recorder.reports) == 1
    made[0].close()


def test_a_client_with_a_transport_of_its_own_keeps_it(ldp_recorder, plan):
    transport = FakeTransport(RECORDED)
    with Client(plan, URL, transport=transport, spread=0) as one:
        one.grant()
        one.report(ROW, "no")
        assert one.flush().state is State.SENT
    assert len(transport.bodies) == 1
    assert ldp_recorder.bodies == []


def test_a_client_forgets_the_plan_that_it_loaded_during_a_test(plan, tmp_path):
    collector = Recorder()
    collector.serve(plan)
    client = Client(HOST, journal=tmp_path / "own.db", transport=collector)
    with pytest.MonkeyPatch.context() as patch, recording(tmp_path / "test", patch):
        assert client.plan == plan
    collector._served.clear()
    with pytest.raises(LdpError):
        _ = client.plan
