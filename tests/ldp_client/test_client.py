"""The client: receipts, retries with the same bytes, one report for good."""

from __future__ import annotations

import gc
import sqlite3
import threading
import time
import weakref
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

import ldp_client
from encoders.report import unpack
from encoders.survey import Plan
from ldp_client import (
    BudgetError,
    Client,
    Journal,
    PlanError,
    Receipt,
    Response,
    RowError,
    State,
    TransportError,
)
from ldp_client.policy import ClientPolicy
from ldp_client.sending.clients import MAX_CLIENTS_PER_SURVEY
from ldp_client.sending.process_exit import get_sender
from ldp_client.testing import Recorder
from tests.ldp_client.conftest import RECORDED, ROW, URL, Script
from tests.support.servers import wait_for

Build = Callable[..., Client]


def test_an_answer_is_queued_then_sent_once(client: Build, plan: Plan) -> None:
    script = Script(RECORDED)
    one = client(script)
    receipt = one.report(ROW, "no")
    assert (receipt.state, receipt.survey, receipt.epsilon) == (State.QUEUED, "sleep", 1.0)
    assert one.flush().state is State.SENT
    assert [(method, url) for method, url, _ in script.requests] == [("POST", f"{URL}/reports")]
    assert unpack(script.bodies[0]).plan_digest.hex() == plan.digest


def test_a_second_answer_draws_and_sends_nothing(client: Build) -> None:
    script = Script(RECORDED)
    one = client(script)
    one.report(ROW, "no")
    one.flush()
    for again in (one, client(script)):
        receipt = again.report(ROW, "yes")
        assert (receipt.state, receipt.epsilon) == (State.ALREADY_REPORTED, 0.0)
        assert again.flush().state is State.SENT
    assert len(script.bodies) == 1


def test_every_retry_sends_the_same_bytes(client: Build) -> None:
    script = Script(
        TransportError("refused"),
        Response(503, b"", 0.0),
        Response(500, b"<html>oops</html>"),
        Response(200, b"<html>a captive portal</html>"),
        Response(404, b"<html>a proxy</html>"),
        Response(429, b'{"reason":"too-many-requests","retryable":true}'),
        RECORDED,
    )
    one = client(script)
    one.report(ROW, "no")
    assert one.flush().state is State.SENT
    assert len(script.bodies) == 7
    assert len(set(script.bodies)) == 1


def test_what_was_not_delivered_is_sent_by_the_next_run(client: Build) -> None:
    down, up = Script(TransportError("refused")), Script(RECORDED)
    first = client(down)
    first.report(ROW, "no")
    assert first.flush(0.05).state is State.QUEUED
    first.close()
    second = client(up)
    assert second.report(ROW, "yes").state is State.ALREADY_REPORTED
    assert second.flush().state is State.SENT
    assert set(up.bodies) == set(down.bodies)


def test_a_lost_answer_becomes_a_duplicate_and_counts_as_success(client: Build) -> None:
    one = client(Script(TransportError("lost"), Response(200, b'{"status":"duplicate"}')))
    one.report(ROW, "no")
    assert one.flush().state is State.DUPLICATE


def test_a_rejection_is_final_and_has_its_reason(client: Build) -> None:
    script = Script(Response(400, b'{"reason":"bad-payload","retryable":false}'))
    one = client(script)
    one.report(ROW, "no")
    receipt = one.flush()
    assert (receipt.state, receipt.reason) == (State.REJECTED, "bad-payload")
    assert one.report(ROW, "no").state is State.ALREADY_REPORTED
    assert len(script.bodies) == 1


def test_an_invalid_row_spends_nothing_and_can_be_mended(client: Build) -> None:
    one = client(Script(RECORDED))
    receipt = one.report({"age": "secret", "hours": 1}, "no")
    assert (receipt.state, receipt.field, receipt.epsilon) == (State.INVALID, "age", 0.0)
    assert "secret" not in repr(receipt)
    assert one.report(ROW, "no").state is State.QUEUED


