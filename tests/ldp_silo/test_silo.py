"""One message of a silo: consent, one drawing of noise, the same bytes on every attempt, final outcomes."""

import os
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from encoders.errors import SurveyError
from encoders.report import unpack
from encoders.survey.any_survey import SILO_PLANS
from encoders.survey.invitation import format_token
from ldp_client import ConsentError, Journal, PlanError, Response, State, TransportError
from ldp_silo import Silo, SiloJournal, count_rows
from tests.ldp_client.conftest import FakeTransport
from tests.ldp_silo.conftest import DOWN, HEADER, RECORDED, URL, draw_rows
from tests.support.silo_surveys import WARDS, read_silo_survey
from tests.support.surveys import SLEEP

CLOSED = Response(410, b'{"reason":"survey-closed","retryable":false}')
REFUSED = Response(422, b'{"reason":"bad-payload","retryable":false}')
NOT_ENROLLED = Response(403, b'{"reason":"not-enrolled","retryable":false}')


def test_a_report_is_recorded_and_sent(ward, transport, plan, write_rows):
    receipt = ward.report(write_rows(50))
    assert (receipt.state, receipt.epsilon) == (State.SENT, 1.0)
    (method, url, body) = transport.requests[-1]
    assert (method, url) == ("POST", f"{URL}/reports")
    report = unpack(body, plan.max_report_bytes)
    plan.mechanism.check(report.payload)
    assert report.plan_digest == plan.digest_bytes
    (epoch,) = ward.epochs()
    assert (epoch.name, epoch.rows, float(epoch.epsilon), epoch.message) == ("1", 50, 1, body)


def test_nothing_is_sent_without_consent(transport, silo, write_rows):
    ward = silo(transport, granted=False)
    assert ward.status().state is State.NO_CONSENT
    assert ward.report(write_rows(5)).state is State.NO_CONSENT
    ward.grant()
    assert ward.withdraw().state is State.NO_CONSENT
    assert ward.report(write_rows(5)).reason == "no-consent"
    assert not transport.requests
    assert not ward.epochs()


def test_rows_that_do_not_fit_spend_and_send_nothing(ward, transport, write_rows):
    rows = draw_rows(5)
    rows[3][1] = "perhaps"
    receipt = ward.report(write_rows(rows))
    assert (receipt.state, receipt.reason, receipt.field) == (State.INVALID, "invalid-row", "smoker")
    assert receipt.why.startswith("row 4: ")
    assert "perhaps" not in str(receipt)
    assert not transport.requests
    assert not ward.epochs()
    assert ward.report(write_rows(5)).state is State.SENT  # the corrected file


def test_every_attempt_sends_the_same_bytes(silo, write_rows):
    transport = FakeTransport(DOWN)
    path = write_rows(50)
    first = silo(transport).report(path, timeout=0.05)
    assert (first.state, first.reason, first.epsilon) == (State.QUEUED, "collector-unreachable", 1.0)
    again = silo(transport, granted=False)
    assert again.status().state is State.QUEUED
    assert again.report(path, timeout=0).epsilon == 0
    transport.responses = [RECORDED]
    assert again.report(path).state is State.SENT
    assert len(transport.bodies) > 2
    assert len(set(transport.bodies)) == 1


def test_an_epoch_that_was_counted_is_not_sent_again(transport, silo, write_rows):
    path = write_rows(50)
    ward = silo(transport)
    ward.report(path)
    receipt = ward.report(path)
    assert (receipt.state, receipt.epsilon) == (State.ALREADY_REPORTED, 0.0)
    assert len(transport.requests) == 1


def test_an_epoch_with_another_file_is_refused(ward, transport, write_rows):
    ward.report(write_rows(50))
    receipt = ward.report(write_rows(draw_rows(50, seed=2)))
    assert (receipt.state, receipt.reason) == (State.REJECTED, "epoch-used")
    assert len(transport.requests) == 1


def test_a_refused_message_is_final(silo, write_rows):
    transport = FakeTransport(REFUSED)
    path = write_rows(50)
    ward = silo(transport)
    assert ward.report(path).reason == "bad-payload"
    transport.responses = [RECORDED]
    assert (ward.report(path).state, ward.flush().state) == (State.REJECTED, State.REJECTED)
    assert len(transport.requests) == 1


def test_a_failure_that_somebody_must_correct_ends_the_wait(silo, write_rows):
    transport = FakeTransport(NOT_ENROLLED)
    receipt = silo(transport).report(write_rows(50), timeout=60)
    assert (receipt.state, receipt.reason) == (State.QUEUED, "not-enrolled")
    assert len(transport.requests) == 1


