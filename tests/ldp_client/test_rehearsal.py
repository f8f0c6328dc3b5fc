"""Rehearsals: all steps up to the bytes of a report, without a trace on the device or at the collector."""

import asyncio
import logging
from collections import OrderedDict
from itertools import count
from pathlib import Path

import pytest

import ldp_client
from encoders.survey import Plan
from ldp_client import AsyncClient, Client, Journal, Receipt, Response, RowError, State, TransportError
from ldp_client.cli import main
from ldp_client.testing import Recorder
from tests.ldp_client.conftest import RECORDED, ROW, URL, Collector, FakeTransport
from tests.support.open_clients import client_threads

WRONG_ROW = {"age": "older", "hours": 7.5}


@pytest.fixture(autouse=True)
def _default_journal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LDP_JOURNAL", str(tmp_path / "default.db"))
    monkeypatch.setattr("ldp_client.rehearsal._rehearsal_numbers", count(1))
    monkeypatch.setattr("ldp_client.rehearsal._journals", OrderedDict())


@pytest.fixture
def transport(plan: Plan) -> Collector:
    return Collector(plan)


def files_in(folder: Path) -> dict[Path, bytes]:
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_a_rehearsal_goes_through_every_state_and_can_be_repeated(plan, transport, tmp_path):
    outcomes: list[Receipt] = []
    with Client(URL, rehearsal=True, transport=transport, spread=0, on_outcome=outcomes.append) as one:
        receipts = [one.status(), one.report(ROW, "no"), one.grant()]
        for _ in range(3):
            receipts += [one.report(ROW, "no"), one.flush(0.1), one.report(WRONG_ROW, "no")]
        receipts += [one.report(ROW, "no"), one.withdraw(), one.grant(), one.report(ROW, "no")]
    receipts += [one.report(ROW, "no")]
    assert [each.state for each in receipts] == [
        State.NO_CONSENT,
        State.NO_CONSENT,
        State.READY,
        *(State.QUEUED, State.QUEUED, State.INVALID) * 3,
        *(State.QUEUED, State.WITHDRAWN, State.READY, State.QUEUED),
        State.UNAVAILABLE,
    ]
    assert {each.reason for each in receipts if each.state is State.QUEUED} == {"", "rehearsal"}
    for receipt in (*receipts, *outcomes):
        assert receipt.rehearsal
        assert receipt.epsilon == 0
        assert "rehearsal=True" in repr(receipt)
        assert str(receipt).startswith("rehearsal: ")
    assert [method for method, _, _ in transport.requests] == ["GET"]
    assert files_in(tmp_path) == {}
    assert not client_threads()


def test_a_rehearsal_makes_the_bytes_of_a_valid_report(transport, plan):
    with Client(plan, URL, rehearsal=True, transport=transport) as one:
        one.grant()
        one.report(ROW, "no")
        [first] = one._journal.entries()
        one.report(ROW, "no")
        [second] = one._journal.entries()
    assert first.report is not None
    assert second.report is not None
    collector = Recorder()
    url = collector.serve(plan)
    for report in (first.report, second.report):
        assert collector.request("POST", f"{url}/reports", report, 1.0).entry("status") == "recorded"


def test_a_strict_rehearsal_raises_encoding_errors(transport, plan):
    one = Client(plan, URL, rehearsal=True, strict=True, transport=transport)
    one.grant()
    one.report(ROW, "no")
    with pytest.raises(RowError):
        one.report(WRONG_ROW, "no")


def test_preview_of_a_rehearsal_is_marked(transport, plan):
    for rehearsal in (True, False):
        shown = Client(plan, URL, rehearsal=rehearsal, transport=transport).preview(ROW, "no")
        assert shown.rehearsal is rehearsal
        assert str(shown).startswith("This is a rehearsal") is rehearsal
        assert f"rehearsal={rehearsal}" in repr(shown)


