"""A message whose token another silo has used: the same noisy counts are sent with an unused token."""

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace

import pytest

from encoders.report import MAX_MESSAGE_BYTES, Report, unpack
from encoders.survey.invitation import format_token
from encoders.survey.silo_plan import SiloPlan
from ldp_client import Response, State
from ldp_silo import Silo, SiloJournal
from ldp_silo.epoch_reports import EXPLANATIONS
from ldp_silo.silo_ledger import sum_epsilon
from tests.ldp_client.conftest import FakeTransport
from tests.ldp_silo.conftest import DOWN, RECORDED, Build, draw_rows
from tests.support.silo_surveys import WARDS, read_silo_survey

REUSED = Response(409, b'{"reason":"id-reused","retryable":false}')
DUPLICATE = Response(200, b'{"status":"duplicate"}')
REFUSED = Response(422, b'{"reason":"bad-payload","retryable":false}')
CLOSED = Response(410, b'{"reason":"survey-closed","retryable":false}')
NOT_ENROLLED = Response(403, b'{"reason":"not-enrolled","retryable":false}')
IDS = [bytes(2) + bytes([place]) * 14 for place in range(4)]
Ward = Callable[..., Silo]
"""The type of the fixture `ward`."""


@pytest.fixture
def plan() -> SiloPlan:
    return read_silo_survey(WARDS.replace("[label]", 'enrolment = "token"\n[label]')).compile()


@pytest.fixture
def ward(silo: Build, plan: SiloPlan) -> Ward:
    """Build silos of one journal with one of the tokens."""

    def build(transport: FakeTransport, place: int | None, **options: object) -> Silo:
        token = None if place is None else format_token(plan, IDS[place])
        return silo(transport, token=token, granted=False, **options)

    return build


@pytest.fixture(autouse=True)
def consent(silo: Build) -> None:
    silo()


def read(body: bytes | None) -> Report:
    assert body is not None
    return unpack(body, MAX_MESSAGE_BYTES)


def test_an_unused_token_sends_the_same_noisy_counts(ward, write_rows):
    transport, path = FakeTransport(REUSED), write_rows(50)
    first = ward(transport, 0).report(path)
    assert (first.state, first.reason, first.epsilon) == (State.REJECTED, "id-reused", 1)
    assert first.why == EXPLANATIONS["id-reused"] == ward(transport, None).status().why
    for place in (1, 2):  # another silo has used the second token, too
        transport.responses = [RECORDED if place == 2 else REUSED]
        receipt = ward(transport, place).report(path)
        assert receipt.epsilon == 0
    assert receipt.state is State.SENT
    sent = [read(body) for body in transport.bodies]
    assert [each.id for each in sent] == IDS[:3]
    assert sent == [replace(sent[0], id=each) for each in IDS[:3]]
    (epoch,) = ward(transport, None).epochs()
    assert (epoch.message_id, epoch.message, epoch.state) == (IDS[2], transport.bodies[-1], State.SENT)
    assert sum_epsilon([epoch]) == 1


@pytest.mark.parametrize("response", [RECORDED, DUPLICATE, REFUSED, CLOSED, NOT_ENROLLED, DOWN])
def test_no_other_message_is_sent_under_another_id(ward, write_rows, response):
    transport, path = FakeTransport(response), write_rows(50)
    first = ward(transport, 0).report(path, timeout=0)
    ward(transport, 1).report(path, timeout=0)
    assert {read(body).id for body in transport.bodies} == {IDS[0]}
    (epoch,) = ward(transport, None).epochs()
    assert (epoch.message_id, epoch.state) == (IDS[0], first.state)
    if first.state is State.QUEUED:  # still under its own id
        transport.responses = [RECORDED]
        assert ward(transport, 1).report(path).state is State.SENT
        assert len(set(transport.bodies)) == 1
    else:
        assert len(transport.bodies) == 1


def test_an_expired_or_withdrawn_message_is_not_sent_under_another_id(ward, write_rows, monkeypatch):
    expiring, withdrawn = write_rows(50, name="1.csv"), write_rows(draw_rows(9, seed=2), name="2.csv")
    transport = FakeTransport(CLOSED)
    for now in (1000.0, 1000.0 + 86_400):
        monkeypatch.setattr("ldp_silo.epoch_reports.time.time", lambda now=now: now)
        receipt = ward(transport, 0).report(expiring)
    assert receipt.state is State.EXPIRED
    transport.responses = [DOWN]
    silo = ward(transport, 1)
    silo.report(withdrawn, epoch="2", new_rows=True, timeout=0)
    silo.withdraw()
    silo.grant()
    transport.requests.clear()
    transport.responses = [RECORDED]
    assert ward(transport, 2).report(expiring).state is State.EXPIRED
    assert ward(transport, 2).report(withdrawn, epoch="2").state is State.WITHDRAWN
    assert not transport.bodies


def test_without_an_unused_token_nothing_is_sent(ward, write_rows):
    transport, path = FakeTransport(RECORDED), write_rows(50)
    later = write_rows(draw_rows(9, seed=2), name="later.csv")
    assert ward(transport, 0).report(path).state is State.SENT
    transport.responses = [REUSED]
    assert ward(transport, 1).report(later, epoch="2", new_rows=True).reason == "id-reused"
    transport.requests.clear()
    for place in (None, 1):  # no token, and the same one
        receipt = ward(transport, place).report(later, epoch="2")
        assert (receipt.state, receipt.why) == (State.REJECTED, EXPLANATIONS["id-reused"])
    used = ward(transport, 0).report(later, epoch="2")
    assert (used.reason, used.field) == ("invalid-token", "token")
    assert "was used for epoch 1" in used.why
    assert ward(transport, 2).report(path, epoch="2").reason == "epoch-used"  # another file
    assert ward(transport, 2, max_epsilon=0.5).report(later, epoch="2").reason == "epsilon-above-cap"
    assert not transport.bodies