def test_a_pause_that_the_collector_requests_is_kept(silo, write_rows):
    transport = FakeTransport(Response(429, b'{"reason":"too-many-requests"}', 3600), RECORDED)
    ward = silo(transport)
    assert ward.report(write_rows(50), timeout=1).reason == "too-many-requests"
    assert ward.flush().state is State.SENT


def test_a_closed_survey_expires_a_message_after_a_day(silo, write_rows, monkeypatch):
    transport = FakeTransport(CLOSED)
    ward = silo(transport)
    monkeypatch.setattr("ldp_silo.epoch_reports.time.time", lambda: 1000.0)
    assert ward.report(write_rows(50)).reason == "closed-once"
    assert ward.status().why.startswith("the collector says that the survey is closed")
    monkeypatch.setattr("ldp_silo.epoch_reports.time.time", lambda: 1000.0 + 86_399)
    assert ward.flush().reason == "closed-once"
    monkeypatch.setattr("ldp_silo.epoch_reports.time.time", lambda: 1000.0 + 86_400)
    assert ward.flush().state is State.EXPIRED


def test_withdrawal_deletes_a_message_that_waits_and_keeps_its_rows(silo, write_rows):
    transport = FakeTransport(DOWN)
    path = write_rows(50)
    ward = silo(transport)
    ward.report(path, timeout=0)
    assert ward.withdraw().state is State.NO_CONSENT
    assert ward.epochs()[0].message is None
    transport.responses = [RECORDED]
    ward.grant()
    assert ward.report(path).state is State.WITHDRAWN
    assert ward.report(path, epoch="2", new_rows=True).reason == "repeated-rows"
    assert len(transport.requests) == 1


def test_no_message_of_another_process_outlives_a_withdrawal(silo, write_rows, monkeypatch):
    ward, other, path = silo(), silo(FakeTransport(DOWN)), write_rows(50)
    transaction = SiloJournal._transaction

    @contextmanager
    def report_after(journal: SiloJournal, writes: bool = True) -> Iterator[sqlite3.Connection]:
        with transaction(journal, writes) as connection:
            yield connection
        monkeypatch.undo()
        assert other.report(path, timeout=0).reason == "no-consent"

    monkeypatch.setattr(SiloJournal, "_transaction", report_after)
    ward.journal.withdraw(ward.identity)
    assert not ward.epochs()


def test_a_message_is_made_by_one_of_two_processes(silo, write_rows, monkeypatch):
    transport, path = FakeTransport(RECORDED), write_rows(50)
    ward, other = silo(transport), silo(transport)
    count = count_rows.count_rows

    def count_meanwhile(*arguments: object) -> object:
        monkeypatch.undo()
        assert other.report(path).state is State.SENT
        return count(*arguments)

    monkeypatch.setattr("ldp_silo.epoch_reports.count_rows", count_meanwhile)
    assert ward.report(path).state is State.ALREADY_REPORTED
    assert len(transport.requests) == 1


def test_another_plan_of_the_survey_is_refused(silo, plan, write_rows):
    silo()
    larger = read_silo_survey(WARDS.replace("epsilon = 1.0", "epsilon = 2.0")).compile()
    receipt = silo(survey=larger, granted=False).report(write_rows(5))
    assert (receipt.state, receipt.reason) == (State.REJECTED, "plan-changed")
    with pytest.raises(PlanError):
        silo(digest="0" * 64, granted=False, strict=True).grant()
    assert silo(digest=plan.digest).status().state is State.READY


def test_epsilon_above_the_limit_is_refused(silo, write_rows):
    assert silo(max_epsilon=0.5, granted=False).grant().reason == "epsilon-above-cap"
    receipt = silo(max_total_epsilon=0.5).report(write_rows(5))
    assert (receipt.state, receipt.reason) == (State.REJECTED, "total-epsilon-spent")
    assert not silo().epochs()


def test_the_plan_is_fetched_once_and_pinned(silo, plan, write_rows):
    transport = FakeTransport(Response(200, plan.json), RECORDED)
    silo(transport, survey=URL)
    path = write_rows(5)
    assert silo(transport, survey=URL, granted=False).report(path).state is State.SENT
    assert [method for method, _, _ in transport.requests] == ["GET", "POST"]


def test_a_survey_of_people_is_refused(silo, tmp_path):
    file = tmp_path / "survey.toml"
    file.write_text(SLEEP)
    receipt = silo(survey=file, granted=False).grant()
    assert (receipt.state, receipt.reason) == (State.REJECTED, "invalid-plan")
    assert "answered by people" in receipt.why


