"""Several clients on one journal: of one survey, of stricter applications, of other origins."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from encoders.survey import Plan
from ldp_client import (
    Client,
    State,
    TransportError,
)
from ldp_client.sending.clients import MAX_CLIENTS_PER_SURVEY
from ldp_client.sending.process_exit import get_sender
from tests.ldp_client.conftest import RECORDED, ROW, URL, Build, Script
from tests.support.servers import wait_for


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
    first = client(script, spread=0.2)
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