def test_a_receipt_names_every_entry_that_does_not_fit_and_nothing_is_drawn(client: Build) -> None:
    outcomes: list[Receipt] = []
    script = Script(RECORDED)
    one = client(script, on_outcome=outcomes.append)
    receipt = one.report({"age": "s3cret", "hours": float("inf")}, True)
    assert receipt.problems == (
        ("age", receipt.why),
        (
            "hours",
            "is infinite: give a finite number, or None (in a CSV file, an empty cell) if it is missing",
        ),
        (
            "rested",
            'is not one of the survey\'s values: "yes", "no" (a bool is read as the text "true" or "false")',
        ),
    )
    assert (receipt.state, receipt.field, receipt.epsilon) == (State.INVALID, "age", 0.0)
    assert outcomes == [receipt]
    assert "s3cret" not in repr(receipt)
    assert one.status().state is State.READY
    assert not script.bodies


class Secret(str):
    """A value that can be watched."""


@pytest.mark.parametrize("row", [["age"], ["age", "hours"], ["age", "more"]])
def test_a_refused_row_leaves_memory_at_once(client: Build, row: list[str]) -> None:
    one, answers = client(Script(RECORDED)), {name: Secret("s3cret") for name in row}
    watched = [weakref.ref(value) for value in answers.values()]
    gc.disable()  # what only a later collection would free counts as kept
    try:
        receipt = one.report(answers, "maybe")
        del answers
        assert [ref() for ref in watched] == [None] * len(row)
    finally:
        gc.enable()
    assert receipt.state is State.INVALID


def test_strict_clients_raise(client: Build) -> None:
    with pytest.raises(RowError) as caught:
        client(Script(RECORDED), strict=True).report({"age": "old"}, "maybe")
    assert [each.field for each in caught.value.problems] == ["hours", "rested"]


def test_a_plan_above_the_cap_is_refused_before_anything_is_drawn(client: Build) -> None:
    script = Script(RECORDED)
    capped = client(script, agreed=False, max_epsilon=0.5)
    assert (capped.grant().state, capped.status().state) == (State.REJECTED, State.NO_CONSENT)
    client(script).close()  # agreed, with the usual cap
    receipt = capped.report(ROW, "no")
    assert (receipt.state, receipt.reason, receipt.epsilon) == (State.REJECTED, "epsilon-above-cap", 0.0)
    assert capped.flush().state is State.READY
    assert client(script).report(ROW, "no").state is State.QUEUED


def test_the_plan_is_fetched_from_the_url_and_checked(plan: Plan, client: Build) -> None:
    script = Script(Response(200, plan.json), RECORDED)
    one = client(script, URL)
    assert one.report(ROW, "no").state is State.QUEUED
    assert one.flush().state is State.SENT
    assert script.requests[0] == ("GET", URL, None)


@pytest.mark.parametrize("answer", [TransportError("down"), Response(404, b"{}"), Response(200, b"{}")])
def test_without_a_plan_nothing_is_drawn(client: Build, answer: Response | TransportError) -> None:
    one = client(Script(answer), URL, agreed=False)
    assert one.grant().state in (State.UNAVAILABLE, State.REJECTED)
    receipt = one.report(ROW, "no")
    assert (receipt.state, receipt.epsilon) == (State.NO_CONSENT, 0.0)


def test_a_tampered_plan_is_refused(plan: Plan, client: Build) -> None:
    louder = plan.json.replace(b'"keep":"8', b'"keep":"9')
    assert louder != plan.json
    receipt = client(Script(Response(200, louder)), URL, agreed=False).grant()
    assert (receipt.state, receipt.reason) == (State.REJECTED, "invalid-plan")


def test_closing_interrupts_a_long_wait(client: Build) -> None:
    one = client(Script(Response(503, b"", 300.0)))
    one.report(ROW, "no")
    time.sleep(0.05)
    start = time.monotonic()
    one.close()
    assert time.monotonic() - start < 1.0