def test_a_journal_is_readable_only_by_its_owner(silo, tmp_path):
    silo()
    assert (tmp_path / "ward.journal").stat().st_mode & 0o777 == 0o600


def test_the_journal_holds_no_row_and_no_exact_count(silo, write_rows):
    rows = [[f"person-{place}", *row] for place, row in enumerate(draw_rows(50))]
    ward = silo()
    ward.report(write_rows(rows, ["id", *HEADER]), person="id")
    data = Path(ward.journal.path).read_bytes()
    assert b"person-" not in data
    assert not any(row[4].encode() in data for row in rows)


def test_client_off_stops_a_silo_and_do_not_track_does_not(ward, transport, write_rows, monkeypatch):
    monkeypatch.setenv("LDP_CLIENT_OFF", "1")
    assert [ward.grant().reason, ward.report(write_rows(5)).reason, ward.flush().reason] == ["client-off"] * 3
    assert not transport.requests
    monkeypatch.delenv("LDP_CLIENT_OFF")
    monkeypatch.setenv("DO_NOT_TRACK", "1")
    assert ward.report(write_rows(5)).state is State.SENT


def test_a_rehearsal_checks_the_rows_and_keeps_nothing(silo, transport, write_rows, tmp_path, monkeypatch):
    monkeypatch.setenv("LDP_REHEARSAL", "1")
    ward = silo(transport)
    receipt = ward.report(write_rows(5))
    assert (receipt.state, receipt.rehearsal, receipt.epsilon) == (State.READY, True, 0.0)
    assert ward.report(write_rows([["yes"]])).state is State.INVALID
    assert not transport.requests
    assert not (tmp_path / "ward.journal").exists()
    monkeypatch.delenv("LDP_REHEARSAL")
    transport.responses = [DOWN]
    ward.grant()
    ward.report(write_rows(5), timeout=0)
    monkeypatch.setenv("LDP_REHEARSAL", "1")
    assert ward.flush().reason == "rehearsal"
    assert len(transport.requests) == 1


def test_a_preview_sends_and_records_nothing(ward, transport, plan, write_rows):
    preview = ward.preview(write_rows(50))
    shown = str(preview)
    assert plan.digest in shown
    assert "All 50 rows fit the survey" in shown
    exact = preview.counted.counts[: plan.mechanism.tables[1].start]
    lines = [line.split() for line in shown.splitlines() if line.startswith("smoker ")]
    assert [int(line[3]) for line in lines] == exact
    assert "counts" not in repr(preview)
    assert not transport.requests
    assert not ward.epochs()


@pytest.mark.parametrize("timeout", [-1, float("nan"), float("inf"), "soon"])
def test_a_timeout_is_a_number_of_seconds(ward, transport, write_rows, timeout):
    assert ward.report(write_rows(5), timeout=timeout).reason == "bad-option"
    assert ward.flush(timeout).reason == "bad-option"
    assert not transport.requests


def test_a_message_waits_while_the_consent_is_withdrawn(silo, write_rows):
    transport = FakeTransport(DOWN)
    ward = silo(transport)
    ward.report(write_rows(5), timeout=0)
    Journal(ward.journal.path).withdraw(ward.identity)  # `ldp-client purge` knows no epochs
    assert ward.flush().reason == "no-consent"
    assert len(transport.requests) == 1
    transport.responses = [RECORDED]
    ward.grant()
    assert ward.flush().state is State.SENT


# -- by invitation ---------------------------------------------------------------------------


def test_each_message_needs_a_token_of_its_own(silo, write_rows):
    plan = read_silo_survey(WARDS.replace("[label]", 'enrolment = "token"\n[label]')).compile()
    first, second = (format_token(plan, bytes(2) + bytes([place]) * 14) for place in (1, 2))
    transport = FakeTransport(RECORDED)
    path, later = write_rows(50), write_rows(draw_rows(9, seed=2), name="later.csv")
    assert silo(transport, survey=plan).report(path).reason == "invalid-token"
    misspelt = silo(transport, survey=plan, token="a" * 32, granted=False)
    assert misspelt.grant().reason == "invalid-token"
    ward = silo(transport, survey=plan, token=first)
    assert ward.report(path).state is State.SENT
    assert unpack(transport.bodies[0], plan.max_report_bytes).id == bytes(2) + b"\x01" * 14
    used = ward.report(later, epoch="2", new_rows=True)
    assert (used.reason, used.field) == ("invalid-token", "token")
    assert "was used for epoch 1" in used.why
    assert silo(transport, survey=plan, token=second).report(later, epoch="2", new_rows=True).state == "sent"
    assert len(transport.requests) == 2


