"""What is checked before a report: consent, one plan for good, signatures, closed surveys."""

import time

import pytest

from encoders.survey import read_survey
from encoders.survey.signature import signature_text
from ldp_client import Client, ConsentError, PlanError, Response, State, TransportError
from ldp_client.sending.process_exit import get_sender
from ldp_design.authoring.signing import make_keys, sign
from tests.ldp_client.conftest import RECORDED, ROW, URL, FakeTransport, wait_for_attempt
from tests.support.surveys import SLEEP

DOWN = TransportError("no network")
NO_SIGNATURE = Response(404, b'{"reason":"no-signature","retryable":false}')
CLOSED = Response(410, b'{"reason":"survey-closed","retryable":false}')


def test_nothing_is_drawn_or_sent_before_the_person_agrees(transport, client):
    one = client(transport, granted=False)
    assert one.status().state is State.NO_CONSENT
    receipt = one.report(ROW, "no")
    assert (receipt.state, receipt.epsilon) == (State.NO_CONSENT, 0.0)
    assert "grant()" in receipt.why
    assert one.grant().state is State.READY
    assert one.report(ROW, "no").state is State.QUEUED
    with pytest.raises(ConsentError):
        client(FakeTransport(RECORDED), granted=False, strict=True, journal=":memory:").report(ROW, "no")


def test_consent_outlives_the_application(client):
    client(FakeTransport(DOWN)).close()
    assert client(FakeTransport(RECORDED), granted=False).report(ROW, "no").state is State.QUEUED


def test_consent_withdrawn_before_a_report_can_be_granted_again(client):
    one = client(FakeTransport(RECORDED))
    assert one.withdraw().state is State.NO_CONSENT
    assert one.report(ROW, "no").state is State.NO_CONSENT
    one.grant()
    assert one.report(ROW, "no").state is State.QUEUED


def test_withdrawing_deletes_the_queued_report_permanently(client, tmp_path):
    down = FakeTransport(DOWN)
    one = client(down)
    one.report(ROW, "no")
    wait_for_attempt(one)
    (body,) = set(down.bodies)
    assert body is not None
    assert body in (tmp_path / "journal.db").read_bytes()
    assert one.withdraw().state is State.WITHDRAWN
    assert body not in (tmp_path / "journal.db").read_bytes()
    up = FakeTransport(RECORDED)
    later = client(up)
    assert later.report(ROW, "no").state is State.WITHDRAWN
    assert later.flush().state is State.WITHDRAWN
    assert up.requests == []


def test_withdrawing_a_counted_report_returns_sent(client):
    one = client(FakeTransport(RECORDED))
    one.report(ROW, "no")
    one.flush()
    assert one.withdraw().state is State.SENT


# -- one plan -----------------------------------------------------------------------------------


def test_the_plan_is_fetched_once_and_answered_without_a_network(client, plan):
    client(FakeTransport(Response(200, plan.json)), URL).close()
    offline = FakeTransport(DOWN)
    later = client(offline, URL)
    assert later.report(ROW, "no").state is State.QUEUED
    assert {method for method, _, _ in offline.requests} <= {"POST"}


@pytest.mark.parametrize(
    "change",
    [("epsilon = 1.0", "epsilon = 1.5"), ("bins = 4", "bins = 8"), ("epsilon = 1.0", "epsilon = 0.5")],
)
@pytest.mark.parametrize("answered", [False, True])
def test_a_second_plan_of_a_survey_is_refused(client, plan, change, answered):
    first = client(FakeTransport(DOWN))
    if answered:
        first.report(ROW, "no")
    first.withdraw()
    other = read_survey(SLEEP.replace(*change)).compile()
    assert (other.id, other.digest) != (plan.id, plan.digest)
    for source in (other, URL):  # in a new version of the application; served by the collector
        transport = FakeTransport(Response(200, other.json), RECORDED)
        one = client(transport, source, granted=False)
        receipt = one.grant()
        if answered:
            assert receipt.state is State.WITHDRAWN
        elif source is URL:  # bound to the first plan, which this device still holds: it asks nobody
            assert receipt.state is State.READY
            assert one.plan == plan
        else:
            assert (receipt.state, receipt.reason) == (State.REJECTED, "plan-changed")
            assert other.digest in receipt.why
            assert one.report(ROW, "no").state is State.NO_CONSENT
        assert transport.bodies == []
        one.withdraw()


