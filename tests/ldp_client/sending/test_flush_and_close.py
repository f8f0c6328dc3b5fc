"""When a queued report is sent, what flush and close wait for, and the reason why a report still waits."""

import gc
import threading
import time
from dataclasses import replace

import pytest

from ldp_client import Client, Response, State, TransportError
from ldp_client.policy import ClientPolicy
from tests.ldp_client.conftest import RECORDED, ROW, URL, FakeTransport, wait_for_attempt
from tests.support.open_clients import client_threads
from tests.support.servers import wait_for


def test_closing_interrupts_a_long_wait(client):
    one = client(FakeTransport(Response(503, b"", 300.0)))
    one.report(ROW, "no")
    wait_for_attempt(one)
    one.close(30)
    assert not client_threads()


def test_a_report_waits_for_a_slot_unless_there_is_no_time(transport, client):
    one = client(transport, spread=1e9)  # due within the first .1 s once in 1e10 runs
    one.report(ROW, "no")
    time.sleep(0.1)
    assert transport.bodies == []
    one.close(30)
    assert len(transport.bodies) == 1


def test_flush_waits_as_long_as_the_collector_asked(client):
    transport = FakeTransport(Response(503, b"", 30.0), RECORDED)
    one = client(transport)
    one.report(ROW, "no")
    wait_for_attempt(one)
    for _ in range(2):
        assert one.flush(0.2).state is State.QUEUED
    assert len(transport.bodies) == 1


def test_failing_survey_does_not_delay_another(client, plan):
    class TwoSurveys(FakeTransport):
        def request(self, method: str, url: str, body: bytes | None, timeout: float) -> Response:
            response = super().request(method, url, body, timeout)
            return Response(404, b'{"reason":"unknown-survey"}') if "sleep" in url else response

    transport = TwoSurveys(RECORDED)
    gone = client(transport)
    gone.report(ROW, "no")
    wait_for_attempt(gone)
    assert gone.flush(0.05).state is State.QUEUED
    diet_plan = replace(plan, id="diet", family="diet")
    url = "http://collector.test/v1/surveys/diet"
    with Client(diet_plan, url, journal=gone._journal, transport=transport, spread=0) as second:
        second.grant()
        second.report(ROW, "no")
        assert second.flush().state is State.SENT


@pytest.mark.slow
def test_a_temporary_client_still_sends(transport, client, plan, tmp_path):
    client(transport).close()
    Client(plan, URL, journal=tmp_path / "journal.db", transport=transport, spread=0.05).report(ROW, "no")
    gc.collect()
    wait_for(lambda: transport.bodies)


def test_flush_does_not_wait_for_the_pause_of_an_earlier_client(client, monkeypatch):
    monkeypatch.setattr("ldp_client.retry_after.draw_backoff", lambda failures, draw: 60.0)
    down = FakeTransport(TransportError("refused"))
    keeper = client(down)  # keeps the sender in mind, and what it knows of the collector
    keeper.report(ROW, "no")
    wait_for_attempt(keeper)
    keeper.close()
    assert down.bodies
    assert client(FakeTransport(RECORDED), granted=False).flush(60).state is State.SENT


@pytest.mark.slow
@pytest.mark.parametrize(
    ("response", "reason", "words"),
    [
        (TransportError("refused by 10.0.0.7"), "collector-unreachable", "did not respond"),
        (Response(503, b'{"reason":"store-unavailable"}', 30.0), "store-unavailable", "store-unavailable"),
        (Response(429, b'{"reason":"too-many-requests"}', 30.0), "too-many-requests", "too-many-requests"),
        (Response(404, b'{"reason":"unknown-survey"}'), "unknown-survey", "unknown-survey"),
        (Response(502, b"<html>10.0.0.7</html>"), "collector-unreachable", "HTTP status 502"),
        (Response(200, b"<html>welcome</html>"), "collector-unreachable", "sign-in page"),
        (Response(503, b'{"reason":"at 10.0.0.7"}'), "collector-unreachable", "HTTP status 503"),
        (Response(503, b'{"reason":["store-unavailable"]}'), "collector-unreachable", "HTTP status 503"),
    ],
)
def test_a_report_that_still_waits_has_a_reason(client, response, reason, words):
    one = client(FakeTransport(response))
    one.report(ROW, "no")
    wait_for_attempt(one)
    for receipt in (one.flush(0.1), one.status()):
        assert (receipt.state, receipt.reason) == (State.QUEUED, reason)
        assert words in receipt.why
        assert "10.0.0.7" not in repr(receipt)
        assert "collector.test" not in repr(receipt)


def test_the_reason_to_wait_is_gone_when_the_report_is_sent(client):
    one = client(FakeTransport(TransportError("refused"), RECORDED))
    one.report(ROW, "no")
    receipt = one.flush()
    assert (receipt.state, receipt.reason, receipt.why) == (State.SENT, "", "")


def test_a_collector_s_reason_to_wait_holds_for_its_other_surveys(client, plan):
    transport = FakeTransport(Response(503, b'{"reason":"store-unavailable"}', 30.0))
    one = client(transport)
    one.report(ROW, "no")
    wait_for_attempt(one)
    diet_plan = replace(plan, id="diet", family="diet")
    url = "http://collector.test/v1/surveys/diet"
    with Client(diet_plan, url, journal=one._journal, transport=transport) as second:
        second.grant()
        second.report(ROW, "no")
        assert second.flush(0.1).reason == "store-unavailable"
    assert len(transport.bodies) == 1


def test_a_flush_without_an_attempt_has_a_reason(client, monkeypatch):
    responds = threading.Event()

    class Slow(FakeTransport):
        def request(self, method: str, url: str, body: bytes | None, timeout: float) -> Response:
            assert responds.wait(120)
            return super().request(method, url, body, timeout)

    one = client(Slow(TransportError("late")), spread=1e9)
    one.report(ROW, "no")
    assert one.status().reason == ""
    receipt = one.flush(0.05)
    assert (receipt.state, receipt.reason) == (State.QUEUED, "no-answer-yet")
    assert receipt.why
    responds.set()
    two = client(FakeTransport(RECORDED), journal=":memory:", spread=1e9)
    two.report(ROW, "no")
    monkeypatch.setenv("DO_NOT_TRACK", "1")
    assert (two.flush(0.1).state, two.flush(0.1).reason) == (State.QUEUED, "do-not-track")
    two.close()
    monkeypatch.delenv("DO_NOT_TRACK")
    assert two.flush(0.1).reason == "client-closed"


def test_the_sender_survives_an_unexpected_error(client, monkeypatch):
    one = client(FakeTransport(RECORDED))
    results = [RuntimeError("dictionary changed size during iteration"), True]

    def accepts(*_: object) -> bool:
        if isinstance(result := results.pop(0), Exception):
            raise result
        return True

    monkeypatch.setattr(ClientPolicy, "accepts_queued_report", accepts)
    one.report(ROW, "no")
    assert one.flush().state is State.SENT