@pytest.mark.parametrize("options", [{}, {"person": "ann"}, {"journal": "own.db"}, {"journal": ":memory:"}])
def test_a_rehearsal_neither_reads_nor_changes_the_real_journal(plan, tmp_path, options, monkeypatch):
    monkeypatch.chdir(tmp_path)
    down = FakeTransport(TransportError("no network"))
    if "journal" in options:
        options = {"journal": Journal(options["journal"])}
    real = Client(plan, URL, transport=down, spread=1e9, **options)
    real.grant()
    real.report(ROW, "no")
    before, entries = files_in(tmp_path), real._journal.entries()
    recorded = FakeTransport(RECORDED)
    for _ in range(2):
        with Client(plan, URL, transport=recorded, rehearsal=True, spread=0, **options) as one:
            assert one.withdraw().state is not State.QUEUED
            one.grant()
            assert one.report(ROW, "yes").state is State.QUEUED
            assert one.flush(0.1).reason == "rehearsal"
    assert recorded.requests == []
    assert files_in(tmp_path) == before
    assert real._journal.entries() == entries
    assert real.status().state is State.QUEUED
    assert not real.status().rehearsal
    real.withdraw()
    real.close()


def test_a_real_client_never_reads_a_rehearsal(plan, transport):
    with Client(plan, URL, transport=transport, rehearsal=True) as rehearsed:
        rehearsed.grant()
        rehearsed.report(ROW, "no")
        with Client(plan, URL, transport=transport, spread=0) as real:
            assert real.status().state is State.NO_CONSENT
            real.grant()
            assert real.report(ROW, "no").epsilon == 1.0
            assert real.flush().state is State.SENT
        assert rehearsed.status().state is State.QUEUED
    assert len(transport.bodies) == 1


def test_clients_of_one_person_share_their_consent_within_a_process(plan, transport):
    for person in ("ann", "bob"):
        Client(plan, URL, person=person, transport=transport, rehearsal=True).grant()
    with Client(plan, URL, person="ann", transport=transport, rehearsal=True) as one:
        assert one.report(ROW, "no").state is State.QUEUED
    with Client(plan, URL, person="bob", transport=transport, rehearsal=True) as other:
        assert other.status().state is State.READY
    assert (
        Client(plan, URL, person="eve", transport=transport, rehearsal=True).status().state
        is State.NO_CONSENT
    )


def test_the_oldest_journals_of_many_people_are_dropped(plan, transport, monkeypatch):
    monkeypatch.setattr("ldp_client.rehearsal.MAX_REHEARSAL_JOURNALS", 2)
    for person in ("ann", "bob", "eve"):
        Client(plan, URL, person=person, transport=transport, rehearsal=True).grant()
    states = {
        person: Client(plan, URL, person=person, transport=transport, rehearsal=True).status().state
        for person in ("eve", "bob", "ann")
    }
    assert states == {"eve": State.READY, "bob": State.READY, "ann": State.NO_CONSENT}


@pytest.mark.parametrize(("text", "rehearsal"), [("1", True), ("true", True), ("0", False), ("", False)])
def test_the_environment_variable_makes_every_client_rehearse(plan, transport, monkeypatch, text, rehearsal):
    monkeypatch.setenv("LDP_REHEARSAL", text)
    monkeypatch.setattr(ldp_client, "_client", None)
    with ldp_client.configure(plan, url=URL, transport=transport, spread=1e9) as one:
        one.grant()
        assert ldp_client.report(ROW, "no").rehearsal is rehearsal
        one.withdraw()
    with Client(plan, URL, transport=transport, rehearsal=False) as other:
        assert other.rehearsal is rehearsal


def test_a_client_that_was_made_before_the_variable_was_set_draws_and_sends_nothing(
    plan, client, tmp_path, monkeypatch
):
    monkeypatch.setattr("ldp_client.retry_after.FIRST_BACKOFF_SECONDS", 1e9)  # only `flush` sends again
    monkeypatch.setattr("ldp_client.retry_after.MAX_BACKOFF_SECONDS", 1e10)
    waiting = client(FakeTransport(TransportError("no network")))
    waiting.report(ROW, "no")
    waiting.close()
    transport = FakeTransport(RECORDED)
    later = client(transport, granted=False)
    new = client(FakeTransport(Response(200, plan.json)), URL, granted=False, journal=tmp_path / "new.db")
    monkeypatch.setenv("LDP_REHEARSAL", "1")
    before = files_in(tmp_path)
    for receipt in (new.grant(), new.report(ROW, "no"), later.report(ROW, "no")):
        assert (receipt.state, receipt.reason, receipt.rehearsal) == (State.NO_CONSENT, "rehearsal", False)
        assert "LDP_REHEARSAL is set" in receipt.why
    flushed = later.flush(0.7)
    assert (flushed.state, flushed.reason) == (State.QUEUED, "rehearsal")
    assert (transport.requests, files_in(tmp_path)) == ([], before)
    monkeypatch.setenv("LDP_REHEARSAL", "0")
    assert later.flush().state is State.SENT
    assert new.grant().state is State.READY
    monkeypatch.setenv("LDP_REHEARSAL", "1")
    assert new.report(ROW, "no").reason == "rehearsal"  # agreed to, but not in a rehearsal
    assert new.withdraw().reason == "rehearsal"
    monkeypatch.delenv("LDP_REHEARSAL")
    assert new.status().state is State.NO_CONSENT  # a withdrawal holds at any time