@pytest.mark.parametrize("host", ["COLLECTOR.test", "collector.test:80"])
def test_another_spelling_of_the_url_does_not_stop_a_message_with_a_new_token(
    plan, write_rows, tmp_path, host
):
    transport, path = FakeTransport(REUSED), write_rows(50)
    journal = SiloJournal(tmp_path / "spellings.journal")
    for place, each in enumerate(("collector.test", host)):
        token, url = format_token(plan, IDS[place]), f"http://{each}/v1/surveys/wards"
        silo = Silo(plan, url, journal=journal, transport=transport, token=token)
        silo.grant()
        receipt = silo.report(path)
        transport.responses = [RECORDED]
    assert receipt.state is State.SENT


def test_a_former_token_stays_used(ward, write_rows):
    transport, path = FakeTransport(REUSED), write_rows(50)
    ward(transport, 0).report(path)
    ward(transport, 1).report(path)
    later = write_rows(draw_rows(9, seed=2), name="later.csv")
    transport.requests.clear()
    for place in (0, 1):
        used = ward(transport, place).report(later, epoch="2", new_rows=True)
        assert "was used for epoch 1" in used.why
    assert "was used for epoch 1" in ward(transport, 0).report(path).why
    assert not transport.bodies


def test_a_rehearsal_changes_no_token(ward, write_rows, monkeypatch):
    transport, path = FakeTransport(REUSED), write_rows(50)
    ward(transport, 0).report(path)
    monkeypatch.setenv("LDP_REHEARSAL", "1")
    assert ward(transport, 1).report(path).state is State.REJECTED
    (epoch,) = ward(transport, None).epochs()
    assert epoch.message_id == IDS[0]


def test_a_message_that_waits_under_a_new_id_is_flushed(ward, write_rows):
    transport, path = FakeTransport(REUSED), write_rows(50)
    ward(transport, 0).report(path)
    transport.responses = [DOWN]
    assert ward(transport, 1).report(path, timeout=0).state is State.QUEUED
    transport.responses = [RECORDED]
    assert ward(transport, 2).flush().state is State.SENT
    assert [read(body).id for body in transport.bodies] == [IDS[0], IDS[1], IDS[1]]


# -- several processes, and failures -----------------------------------------------------------


@pytest.mark.parametrize("late", [REUSED, CLOSED, RECORDED])
def test_a_late_response_to_the_former_id_is_not_recorded_for_the_new_one(ward, write_rows, late):
    path = write_rows(50)
    ward(FakeTransport(DOWN), 0).report(path, timeout=0)

    class SlowTransport(FakeTransport):
        """Meanwhile, another process is refused, and makes the message wait under another id."""

        def request(self, method: str, url: str, body: bytes | None, timeout: float) -> Response:
            assert ward(FakeTransport(REUSED), 0).report(path).reason == "id-reused"
            assert ward(FakeTransport(DOWN), 1).report(path, timeout=0).state is State.QUEUED
            return super().request(method, url, body, timeout)

    assert ward(SlowTransport(late), 0).report(path, timeout=0).state is State.QUEUED
    (epoch,) = ward(FakeTransport(DOWN), None).epochs()
    assert (epoch.message_id, epoch.state, epoch.reason) == (IDS[1], State.QUEUED, "")


@pytest.mark.parametrize("response", [RECORDED, DOWN])
def test_one_of_two_processes_with_two_tokens_changes_the_id(ward, write_rows, monkeypatch, response):
    path, transport = write_rows(50), FakeTransport(REUSED)
    ward(transport, 0).report(path)
    transport.responses = [response]
    change_token = SiloJournal.change_token

    def change_meanwhile(*arguments: object) -> object:
        monkeypatch.undo()
        ward(transport, 1).report(path, timeout=0)
        return change_token(*arguments)

    monkeypatch.setattr(SiloJournal, "change_token", change_meanwhile)
    ward(transport, 2).report(path, timeout=0)
    assert {read(body).id for body in transport.bodies} == set(IDS[:2])


def test_a_change_that_cannot_be_written_sends_nothing(ward, write_rows, monkeypatch):
    transport, path = FakeTransport(REUSED), write_rows(50)
    ward(transport, 0).report(path)
    before = ward(transport, None).epochs()
    transport.requests.clear()
    transaction = SiloJournal._transaction

    @contextmanager
    def fail_late(journal: SiloJournal, writes: bool = True) -> Iterator[sqlite3.Connection]:
        with transaction(journal, writes) as connection:
            yield connection
            if connection.total_changes:
                raise sqlite3.OperationalError("disk I/O error")

    monkeypatch.setattr(SiloJournal, "_transaction", fail_late)
    assert ward(transport, 1).report(path).reason == "journal-unavailable"
    monkeypatch.undo()
    assert ward(transport, None).epochs() == before
    assert not transport.bodies
    transport.responses = [RECORDED]
    assert ward(transport, 1).report(path).state is State.SENT  # the token is not used yet
