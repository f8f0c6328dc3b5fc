"""When a queued report is sent, what flush and close wait for, and the reason why a report still waits."""

from __future__ import annotations

import gc
import time
from dataclasses import replace
from pathlib import Path

import pytest

from encoders.survey import Plan
from ldp_client import (
    Client,
    Response,
    State,
    TransportError,
)
from ldp_client.policy import ClientPolicy
from tests.ldp_client.conftest import RECORDED, ROW, URL, Build, Script
from tests.support.servers import wait_for


def test_closing_interrupts_a_long_wait(client: Build) -> None:
    one = client(Script(Response(503, b"", 300.0)))
    one.report(ROW, "no")
    time.sleep(0.05)
    start = time.monotonic()
    one.close()
    assert time.monotonic() - start < 1.0


# -- when it is sent ----------------------------------------------------------------------------


def test_a_report_waits_for_a_slot_unless_there_is_no_time(client: Build) -> None:
    script = Script(RECORDED)
    one = client(script, spread=1e9)  # due within the first .1 s once in 1e10 runs
    one.report(ROW, "no")
    time.sleep(0.1)
    assert script.bodies == []
    one.close()
    assert len(script.bodies) == 1


def test_flush_waits_as_long_as_the_collector_asked(client: Build) -> None:
    script = Script(Response(503, b"", 30.0), RECORDED)
    one = client(script)
    one.report(ROW, "no")
    assert one.flush(0.2).state is State.QUEUED
    assert one.flush(0.2).state is State.QUEUED
    assert len(script.bodies) == 1


def test_one_survey_s_trouble_does_not_hold_up_another(client: Build, plan: Plan) -> None:
    class TwoSurveys(Script):
        def request(self, method: str, url: str, body: bytes | None, timeout: float) -> Response:
            answer = super().request(method, url, body, timeout)
            return Response(404, b'{"reason":"unknown-survey"}') if "sleep" in url else answer

    script = TwoSurveys(RECORDED)
    gone = client(script)
    gone.report(ROW, "no")
    assert gone.flush(0.05).state is State.QUEUED
    diet_plan = replace(plan, id="diet", family="diet")
    url = "http://collector.test/v1/surveys/diet"
    with Client(diet_plan, url, journal=gone._journal, transport=script, spread=0) as second:
        second.grant()
        second.report(ROW, "no")
        assert second.flush().state is State.SENT


def test_a_temporary_client_still_sends(client: Build, plan: Plan, tmp_path: Path) -> None:
    script = Script(RECORDED)
    client(script).close()
    Client(plan, URL, journal=tmp_path / "journal.db", transport=script, spread=0.05).report(ROW, "no")
    gc.collect()
    wait_for(lambda: script.bodies)


def test_flush_does_not_wait_for_the_pause_of_an_earlier_client(
    client: Build, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ldp_client.retry_after.draw_backoff", lambda failures, draw: 60.0)
    down = Script(TransportError("refused"))
    keeper = client(down)  # keeps the sender in mind, and what it knows of the collector
    keeper.report(ROW, "no")
    keeper.flush(0.2)
    keeper.close()
    assert down.bodies
    assert client(Script(RECORDED), agreed=False).flush(5.0).state is State.SENT


@pytest.mark.parametrize(
    ("answer", "reason", "words"),
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
def test_a_report_that_still_waits_has_a_reason(
    client: Build, answer: Response | TransportError, reason: str, words: str
) -> None:
    one = client(Script(answer))
    one.report(ROW, "no")
    for receipt in (one.flush(0.1), one.status()):
        assert (receipt.state, receipt.reason) == (State.QUEUED, reason)
        assert words in receipt.why
        assert "10.0.0.7" not in repr(receipt)
        assert "collector.test" not in repr(receipt)


def test_the_reason_to_wait_is_gone_when_the_report_is_sent(client: Build) -> None:
    one = client(Script(TransportError("refused"), RECORDED))
    one.report(ROW, "no")
    receipt = one.flush()
    assert (receipt.state, receipt.reason, receipt.why) == (State.SENT, "", "")


def test_a_collector_s_reason_to_wait_holds_for_its_other_surveys(client: Build, plan: Plan) -> None:
    script = Script(Response(503, b'{"reason":"store-unavailable"}', 30.0))
    one = client(script)
    one.report(ROW, "no")
    one.flush(0.1)
    diet_plan = replace(plan, id="diet", family="diet")
    url = "http://collector.test/v1/surveys/diet"
    with Client(diet_plan, url, journal=one._journal, transport=script) as second:
        second.grant()
        second.report(ROW, "no")
        assert second.flush(0.1).reason == "store-unavailable"
    assert len(script.bodies) == 1


def test_a_flush_without_an_attempt_has_a_reason(client: Build, monkeypatch: pytest.MonkeyPatch) -> None:
    class Slow(Script):
        def request(self, method: str, url: str, body: bytes | None, timeout: float) -> Response:
            time.sleep(0.3)
            return super().request(method, url, body, timeout)

    one = client(Slow(TransportError("late")), spread=1e9)
    one.report(ROW, "no")
    assert one.status().reason == ""
    receipt = one.flush(0.05)
    assert (receipt.state, receipt.reason) == (State.QUEUED, "no-answer-yet")
    assert receipt.why
    two = client(Script(RECORDED), journal=":memory:", spread=1e9)
    two.report(ROW, "no")
    monkeypatch.setenv("DO_NOT_TRACK", "1")
    assert (two.flush(0.1).state, two.flush(0.1).reason) == (State.QUEUED, "do-not-track")
    two.close()
    monkeypatch.delenv("DO_NOT_TRACK")
    assert two.flush(0.1).reason == "client-closed"


# -- what a strange row, a stricter application or another application can do -------------------


def test_the_sender_survives_an_unexpected_error(client: Build, monkeypatch: pytest.MonkeyPatch) -> None:
    one = client(Script(RECORDED))
    results = [RuntimeError("dictionary changed size during iteration"), True]

    def accepts(*_: object) -> bool:
        if isinstance(result := results.pop(0), Exception):
            raise result
        return True

    monkeypatch.setattr(ClientPolicy, "accepts_queued_report", accepts)
    one.report(ROW, "no")
    assert one.flush().state is State.SENT
