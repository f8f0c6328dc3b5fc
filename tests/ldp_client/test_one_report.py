"""One report per survey: retries send the same bytes, repeated answers draw nothing."""

from dataclasses import replace

import pytest

from encoders.report import unpack
from ldp_client import Client, Journal, Response, State, TransportError
from tests.ldp_client.conftest import RECORDED, ROW, URL, FakeTransport, wait_for_attempt
from tests.support.servers import wait_for
from tests.support.threads import in_threads


def test_an_answer_is_queued_then_sent_once(transport, client, plan):
    one = client(transport)
    receipt = one.report(ROW, "no")
    assert (receipt.state, receipt.survey, receipt.epsilon) == (State.QUEUED, "sleep", 1.0)
    assert one.flush().state is State.SENT
    assert [(method, url) for method, url, _ in transport.requests] == [("POST", f"{URL}/reports")]
    assert unpack(transport.bodies[0]).plan_digest.hex() == plan.digest


def test_a_second_answer_draws_and_sends_nothing(transport, client):
    one = client(transport)
    one.report(ROW, "no")
    one.flush()
    for again in (one, client(transport)):
        receipt = again.report(ROW, "yes")
        assert (receipt.state, receipt.epsilon) == (State.ALREADY_REPORTED, 0.0)
        assert again.flush().state is State.SENT
    assert len(transport.bodies) == 1


def test_every_retry_sends_the_same_bytes(client):
    transport = FakeTransport(
        TransportError("refused"),
        Response(503, b"", 0.0),
        Response(500, b"<html>oops</html>"),
        Response(200, b"<html>a captive portal</html>"),
        Response(404, b"<html>a proxy</html>"),
        Response(429, b'{"reason":"too-many-requests","retryable":true}'),
        RECORDED,
    )
    one = client(transport)
    one.report(ROW, "no")
    assert one.flush().state is State.SENT
    assert len(transport.bodies) == 7
    assert len(set(transport.bodies)) == 1


def test_undelivered_report_is_sent_by_the_next_run(client):
    down, up = FakeTransport(TransportError("refused")), FakeTransport(RECORDED)
    first = client(down)
    first.report(ROW, "no")
    wait_for_attempt(first)
    assert first.flush(0.05).state is State.QUEUED
    first.close()
    second = client(up)
    assert second.report(ROW, "yes").state is State.ALREADY_REPORTED
    assert second.flush().state is State.SENT
    assert set(up.bodies) == set(down.bodies)


def test_a_second_answer_says_why_the_first_still_waits(client, plan, tmp_path):
    one = client(FakeTransport(Response(503, b'{"reason":"store-unavailable","retryable":true}', 600.0)))
    one.report(ROW, "no")
    wait_for_attempt(one)
    status, again = one.status(), one.report(ROW, "yes")
    assert (status.state, status.reason) == (State.QUEUED, "store-unavailable")
    assert again == replace(status, state=State.ALREADY_REPORTED)
    later_round, url = replace(plan, id="round2", family="sleep"), URL.replace("sleep", "round2")
    with Client(later_round, url, transport=one.transport, journal=tmp_path / "journal.db") as later:
        assert later.grant() == later.status() == later.report(ROW, "yes") == later.flush(0) == again


def test_lost_response_leads_to_a_duplicate_which_is_a_success(client):
    one = client(FakeTransport(TransportError("lost"), Response(200, b'{"status":"duplicate"}')))
    one.report(ROW, "no")
    assert one.flush().state is State.DUPLICATE


def test_a_rejection_is_final_and_has_its_reason(client):
    transport = FakeTransport(Response(400, b'{"reason":"bad-payload","retryable":false}'))
    one = client(transport)
    one.report(ROW, "no")
    receipt = one.flush()
    assert (receipt.state, receipt.reason) == (State.REJECTED, "bad-payload")
    assert one.report(ROW, "no").state is State.ALREADY_REPORTED
    assert len(transport.bodies) == 1


def test_threads_of_one_app_report_once(transport, client):
    one = client(transport)
    receipts = in_threads(lambda _: one.report(ROW, "no").state, range(8))
    one.flush()
    assert sorted(receipts) == [State.ALREADY_REPORTED] * 7 + [State.QUEUED]
    assert len(set(transport.bodies)) == 1


def test_a_report_goes_only_where_it_was_made_for(client, plan):
    down, up = FakeTransport(TransportError("refused")), FakeTransport(RECORDED)
    first = client(down)
    first.report(ROW, "no")
    first.close()
    journal = first._journal
    moved = URL.replace("/v1", "/behind/a/proxy/v1")
    with Client(plan, moved, transport=up, journal=journal) as second:
        assert second.report(ROW, "yes").state is State.ALREADY_REPORTED
        assert second.flush().state is State.SENT
    assert {(url, body) for _, url, body in up.requests} == {(f"{URL}/reports", down.bodies[0])}


