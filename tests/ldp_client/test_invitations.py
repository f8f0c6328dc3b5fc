"""Surveys by invitation: the token is checked first, and counts once."""

from dataclasses import replace

import pytest

from encoders.survey import Plan
from ldp_client import Client, Journal, State
from tests.ldp_client.conftest import ROW


@pytest.fixture
def invited(plan: Plan) -> Plan:
    return replace(plan, enrolment="token")


def test_an_invitation_is_checked_before_consent_and_before_anything_is_drawn(ldp_recorder, invited, plan):
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


@pytest.mark.slow
def test_an_invitation_counts_once_on_however_many_devices(ldp_recorder, invited):
    url, states = ldp_recorder.serve(invited), []
    token = ldp_recorder.token(invited.id)
    for _ in range(12):  # the same payload by chance each time, and then a duplicate: 2^-12 or less
        with Client(url, token=token, journal=Journal(":memory:"), spread=0) as client:
            client.grant()
            client.report(ROW, "no")
            states.append(client.flush().state)
    assert len(ldp_recorder.reports) == 1
    assert states[0] is State.SENT
    assert set(states[1:]) <= {State.REJECTED, State.DUPLICATE}