# -- a disk that fails -----------------------------------------------------------------------


@pytest.mark.slow
def test_a_full_disk_sends_and_records_nothing(ward, transport, write_rows, monkeypatch):
    create = SiloJournal._create_tables

    def limit(journal: SiloJournal, connection: sqlite3.Connection) -> None:
        create(journal, connection)
        (pages,) = connection.execute("PRAGMA page_count").fetchone()
        connection.execute(f"PRAGMA max_page_count = {pages}")

    path = write_rows(
        [[f"person-{row}", *cells] for row, cells in enumerate(draw_rows(3000))], ["id", *HEADER]
    )
    ward.journal.read_key()
    monkeypatch.setattr(SiloJournal, "_create_tables", limit)
    receipt = ward.report(path, person="id")
    assert (receipt.state, receipt.reason) == (State.UNAVAILABLE, "journal-unavailable")
    monkeypatch.undo()
    assert not transport.requests
    assert not ward.epochs()
    assert ward.report(path, person="id").state is State.SENT


@pytest.mark.skipif(
    os.name == "nt" or os.geteuid() == 0, reason="needs a user for whom files can be read-only"
)
def test_a_read_only_journal_sends_nothing(ward, transport, write_rows, tmp_path):
    (tmp_path / "ward.journal").chmod(0o400)
    tmp_path.chmod(0o500)
    try:
        assert ward.report(write_rows(5)).reason == "journal-unavailable"
    finally:
        tmp_path.chmod(0o700)
    assert not transport.requests


def test_a_journal_that_cannot_be_written_sends_nothing(ward, transport, write_rows, monkeypatch):
    ward.journal.read_key()
    create = SiloJournal._create_tables

    def open_read_only(journal: SiloJournal, connection: sqlite3.Connection) -> None:
        create(journal, connection)
        connection.execute("PRAGMA query_only = ON")

    monkeypatch.setattr(SiloJournal, "_create_tables", open_read_only)
    assert ward.report(write_rows(5)).reason == "journal-unavailable"
    assert not transport.requests


def test_a_damaged_journal_stops_all_reports(ward, transport, write_rows, tmp_path):
    (tmp_path / "ward.journal").write_bytes(b"damaged" * 1000)
    assert ward.report(write_rows(5)).reason == "journal-damaged"
    assert ward.grant().reason == "journal-damaged"
    assert not transport.requests


def test_errors_are_raised_by_a_strict_silo(silo, write_rows):
    with pytest.raises(ConsentError):
        silo(granted=False, strict=True).report(write_rows(5))
    with pytest.raises(TransportError):
        Silo("no-url", journal="x")


WITHOUT_NUMPY = """
import sys
sys.modules["numpy"] = None
from ldp_client import Response
from ldp_silo import Silo
class Recorder:
    def request(self, method, url, body, timeout):
        return Response(200, b'{"status":"recorded"}')
plan, rows, journal = sys.argv[1:]
silo = Silo(plan, "http://127.0.0.1:9/v1/surveys/wards", journal=journal, transport=Recorder())
silo.grant()
str(silo.preview(rows))
print(silo.report(rows).state)
loaded = {name.partition(".")[0] for name, module in sys.modules.items() if module is not None}
print(*sorted(loaded & {"numpy", "click", "ldp_aggregator", "scipy"}))
"""


@pytest.mark.slow
def test_a_silo_needs_the_standard_library_and_msgpack_alone(plan, write_rows, tmp_path):
    (tmp_path / "plan.json").write_bytes(plan.json)
    arguments = [str(tmp_path / "plan.json"), str(write_rows(3000)), str(tmp_path / "journal")]
    command = [sys.executable, "-c", WITHOUT_NUMPY, *arguments]
    root = Path(__file__).resolve().parents[3]
    run = subprocess.run(command, cwd=root, capture_output=True, text=True, check=True)
    assert run.stdout == "sent\n\n"


@pytest.mark.parametrize(
    ("kind", "why"), [("local", "this survey is answered by people"), ("central", ".*ldp-central train")]
)
def test_a_survey_of_another_kind_is_refused_for_its_kind(tmp_path, kind, why):
    path = tmp_path / "survey.toml"
    path.write_text(f'[survey]\nid = "x"\nkind = "{kind}"\n')
    with pytest.raises(SurveyError, match=f"line 3: survey.kind: {why}") as caught:
        SILO_PLANS.load(path)
    assert len(str(caught.value).splitlines()) == 1