def test_a_receipt_without_a_client_is_marked_too(monkeypatch):
    monkeypatch.setattr(ldp_client, "_client", None)
    monkeypatch.delenv("LDP_SURVEY_URL", raising=False)
    assert not ldp_client.report(ROW, "no").rehearsal
    monkeypatch.setenv("LDP_REHEARSAL", "1")
    assert ldp_client.report(ROW, "no").rehearsal


def test_an_opt_out_holds_in_a_rehearsal(plan, transport, monkeypatch):
    monkeypatch.setenv("DO_NOT_TRACK", "1")
    receipt = Client(plan, URL, transport=transport, rehearsal=True).grant()
    assert (receipt.state, receipt.reason) == (State.NO_CONSENT, "do-not-track")


def test_an_asynchronous_client_rehearses(transport, plan):
    async def rehearse() -> list[Receipt]:
        async with AsyncClient(plan, URL, rehearsal=True) as client:
            assert (await client.preview(ROW, "no")).rehearsal
            receipts = [await client.grant()]
            for _ in range(2):
                receipts += [await client.report(ROW, "no"), await client.flush(0.1)]
            return receipts

    receipts = asyncio.run(rehearse())
    assert [each.state for each in receipts] == [State.READY, *[State.QUEUED] * 4]
    assert all(each.rehearsal for each in receipts)


def test_a_transport_of_a_rehearsal_refuses_to_send(transport, plan):
    one = Client(plan, URL, transport=transport, rehearsal=True)
    for method, body in (("POST", b"report"), ("GET", b"report"), ("PUT", None)):
        with pytest.raises(TransportError, match="a rehearsal sends nothing"):
            one.transport.request(method, URL, body, 1.0)
    assert transport.requests == []


def test_a_warning_is_logged_once_per_process(plan, transport, caplog):
    Client(plan, URL, transport=transport)
    assert not caplog.records
    for _ in range(3):
        Client(plan, URL, transport=transport, rehearsal=True)
    [record] = caplog.records
    assert (record.name, record.levelno) == ("ldp_client", logging.WARNING)
    assert "rehearsal" in record.getMessage()


def test_the_log_shows_a_rehearsal(plan, transport, caplog):
    caplog.set_level(logging.DEBUG, "ldp_client")
    one = Client(plan, URL, transport=transport, rehearsal=True)
    one.grant()
    one.report(ROW, "no")
    lines = [record.getMessage() for record in caplog.records[1:]]
    assert [line.partition(": ")[2] for line in lines] == [
        "grant: rehearsal: ready, nothing is sent or kept",
        "report: rehearsal: queued, nothing is sent or kept",
    ]


def test_the_recorder_records_no_rehearsal(ldp_recorder, plan):
    with Client(ldp_recorder.serve(plan), rehearsal=True) as one:
        one.grant()
        assert one.report(ROW, "no").rehearsal
    assert ldp_recorder.reports == []
    assert ldp_recorder.bodies == []


@pytest.mark.parametrize("command", ["status", "preview"])
def test_commands_show_that_applications_rehearse(client, tmp_path, capsys, monkeypatch, command):
    client(FakeTransport(TransportError("no network"))).report(ROW, "no")
    line = "LDP_REHEARSAL is set: applications rehearse, and do not use this journal"
    arguments = [command, "--journal", str(tmp_path / "journal.db")]
    main(arguments)
    real = capsys.readouterr().out
    assert line not in real
    monkeypatch.setenv("LDP_REHEARSAL", "1")
    main(arguments)
    shown = capsys.readouterr().out
    assert line in shown
    assert shown.replace(f"{line}\n", "") == real
