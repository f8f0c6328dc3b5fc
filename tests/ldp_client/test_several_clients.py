"""Several clients on one journal: of one survey, of stricter applications, of other origins."""

from dataclasses import replace

import pytest

from ldp_client import Client, State, TransportError
from ldp_client.sending.clients import MAX_CLIENTS_PER_SURVEY
from ldp_client.sending.process_exit import get_sender
from tests.ldp_client.conftest import RECORDED, ROW, URL, FakeTransport
from tests.support.servers import wait_for


def test_consent_for_one_url_does_not_hold_for_another_of_the_same_origin(client, plan):
    transport, moved = FakeTransport(RECORDED), URL.replace("/v1", "/moved/v1")
    one = client(transport)
    with Client(plan, moved, journal=one._journal, transport=transport) as other:
        receipt = other.report(ROW, "no")
        assert (receipt.state, receipt.epsilon) == (State.NO_CONSENT, 0.0)
        assert URL in receipt.why
        other.grant()
        assert other.report(ROW, "no").state is State.QUEUED
        other.flush()
    assert [url for _, url, _ in transport.requests] == [f"{moved}/reports"]


@pytest.mark.parametrize("name", ["sleep", "another"])
def test_collector_does_not_learn_of_reports_to_another_origin(client, plan, name):
    """A plan that names another collector's survey or family is answered like any other plan."""
    study = client(FakeTransport(RECORDED))
    study.report(ROW, "no")
    study.flush()
    transport = FakeTransport(RECORDED)
    copy = replace(plan, id=name, family="sleep")
    options = {"journal": study._journal, "transport": transport, "spread": 0, "max_total_epsilon": 2}
    with Client(copy, f"http://curious.test/v1/surveys/{name}", **options) as curious:
        assert curious.status().state is State.NO_CONSENT
        assert curious.report(ROW, "no").state is State.NO_CONSENT
        assert curious.grant().state is State.READY
        assert curious.report(ROW, "no").state is State.QUEUED
        assert curious.flush().state is State.SENT
        assert curious.withdraw().state is State.SENT
    assert study.status().state is State.SENT
    spent = {entry.url: entry.epsilon for entry in study._journal.entries()}
    assert spent == {URL: "1.0", f"http://curious.test/v1/surveys/{name}": "1.0"}


def test_closing_one_of_two_clients_of_a_survey_leaves_the_other_sending(transport, client):
    first = client(transport, spread=0.2)
    first.report(ROW, "no")
    client(transport, granted=False).close()
    wait_for(lambda: first.outcomes[State.SENT])
    assert len(transport.bodies) == 1


def test_the_number_of_clients_that_are_never_closed_is_limited(transport, client):
    first = client(transport)
    for _ in range(50):
        client(transport, granted=False)
    assert len(list(get_sender(first._journal)._clients)) == MAX_CLIENTS_PER_SURVEY


def test_a_report_is_sent_by_the_client_that_accepts_it(transport, client):
    stricter = client(transport, granted=False, digest="0" * 64)
    one = client(transport)
    one.report(ROW, "no")
    assert one.flush().state is State.SENT
    assert stricter.outcomes[State.SENT] == 0


def test_a_stricter_application_does_not_send_queued_reports(client, plan):
    first = client(FakeTransport(TransportError("refused")))
    first.report(ROW, "no")
    first.close()
    for stricter in ({"digest": "0" * 64}, {"max_epsilon": 0.5}):
        transport = FakeTransport(RECORDED)
        one = client(transport, granted=False, **stricter)
        assert [each().state for each in (one.status, one.flush, one.grant)] == [State.REJECTED] * 3
        assert one.report(ROW, "no").state is State.REJECTED
        one.close()
        assert transport.bodies == []
    assert client(FakeTransport(RECORDED)).flush().state is State.SENT


@pytest.mark.parametrize("stricter", [{"digest": "0" * 64}, {"max_epsilon": 0.5}])
def test_a_stricter_client_that_is_closed_at_once_does_not_send_queued_reports(
    client, plan, tmp_path, stricter
):
    first = client(FakeTransport(TransportError("refused")))
    first.report(ROW, "no")
    first.close()
    sender = get_sender(first._journal)
    sender.reset()  # forgets the failure, as the end of a process does
    transport = FakeTransport(RECORDED)
    client(transport, granted=False, **stricter).close()
    assert transport.bodies == []
    other = replace(plan, id="other", family="other")
    url = "http://collector.test/v1/surveys/other"
    with Client(other, url, transport=transport, journal=tmp_path / "journal.db", spread=0):
        sender.flush(first.identity, 0.5)
    assert transport.bodies == []
    assert first.status().state is State.QUEUED
    assert client(transport).flush().state is State.SENT