def test_a_closed_client_draws_nothing(transport, client):
    one = client(transport)
    one.close()
    receipt = one.report(ROW, "no")
    assert (receipt.state, receipt.reason, receipt.epsilon) == (State.UNAVAILABLE, "client-closed", 0.0)
    assert client(transport).report(ROW, "no").state is State.QUEUED


def test_a_queued_report_needs_neither_the_plan_nor_a_row_to_be_sent(client):
    first = client(FakeTransport(TransportError("refused")))
    first.report(ROW, "no")
    first.close()
    transport = FakeTransport(RECORDED)
    later = client(transport, URL, granted=False)  # would have to fetch the plan, which nobody serves
    assert later.report({}, None).state is State.ALREADY_REPORTED
    assert later.flush().state is State.SENT
    assert [method for method, _, _ in transport.requests] == ["POST"]


def test_report_of_one_round_prevents_reports_of_the_others(client, plan, tmp_path):
    pilot, url = replace(plan, id="pilot", family="sleep"), "http://collector.test/v1/surveys/pilot"
    offline = FakeTransport(TransportError("no network"))
    with Client(pilot, url, transport=offline, journal=tmp_path / "journal.db") as first:
        first.grant()
        assert first.report(ROW, "yes").state is State.QUEUED
    transport = FakeTransport(RECORDED)
    second = client(transport, granted=False, digest=plan.digest)
    assert (second.grant().state, second.status().state) == (State.ALREADY_REPORTED,) * 2
    receipt = second.report(ROW, "yes")
    assert (receipt.state, receipt.survey, receipt.epsilon) == (State.ALREADY_REPORTED, "pilot", 0)
    second.close()
    assert [(where, body) for _, where, body in transport.requests] == [(f"{url}/reports", offline.bodies[0])]


def test_new_client_sends_the_reports_of_an_earlier_run(client):
    down, up = FakeTransport(TransportError("refused")), FakeTransport(RECORDED)
    first = client(down)
    first.report(ROW, "no")
    first.close()
    client(up, granted=False)
    wait_for(lambda: up.bodies)
    assert set(up.bodies) == set(down.bodies)


def test_withdrawing_covers_the_other_rounds(client, plan, tmp_path):
    pilot, url = replace(plan, id="pilot", family="sleep"), "http://collector.test/v1/surveys/pilot"
    offline = FakeTransport(TransportError("no network"))
    with Client(pilot, url, transport=offline, journal=tmp_path / "journal.db") as first:
        first.grant()
        first.report(ROW, "yes")
    second = client(offline)
    assert second.withdraw().state is State.WITHDRAWN
    for _ in range(2):
        assert (second.grant().state, second.report(ROW, "yes").state) == (State.WITHDRAWN,) * 2


@pytest.mark.parametrize("answered", ["sleep", "sleep-round2"])
def test_withdrawing_a_round_that_was_never_granted_covers_the_other_rounds(client, plan, tmp_path, answered):
    rounds = {each: replace(plan, id=each, family="sleep") for each in ("sleep-round2", "sleep-round3")}
    rounds["sleep"] = plan
    offline = FakeTransport(TransportError("no network"))
    options = {"transport": offline, "journal": tmp_path / "journal.db"}
    with Client(rounds[answered], URL.replace("sleep", answered), **options) as first:
        first.grant()
        first.report(ROW, "yes")
        other = "sleep-round3" if answered == "sleep" else "sleep"
        with Client(rounds[other], URL.replace("sleep", other), **options) as second:
            assert second.status().state is State.ALREADY_REPORTED
            assert second.withdraw().state is State.WITHDRAWN
        assert first.status().state is State.WITHDRAWN
    assert Journal(tmp_path / "journal.db").queued_surveys() == []


def test_withdrawing_keeps_the_report_of_a_family_that_has_the_name_of_this_round(client, plan, tmp_path):
    offline = FakeTransport(TransportError("no network"))
    options = {"transport": offline, "journal": tmp_path / "journal.db"}
    named = replace(plan, id="c", family="b")
    with Client(named, URL.replace("sleep", "c"), **options) as one:
        one.grant()
        one.report(ROW, "yes")
        later_round = replace(plan, id="b", family="sleep")
        with Client(later_round, URL.replace("sleep", "b"), **options) as other:
            other.grant()
        source = tmp_path / "unread.json"
        source.write_bytes(later_round.json)
        with Client(source, URL.replace("sleep", "b"), **options) as other:
            assert other.withdraw().state is State.NO_CONSENT
        assert one.status().state is State.QUEUED


def test_withdrawing_from_another_survey_keeps_the_report(client, plan, tmp_path):
    one = client(FakeTransport(TransportError("no network")))
    one.report(ROW, "yes")
    for survey, url in [
        (replace(plan, id="tea", family="tea"), URL.replace("sleep", "tea")),
        (replace(plan, id="tea", family="sleep"), "http://curious.test/v1/surveys/tea"),
    ]:
        with Client(survey, url, transport=one.transport, journal=tmp_path / "journal.db") as other:
            assert other.plan.id == "tea"
            assert other.withdraw().state is State.NO_CONSENT
    assert one.status().state is State.QUEUED