def test_threads_of_one_app_report_once(client: Build) -> None:
    script = Script(RECORDED)
    one, receipts = client(script), []
    threads = [
        threading.Thread(target=lambda: receipts.append(one.report(ROW, "no").state)) for _ in range(8)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    one.flush()
    assert sorted(receipts) == [State.ALREADY_REPORTED] * 7 + [State.QUEUED]
    assert len(set(script.bodies)) == 1


def test_configure_and_report_are_the_short_form(
    plan: Plan, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ldp_client, "_client", None)
    monkeypatch.delenv("LDP_SURVEY_URL", raising=False)
    with pytest.raises(TransportError, match="LDP_SURVEY_URL"):
        ldp_client.configure()
    receipt = ldp_client.report(ROW, "no")
    assert (receipt.state, receipt.reason) == (State.UNAVAILABLE, "not-configured")
    monkeypatch.setenv("LDP_SURVEY_URL", URL)
    script = Script(Response(200, plan.json), RECORDED)
    one = ldp_client.configure(transport=script, journal=":memory:")
    assert one.grant().state is State.READY
    assert ldp_client.report(ROW, "no").state is State.QUEUED
    assert one.flush().state is State.SENT
    one.close()


@pytest.mark.parametrize(
    "url",
    [
        "ftp://x/v1",
        "collector.example/v1",
        "http://",
        "http://h/v1?x=1",
        "http://[x/",
        "http://h:99999/v1",
        "http://h:x/v1",
    ],
)
def test_a_url_that_is_none_is_refused_at_once(plan: Plan, url: str) -> None:
    with pytest.raises(TransportError):
        Client(plan, url)


def test_a_report_goes_only_where_it_was_made_for(client: Build, plan: Plan) -> None:
    down, up = Script(TransportError("refused")), Script(RECORDED)
    first = client(down)
    first.report(ROW, "no")
    first.close()
    journal = first._journal
    moved = URL.replace("/v1", "/behind/a/proxy/v1")
    with Client(plan, moved, transport=up, journal=journal) as second:
        assert second.report(ROW, "yes").state is State.ALREADY_REPORTED
        assert second.flush().state is State.SENT
    assert {(url, body) for _, url, body in up.requests} == {(f"{URL}/reports", down.bodies[0])}


def test_a_closed_client_draws_nothing(client: Build) -> None:
    script = Script(RECORDED)
    one = client(script)
    one.close()
    receipt = one.report(ROW, "no")
    assert (receipt.state, receipt.reason, receipt.epsilon) == (State.UNAVAILABLE, "client-closed", 0.0)
    assert client(script).report(ROW, "no").state is State.QUEUED


def test_a_closed_client_names_a_later_configure_as_the_cause(
    plan: Plan, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ldp_client, "_client", None)
    first, second = (
        ldp_client.configure(plan, url=URL, transport=Script(RECORDED), journal=":memory:") for _ in range(2)
    )
    for receipt in (first.grant(), first.report(ROW, "no")):
        assert (receipt.state, receipt.reason) == (State.UNAVAILABLE, "client-closed")
        assert "a later configure() closed this client" in receipt.why
    second.close()
    third = ldp_client.configure(plan, url=URL, transport=Script(RECORDED), journal=":memory:")
    assert second.grant().why == "this client was closed"
    third.close()


def test_a_mistaken_configure_leaves_the_working_client(plan: Plan, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ldp_client, "_client", None)
    one = ldp_client.configure(URL, transport=Script(Response(200, plan.json), RECORDED), journal=":memory:")
    one.grant()
    with pytest.raises(TransportError):
        ldp_client.configure("nonsense")
    assert ldp_client.report(ROW, "no").state is State.QUEUED
    assert one.flush().state is State.SENT
    one.close()


@pytest.mark.parametrize("cap", [0, -1, float("nan"), "much", None])
def test_a_cap_that_is_no_number_is_refused_at_once(plan: Plan, cap: object) -> None:
    with pytest.raises(BudgetError):
        Client(plan, URL, max_epsilon=cap, journal=":memory:")  # type: ignore[arg-type]


def test_a_plan_that_is_nested_nonsense_does_not_reach_the_app(client: Build) -> None:
    for status in (200, 500):
        receipt = client(Script(Response(status, b"[" * 100_000)), URL, agreed=False).grant()
        assert receipt.state in (State.UNAVAILABLE, State.REJECTED)


def test_a_queued_report_needs_neither_the_plan_nor_a_row_to_be_sent(client: Build) -> None:
    first = client(Script(TransportError("refused")))
    first.report(ROW, "no")
    first.close()
    script = Script(RECORDED)
    later = client(script, URL, agreed=False)  # would have to fetch the plan, which nobody serves
    assert later.report({}, None).state is State.ALREADY_REPORTED
    assert later.flush().state is State.SENT
    assert [method for method, _, _ in script.requests] == ["POST"]


def test_a_url_of_another_survey_than_the_plans_is_refused(plan: Plan) -> None:
    with Client(plan, "http://collector.test/v1/surveys/diet", journal=":memory:") as one:
        receipt = one.grant()
        assert one.report(ROW, "no").state is State.NO_CONSENT
    assert (receipt.state, receipt.epsilon) == (State.REJECTED, 0.0)


def test_who_answered_one_round_answers_no_other(client: Build, plan: Plan, tmp_path: Path) -> None:
    pilot, url = replace(plan, id="pilot", family="sleep"), "http://collector.test/v1/surveys/pilot"
    unheard = Script(TransportError("no network"))
    with Client(pilot, url, transport=unheard, journal=tmp_path / "journal.db") as first:
        first.grant()
        assert first.report(ROW, "yes").state is State.QUEUED
    script = Script(RECORDED)
    second = client(script, agreed=False, digest=plan.digest)
    assert (second.grant().state, second.status().state) == (State.ALREADY_REPORTED,) * 2
    receipt = second.report(ROW, "yes")
    assert (receipt.state, receipt.survey, receipt.epsilon) == (State.ALREADY_REPORTED, "pilot", 0)
    second.close()
    assert [(where, body) for _, where, body in script.requests] == [(f"{url}/reports", unheard.bodies[0])]


def test_a_receipt_names_the_numbers_that_were_clipped(client: Build) -> None:
    receipt = client(Script(RECORDED)).report({**ROW, "hours": 13}, "yes")
    assert (receipt.state, receipt.clipped) == (State.QUEUED, ("hours",))


# -- what the application hears -----------------------------------------------------------------


def test_every_outcome_is_counted_and_called_back(client: Build) -> None:
    outcomes: list[tuple[State, str]] = []
    one = client(
        Script(TransportError("down"), RECORDED),
        on_outcome=lambda receipt: outcomes.append((receipt.state, threading.current_thread().name)),
    )
    one.report({"age": "old"}, "no")
    one.report(ROW, "no")
    one.flush()
    one.report(ROW, "no")
    main = threading.current_thread().name
    assert outcomes == [
        (State.INVALID, main),
        (State.QUEUED, main),
        (State.SENT, "ldp-client"),
        (State.ALREADY_REPORTED, main),
    ]
    assert one.outcomes == dict.fromkeys([state for state, _ in outcomes], 1)


def test_the_callback_gets_the_report_before_its_outcome(client: Build) -> None:
    for _ in range(50):
        outcomes: list[State] = []
        one = client(
            Script(RECORDED),
            journal=":memory:",
            on_outcome=lambda receipt, outcomes=outcomes: outcomes.append(receipt.state),
        )
        one.report(ROW, "no")
        one.flush()
        assert outcomes == [State.QUEUED, State.SENT]


def test_a_callback_that_fails_harms_nobody(client: Build, caplog: pytest.LogCaptureFixture) -> None:
    one = client(Script(RECORDED), on_outcome=lambda _: 1 // 0)
    assert one.report(ROW, "no").state is State.QUEUED
    assert one.flush().state is State.SENT
    one.close()
    assert {record.getMessage() for record in caplog.records} == {"on_outcome failed: ZeroDivisionError"}


def test_a_callback_may_use_its_client(client: Build) -> None:
    seen: list[State] = []
    one = client(Script(RECORDED), on_outcome=lambda _: seen.append(one.flush().state))
    one.report(ROW, "no")
    assert one.flush().state is State.SENT
    assert seen[-1] is State.SENT


class Trap(dict[str, object]):
    """A row that raises something of its own, with its value in the text."""

    def __getitem__(self, name: str) -> object:
        raise OSError("no such drive: old")


def test_nothing_unexpected_reaches_the_application(client: Build) -> None:
    receipt = client(Script(RECORDED)).report(Trap(ROW), "no")
    assert (receipt.state, receipt.reason) == (State.UNAVAILABLE, "internal-error")
    assert "OSError" in receipt.why
    assert "old" not in repr(receipt)
    with pytest.raises(OSError, match="drive"):
        client(Script(RECORDED), strict=True).report(Trap(ROW), "no")


def test_a_device_without_a_place_for_its_journal_reports_nothing(
    plan: Plan, monkeypatch: pytest.MonkeyPatch
) -> None:
    def nowhere() -> Path:
        raise RuntimeError("no home")

    for name in ("LDP_JOURNAL", "XDG_DATA_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(Path, "home", nowhere)
    with Client(plan, URL, transport=Script(RECORDED)) as one:
        for receipt in (one.grant(), one.report(ROW, "no"), one.flush(), one.status(), one.withdraw()):
            assert (receipt.state, receipt.reason) == (State.UNAVAILABLE, "journal-unavailable")


@pytest.fixture
def diet(client: Build, plan: Plan) -> Iterator[Callable[..., Client]]:
    """Build clients of a second survey, of epsilon 1, on a journal that has spent epsilon 1 on the first."""
    first = client(Script(RECORDED))
    first.report(ROW, "no")
    made: list[Client] = []

    def build(**options: object) -> Client:
        second = replace(plan, id="diet", family="diet")
        url = "http://collector.test/v1/surveys/diet"
        options = {"journal": first._journal, "transport": Script(RECORDED), **options}
        made.append(Client(second, url, **options))  # type: ignore[arg-type]
        return made[-1]

    yield build
    for each in made:
        each.close()


def test_the_total_of_all_surveys_is_limited_before_anything_is_drawn(diet: Build) -> None:
    assert diet().grant().state is State.READY  # a version of the application without a limit
    limited = diet(max_total_epsilon=1.9)
    receipt = limited.report(ROW, "no")
    assert (receipt.state, receipt.reason) == (State.REJECTED, "total-epsilon-spent")
    assert receipt.epsilon == 0.0
    assert limited.status().state is State.READY


def test_grant_refuses_a_survey_that_the_total_forbids_before_noting_consent(diet: Build) -> None:
    limited = diet(max_total_epsilon=1.9)
    receipt = limited.grant()
    assert (receipt.state, receipt.reason) == (State.REJECTED, "total-epsilon-spent")
    assert limited.status().state is State.NO_CONSENT
    with pytest.raises(BudgetError):
        diet(max_total_epsilon=1.9, strict=True).grant()
    diet().grant()
    assert limited.report(ROW, "no") == limited.grant() == receipt
    assert diet(max_total_epsilon=2.0).grant().state is State.READY


def test_grant_does_not_count_a_survey_twice_that_was_answered(client: Build, plan: Plan) -> None:
    one = client(Script(RECORDED), max_total_epsilon=1.0)
    one.report(ROW, "no")
    one.flush()
    assert one.grant().state is State.SENT
    another_round = replace(plan, id="sleep-2")
    url = "http://collector.test/v1/surveys/sleep-2"
    with Client(
        another_round, url, journal=one._journal, transport=Script(RECORDED), max_total_epsilon=1.0
    ) as later:
        assert later.grant().state is State.ALREADY_REPORTED


def test_a_receipt_prints_its_state_and_cause(client: Build) -> None:
    one = client(Script(TransportError("no network")), agreed=False)
    assert str(one.status()) == "no_consent (no-consent)"
    assert repr(one.grant()) == "Receipt(state=<State.READY: 'ready'>, survey='sleep')"
    invalid = one.report({"age": "secret", "hours": 1}, "no")
    assert str(invalid) == """invalid (age: is not one of the survey's values: "young", "old")"""
    why = repr(invalid.why)
    assert repr(invalid) == (
        "Receipt(state=<State.INVALID: 'invalid'>, survey='sleep', reason='invalid-row', field='age', "
        f"why={why}, problems=(('age', {why}),))"
    )
    several = one.report({"age": "secret", "hours": "long"}, "no")
    assert str(several).startswith(f"invalid (age: {invalid.why}; hours: ")
    queued = one.report({**ROW, "hours": 13}, "no")
    assert str(queued) == "queued (clipped: hours)"
    assert repr(queued).endswith("survey='sleep', epsilon=1.0, clipped=('hours',))")
    assert str(one.flush(0)).startswith("queued (")


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
    diet = replace(plan, id="diet", family="diet")
    url = "http://collector.test/v1/surveys/diet"
    with Client(diet, url, journal=gone._journal, transport=script, spread=0) as second:
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
        (TransportError("refused by 10.0.0.7"), "collector-unreachable", "did not answer"),
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
    diet = replace(plan, id="diet", family="diet")
    url = "http://collector.test/v1/surveys/diet"
    with Client(diet, url, journal=one._journal, transport=script) as second:
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


# -- what a strange row, a stricter application or another application can do --------------------


class Diary(dict[str, object]):
    """A row that is read from an application's own storage, which fails for one entry."""

    def __init__(self, entry: str, error: Exception) -> None:
        super().__init__(ROW)
        self.entry, self.error = entry, error

    def __getitem__(self, name: str) -> object:
        if name == self.entry:
            raise self.error
        return super().__getitem__(name)


def _damaged() -> sqlite3.DatabaseError:
    error = sqlite3.DatabaseError("database disk image is malformed: HIV-positive")
    error.sqlite_errorcode = sqlite3.SQLITE_CORRUPT
    return error


@pytest.mark.parametrize("entry", ["age", "hours"])
@pytest.mark.parametrize(
    "error", [OSError("HIV-positive"), _damaged(), sqlite3.OperationalError("HIV-positive")]
)
def test_a_row_s_own_errors_are_neither_quoted_nor_taken_for_the_journal_s(
    client: Build, tmp_path: Path, entry: str, error: Exception
) -> None:
    one = client(Script(RECORDED))
    receipt = one.report(Diary(entry, error), "no")
    assert (receipt.state, receipt.reason) == (State.UNAVAILABLE, "internal-error")
    assert "HIV" not in repr(receipt)
    assert [path.name for path in tmp_path.iterdir()] == ["journal.db"]
    assert one.report(ROW, "no").state is State.QUEUED


def test_a_row_is_read_once_and_not_changed(client: Build) -> None:
    reads: list[str] = []

    class Row(dict[str, object]):
        def __getitem__(self, name: str) -> object:
            reads.append(name)
            return super().__getitem__(name)

        def __missing__(self, name: str) -> object:
            raise AssertionError("asked for what is not there")

    one = client(Script(RECORDED))
    assert one.report(Row(age="old"), "no").field == "hours"
    assert one.report(Row(ROW), "no").state is State.QUEUED
    assert reads == ["age", "age", "hours"]


def test_consent_for_one_address_is_none_for_another_of_the_same_origin(client: Build, plan: Plan) -> None:
    script, moved = Script(RECORDED), URL.replace("/v1", "/moved/v1")
    one = client(script)
    with Client(plan, moved, journal=one._journal, transport=script) as other:
        receipt = other.report(ROW, "no")
        assert (receipt.state, receipt.epsilon) == (State.NO_CONSENT, 0.0)
        assert URL in receipt.why
        other.grant()
        assert other.report(ROW, "no").state is State.QUEUED
        other.flush()
    assert [url for _, url, _ in script.requests] == [f"{moved}/reports"]


@pytest.mark.parametrize("name", ["sleep", "another"])
def test_no_collector_learns_who_answered_a_survey_of_another_origin(
    client: Build, plan: Plan, name: str
) -> None:
    """A plan that names another collector's survey or family is answered like any other plan."""
    study = client(Script(RECORDED))
    study.report(ROW, "no")
    study.flush()
    script = Script(RECORDED)
    copy = replace(plan, id=name, family="sleep")
    options = {"journal": study._journal, "transport": script, "spread": 0, "max_total_epsilon": 2}
    with Client(copy, f"http://curious.test/v1/surveys/{name}", **options) as curious:  # type: ignore[arg-type]
        assert curious.status().state is State.NO_CONSENT
        assert curious.report(ROW, "no").state is State.NO_CONSENT
        assert curious.grant().state is State.READY
        assert curious.report(ROW, "no").state is State.QUEUED
        assert curious.flush().state is State.SENT
        assert curious.withdraw().state is State.SENT
    assert study.status().state is State.SENT
    spent = {entry.url: entry.epsilon for entry in study._journal.entries()}
    assert spent == {URL: "1.0", f"http://curious.test/v1/surveys/{name}": "1.0"}


def test_closing_one_of_two_clients_of_a_survey_leaves_the_other_sending(client: Build) -> None:
    script = Script(RECORDED)
    first = client(script, spread=0.5)
    first.report(ROW, "no")
    client(script, agreed=False).close()
    wait_for(lambda: first.outcomes[State.SENT])
    assert len(script.bodies) == 1


def test_the_number_of_clients_that_are_never_closed_is_limited(client: Build) -> None:
    script = Script(RECORDED)
    first = client(script)
    for _ in range(50):
        client(script, agreed=False)
    assert len(list(get_sender(first._journal)._clients)) == MAX_CLIENTS_PER_SURVEY


def test_a_report_is_sent_by_the_client_that_accepts_it(client: Build) -> None:
    script = Script(RECORDED)
    stricter = client(script, agreed=False, digest="0" * 64)
    one = client(script)
    one.report(ROW, "no")
    assert one.flush().state is State.SENT
    assert stricter.outcomes[State.SENT] == 0


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


def test_making_a_client_sends_what_an_earlier_run_left(client: Build) -> None:
    down, up = Script(TransportError("refused")), Script(RECORDED)
    first = client(down)
    first.report(ROW, "no")
    first.close()
    client(up, agreed=False)
    wait_for(lambda: up.bodies)
    assert set(up.bodies) == set(down.bodies)


def test_a_stricter_application_does_not_send_what_waits(client: Build, plan: Plan) -> None:
    first = client(Script(TransportError("refused")))
    first.report(ROW, "no")
    first.close()
    for stricter in ({"digest": "0" * 64}, {"max_epsilon": 0.5}):
        script = Script(RECORDED)
        one = client(script, agreed=False, **stricter)
        assert [each().state for each in (one.status, one.flush, one.grant)] == [State.REJECTED] * 3
        assert one.report(ROW, "no").state is State.REJECTED
        one.close()
        assert script.bodies == []
    assert client(Script(RECORDED)).flush().state is State.SENT


@pytest.mark.parametrize("stricter", [{"digest": "0" * 64}, {"max_epsilon": 0.5}])
def test_a_stricter_client_that_is_closed_at_once_does_not_send_what_waits(
    client: Build, plan: Plan, tmp_path: Path, stricter: dict[str, object]
) -> None:
    first = client(Script(TransportError("refused")))
    first.report(ROW, "no")
    first.close()
    sender = get_sender(first._journal)
    sender.reset()  # forgets the failure, as the end of a process does
    script = Script(RECORDED)
    client(script, agreed=False, **stricter).close()
    assert script.bodies == []
    other = replace(plan, id="other", family="other")
    url = "http://collector.test/v1/surveys/other"
    with Client(other, url, transport=script, journal=tmp_path / "journal.db", spread=0):
        sender.flush(first.identity, 0.5)
    assert script.bodies == []
    assert first.status().state is State.QUEUED
    assert client(script).flush().state is State.SENT


def test_withdrawing_covers_the_other_rounds(client: Build, plan: Plan, tmp_path: Path) -> None:
    pilot, url = replace(plan, id="pilot", family="sleep"), "http://collector.test/v1/surveys/pilot"
    unheard = Script(TransportError("no network"))
    with Client(pilot, url, transport=unheard, journal=tmp_path / "journal.db") as first:
        first.grant()
        first.report(ROW, "yes")
    second = client(unheard)
    assert second.withdraw().state is State.WITHDRAWN
    for _ in range(2):
        assert (second.grant().state, second.report(ROW, "yes").state) == (State.WITHDRAWN,) * 2


def test_a_plan_object_has_no_signature_to_check(plan: Plan) -> None:
    with pytest.raises(PlanError, match="public_key"):
        Client(plan, URL, public_key="A" * 43 + "=")


@pytest.mark.parametrize(
    "url", ["https://h/v1/surveys/SLEEP", "https://h/", "https://h/v1/surveys/sleep/reports/x%20"]
)
def test_a_url_that_names_no_survey_is_refused_at_once(plan: Plan, url: str) -> None:
    with pytest.raises(TransportError, match="its id"):
        Client(plan, url)


def test_asking_how_a_survey_stands_leaves_no_trace(client: Build, tmp_path: Path) -> None:
    one = client(Script(RECORDED), agreed=False, journal=tmp_path / "new" / "journal.db")
    assert (one.status().state, one.report(ROW, "no").state) == (State.NO_CONSENT,) * 2
    assert not (tmp_path / "new").exists()


def test_threads_that_report_first_configure_one_client(
    plan: Plan, monkeypatch: pytest.MonkeyPatch, ldp_recorder: Recorder
) -> None:
    monkeypatch.setenv("LDP_SURVEY_URL", ldp_recorder.serve(plan))
    Client(ldp_recorder.serve(plan)).grant()
    states: list[State] = []
    threads = [
        threading.Thread(target=lambda: states.append(ldp_client.report(ROW, "no").state)) for _ in range(8)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(states) == [State.ALREADY_REPORTED] * 7 + [State.QUEUED]
    assert len(ldp_recorder.reports) == 1


# -- by invitation ------------------------------------------------------------------------------


@pytest.fixture
def invited(plan: Plan) -> Plan:
    return replace(plan, enrolment="token")


def test_an_invitation_is_checked_before_consent_and_before_anything_is_drawn(
    ldp_recorder: Recorder, invited: Plan, plan: Plan
) -> None:
    url = ldp_recorder.serve(invited)
    token = ldp_recorder.token(invited.id)
    for wrong, why in ((None, "is missing"), (token[:-1], "is misspelt"), ("", "is misspelt")):
        receipt = Client(url, token=wrong).grant()
        assert (receipt.state, receipt.reason, receipt.field) == (State.INVALID, "invalid-token", "token")
        assert receipt.why.startswith(why)
        assert Client(url).status().state is State.NO_CONSENT
    assert Client(url, token=token).grant().state is State.READY
    assert Client(url).report(ROW, "no").reason == "invalid-token"  # agreed, and restarted without it
    with Client(url, token=f" {token.upper()} ", spread=0) as client:
        assert client.preview(ROW, "no").report[39:55].hex() == client.preview(ROW, "no").report[39:55].hex()
        assert client.report(ROW, "no").state is State.QUEUED
    (report,) = ldp_recorder.reports
    assert report.question == int.from_bytes(report.id[:2], "big")
    open_url = ldp_recorder.serve(plan)
    assert Client(open_url, token=token, journal=Journal(":memory:")).grant().reason == "invalid-token"


def test_an_invitation_counts_once_on_however_many_devices(ldp_recorder: Recorder, invited: Plan) -> None:
    url, states = ldp_recorder.serve(invited), []
    token = ldp_recorder.token(invited.id)
    for _ in range(12):  # the same answer by chance each time: 2^-12 or less, and then a duplicate
        with Client(url, token=token, journal=Journal(":memory:"), spread=0) as client:
            client.grant()
            client.report(ROW, "no")
            states.append(client.flush().state)
    assert len(ldp_recorder.reports) == 1
    assert states[0] is State.SENT
    assert set(states[1:]) <= {State.REJECTED, State.DUPLICATE}
