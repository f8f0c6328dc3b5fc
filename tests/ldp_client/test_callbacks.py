"""on_outcome: every outcome, in order, and errors of the callback."""

import threading
from typing import Any

import pytest

from ldp_client import Response, State, TransportError
from tests.ldp_client.conftest import RECORDED, ROW, FakeTransport
from tests.support.servers import wait_for


def test_every_outcome_is_counted_and_called_back(client):
    outcomes: list[tuple[State, str]] = []
    one = client(
        FakeTransport(TransportError("down"), RECORDED),
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


@pytest.mark.slow
def test_the_callback_gets_the_report_before_its_outcome(client):
    for _ in range(50):
        outcomes: list[State] = []
        one = client(
            FakeTransport(RECORDED),
            journal=":memory:",
            on_outcome=lambda receipt, outcomes=outcomes: outcomes.append(receipt.state),
        )
        one.report(ROW, "no")
        one.flush()
        assert outcomes == [State.QUEUED, State.SENT]


def test_failing_callback_changes_no_outcome(client, caplog):
    one = client(FakeTransport(RECORDED), on_outcome=lambda _: 1 // 0)
    assert one.report(ROW, "no").state is State.QUEUED
    assert one.flush().state is State.SENT
    one.close()
    assert {record.getMessage() for record in caplog.records} == {"on_outcome failed: ZeroDivisionError"}


def test_a_callback_may_use_its_client(client):
    seen: list[State] = []
    one = client(FakeTransport(RECORDED), on_outcome=lambda _: seen.append(one.flush().state))
    one.report(ROW, "no")
    assert one.flush().state is State.SENT
    assert seen[-1] is State.SENT


@pytest.mark.parametrize(
    "response",
    [
        RECORDED,
        Response(400, b'{"reason":"bad-payload","retryable":false}'),
        Response(410, b'{"reason":"survey-closed","retryable":false}'),
    ],
    ids=["counted", "rejected", "closed"],
)
def test_a_report_that_is_withdrawn_while_it_is_sent_has_the_outcome_of_the_journal(client, response):
    class Withdrawing(FakeTransport):
        def request(self, *request: Any) -> Response:
            assert one.withdraw().state is State.WITHDRAWN
            return super().request(*request)

    outcomes: list[tuple[State, str]] = []
    one = client(
        Withdrawing(response),
        on_outcome=lambda receipt: outcomes.append((receipt.state, receipt.reason)),
    )
    one.report(ROW, "no")
    wait_for(lambda: len(outcomes) == 2)
    assert outcomes == [(State.QUEUED, ""), (State.WITHDRAWN, "")]
    assert one.status().state is State.WITHDRAWN
    assert one.outcomes == {State.QUEUED: 1, State.WITHDRAWN: 1}


@pytest.mark.parametrize("grants_again", [False, True])
def test_a_journal_that_is_deleted_while_its_report_is_sent_has_no_outcome(client, tmp_path, grants_again):
    class Deleting(FakeTransport):
        def request(self, *request: Any) -> Response:
            for file in tmp_path.glob("journal.db*"):
                file.unlink()
            if grants_again:
                one.grant()
            return super().request(*request)

    transport, outcomes = Deleting(RECORDED), []
    one = client(transport, on_outcome=lambda receipt: outcomes.append(receipt.state))
    one.report(ROW, "no")
    wait_for(lambda: transport.bodies)
    one.close()
    assert outcomes == [State.QUEUED]