def test_an_application_that_knows_the_digest_takes_no_other_plan(client, plan):
    transport = FakeTransport(Response(200, plan.json))
    wrong = client(transport, URL, granted=False, digest="0" * 64)
    assert (wrong.grant().state, wrong.grant().reason) == (State.REJECTED, "plan-changed")
    with pytest.raises(PlanError):
        _ = wrong.plan
    assert client(transport, URL, granted=False, digest=plan.digest.upper()).grant().state is State.READY


@pytest.mark.parametrize("digest", ["", "0" * 63, "sha256:" + "0" * 64])
def test_invalid_digest_is_refused_at_once(plan, digest):
    with pytest.raises(PlanError, match="64 hexadecimal digits"):
        Client(plan, URL, digest=digest)


def test_an_application_with_the_author_s_key_accepts_only_signed_plans(client, plan, tmp_path):
    author, stranger = make_keys(), make_keys()
    served, line = Response(200, plan.json), signature_text(sign(plan, author.private_pem)).encode()
    for key, signature in [
        (stranger.public_key, Response(200, line)),
        (author.public_key, NO_SIGNATURE),
        (author.public_key, Response(200, b"nonsense")),
    ]:
        one = client(FakeTransport(served, signature), URL, granted=False, public_key=key)
        assert (one.grant().state, one.status().state) == (State.REJECTED, State.NO_CONSENT)
    client(
        FakeTransport(served), URL
    ).close()  # an older version of the application, which required no signature
    transport = FakeTransport(served, Response(200, line), RECORDED)
    one = client(transport, URL, granted=False, public_key=author.public_key)
    assert one.grant().state is State.READY
    assert [url for _, url, _ in transport.requests] == [URL, f"{URL}/signature"]
    silent = FakeTransport(DOWN)
    assert client(silent, URL, public_key=author.public_key).status().state is State.READY
    assert silent.requests == []  # the journal has the signer


def test_a_shipped_plan_needs_its_signature_beside_it(client, plan, tmp_path):
    author, path = make_keys(), tmp_path / "sleep.json"
    path.write_bytes(plan.json)
    one = client(FakeTransport(RECORDED), path, granted=False, public_key=author.public_key)
    assert (one.grant().state, one.grant().reason) == (State.REJECTED, "bad-signature")
    (tmp_path / "sleep.json.sig").write_text(signature_text(sign(plan, author.private_pem)))
    assert one.grant().state is State.READY


def _end_the_process(one: Client) -> None:
    """Let the sender forget its pauses, as the end of a process does."""
    one.close()
    get_sender(one._journal).reset()


def test_grant_of_a_closed_survey_returns_expired(client):
    assert client(FakeTransport(CLOSED), URL, granted=False).grant().state is State.EXPIRED


def test_a_report_for_a_closed_survey_waits_for_a_day_before_it_is_deleted(client, monkeypatch):
    transport = FakeTransport(DOWN, CLOSED)
    one = client(transport)
    one.report(ROW, "no")
    receipt = one.flush()
    assert (receipt.state, receipt.reason) == (State.QUEUED, "closed-once")
    assert "closed" in receipt.why
    attempts = len(transport.requests)
    assert one.flush().state is State.QUEUED  # the pause of some hours lasts longer than a flush
    assert len(transport.requests) == attempts
    _end_the_process(one)
    later = time.time() + 86_401
    monkeypatch.setattr("ldp_client.sending.sender.time", lambda: later)
    again = client(transport, granted=False)
    assert again.flush().state is State.EXPIRED
    assert again.outcomes[State.EXPIRED] == 1
    assert set(transport.bodies) == {transport.bodies[0]}
    assert (again.status().state, again.status().reason) == (State.EXPIRED, "survey-closed")
    assert again.report(ROW, "no").state is State.ALREADY_REPORTED


def test_a_report_arrives_after_a_survey_was_closed_by_mistake(client):
    first = client(FakeTransport(CLOSED))
    first.report(ROW, "no")
    assert first.flush().reason == "closed-once"
    _end_the_process(first)
    second = client(FakeTransport(RECORDED), granted=False)
    receipt = second.flush()
    assert (receipt.state, receipt.reason) == (State.SENT, "")
