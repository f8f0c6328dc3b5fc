"""The audit of a survey with a relay, and faults of clients that it detects."""

from __future__ import annotations

from collections.abc import Callable

import pytest

pytest.importorskip("cryptography.hazmat.primitives.hpke")

import ldp_audit.cli
from encoders.randomness import SystemEntropy
from encoders.survey import sealing
from encoders.survey.randomise import RandomisedReport
from ldp_audit import audit
from ldp_audit.people import make_people
from ldp_audit.relay_audit import check_relay
from ldp_client import participation
from ldp_client import relay as client_relay
from ldp_client.journal.table import JournalEntry
from ldp_client.transport import HttpTransport
from tests.support.commands import command
from tests.support.relays import ALL, relayed_plan, relayed_text
from tests.support.statistical_checks import small_and_full
from tests.support.surveys import RELAYED

VALUES = ", ".join(f'"{value}"' for value in range(300))
PLAN = relayed_plan(f'{RELAYED}[features.work]\nvalues = [{VALUES}]\nmissing = "category"\n')
ALPHA = 1e-9

pytestmark = pytest.mark.slow


@pytest.fixture(autouse=True)
def few_timed_reports(monkeypatch: pytest.MonkeyPatch) -> None:
    """Times are reported without a decision, see test_timing.py: few are enough."""
    monkeypatch.setattr(ldp_audit.cli, "TIMED_REPORTS", 30)


def failed() -> set[str]:
    checks = check_relay(PLAN, make_people(PLAN)[:2], 8, ALPHA)
    assert len(checks) == 6
    return {each.name.split(",")[0] for each in checks if each.passed is not True}


def test_this_client_passes():
    assert failed() == set()


@pytest.mark.slow
@pytest.mark.parametrize("size", small_and_full({"trials": 100, "copies": 2, "requests": 10}, {}, long=True))
def test_the_command_audits_a_survey_with_a_relay(tmp_path, monkeypatch, size):
    monkeypatch.setattr(
        ldp_audit.cli,
        "audit",
        lambda plan, trials, **options: audit(plan, **{"trials": trials, **options, **size}),
    )
    path = tmp_path / "survey.toml"
    path.write_text(relayed_text())
    shown = command("ldp-audit", path, "--trials", 1000).stdout
    assert "all messages have one length" in shown
    assert "a retry sends the same message, and none follows a 202" in shown


SEAL = sealing.seal_envelope


def seal_by_size(plan: object, report: bytes) -> bytes:
    """Pad to the report's own length, so that the size shows the question."""
    padded = len(report).to_bytes(2, "big") + report
    inner = sealing._seal(padded, plan.relay.collector_key, sealing.REPORT_INFO + plan.digest_bytes)
    return sealing._seal(inner, plan.relay.relay_key, sealing.RELAY_INFO + plan.digest_bytes)


def leave_zeros_out(plan: object, report: bytes) -> bytes:
    padded = len(report).to_bytes(2, "big") + report.ljust(plan.longest_report, b"\x01")
    inner = sealing._seal(padded, plan.relay.collector_key, sealing.REPORT_INFO + plan.digest_bytes)
    return sealing._seal(inner, plan.relay.relay_key, sealing.RELAY_INFO + plan.digest_bytes)


def seal_for_another_plan(plan: object, report: bytes) -> bytes:
    padded = len(report).to_bytes(2, "big") + report.ljust(plan.longest_report, b"\0")
    inner = sealing._seal(padded, plan.relay.collector_key, sealing.REPORT_INFO + bytes(32))
    return sealing._seal(inner, plan.relay.relay_key, sealing.RELAY_INFO + plan.digest_bytes)


def leave_the_report_open(plan: object, report: bytes) -> bytes:
    """Send the report in the clear, with the length of a message."""
    return report.ljust(sealing.outer_bytes(plan), b"\0")


@pytest.mark.parametrize(
    ("seal", "expected"),
    [
        (seal_by_size, {"all messages have one length", "messages are random bytes"}),
        (leave_zeros_out, {"relay and collector open each message"}),
        (seal_for_another_plan, {"relay and collector open each message"}),
        (leave_the_report_open, {"relay and collector open each message", "messages are random bytes"}),
    ],
)
def test_a_wrong_seal_is_detected(monkeypatch, seal: Callable[..., bytes], expected):
    monkeypatch.setattr(
        sealing, "seal_envelope", lambda plan, each, *_: seal(plan, each[0]) if each[0] else b""
    )
    assert expected <= failed()


def test_a_message_that_is_sealed_again_for_each_attempt_is_detected(monkeypatch):
    post = JournalEntry.post.fget

    def seal_again(entry: JournalEntry) -> tuple[str, bytes]:
        return post(entry)[0], SEAL(PLAN, [b"another message"])

    monkeypatch.setattr(JournalEntry, "post", property(seal_again))
    assert "a retry sends the same message" in failed()


def test_a_header_that_differs_between_people_is_detected(monkeypatch):
    headers = HttpTransport._headers

    def marked(self: HttpTransport, url: str, body: bytes | None) -> dict[str, str]:
        return headers(self, url, body) | {"X-Size": str(body and body[40] % 2)}

    monkeypatch.setattr(HttpTransport, "_headers", marked)
    assert any("method" in name or "Client.report" in name for name in failed())


def test_a_request_to_another_path_is_detected(monkeypatch):
    monkeypatch.setattr(
        JournalEntry, "post", property(lambda entry: (f"{entry.url}/other", entry.sealed or b""))
    )
    assert "devices post to the relay only" in failed()


def test_the_client_checks_the_seal_before_anything_is_drawn():
    assert client_relay.seal(PLAN, [b""], None)


# -- each person answers all questions ----------------------------------------------------------

ALL_PLAN = relayed_plan(f'{ALL}[features.work]\nvalues = ["a", "b", "c"]\n')
DEVICES = 120
"""Devices of each of two people; noise that is shared by two answers gives p-values below 1e-30."""


def failed_all() -> set[str]:
    checks = check_relay(ALL_PLAN, make_people(ALL_PLAN)[:2], DEVICES, ALPHA)
    return {each.name.split(",")[0] for each in checks if each.passed is not True}


def test_a_client_that_answers_all_questions_passes():
    assert failed_all() == set()


INDEPENDENT = "the answers of one person have independent noise and ids"
OPENED = "relay and collector open each message"


class _SameBytes(SystemEntropy):
    """Gives every answer the same noise, with ids of their own or not."""

    def __init__(self, *, same_ids: bool) -> None:
        super().__init__()
        self.noise, self.same_ids, self.calls = super().take(64), same_ids, 0

    def take(self, size: int) -> bytes:
        self.calls += 1
        if self.calls % 2 == 0:  # noise follows an id
            return super().take(size) if self.same_ids else self.noise[:size]
        return self.noise[: size - 1] + bytes([self.calls]) if self.same_ids else super().take(size)


@pytest.mark.parametrize("same_ids", [True, False])
def test_noise_or_ids_that_answers_share_are_detected(monkeypatch, same_ids):
    monkeypatch.setattr(participation, "SystemEntropy", lambda: _SameBytes(same_ids=same_ids))
    assert failed_all() == {INDEPENDENT}


def test_an_envelope_with_one_ephemeral_key_is_detected(monkeypatch):
    seal = sealing._seal
    made: dict[str, bytes] = {}

    def seal_once(plaintext: bytes, public_key: str, info: bytes) -> bytes:
        message = seal(plaintext, public_key, info)
        if public_key != ALL_PLAN.relay.collector_key and info.startswith(sealing.RELAY_INFO):
            made.clear()
            return message
        return message[:1] + made.setdefault("enc", message[1:33]) + message[33:]

    monkeypatch.setattr(sealing, "_seal", seal_once)
    assert {"messages are random bytes", OPENED} <= failed_all()


def swap(reports: list[bytes]) -> list[bytes]:
    return reports[::-1]


def repeat_the_first(reports: list[bytes]) -> list[bytes]:
    return [reports[0]] * len(reports)


@pytest.mark.parametrize("change", [swap, repeat_the_first])
def test_a_question_in_another_column_is_detected(monkeypatch, change):
    randomise = participation.randomise_all

    def changed(*parts: object) -> list[RandomisedReport]:
        return change(randomise(*parts))

    monkeypatch.setattr(participation, "randomise_all", changed)
    assert OPENED in failed_all()


def test_the_command_audits_a_survey_of_which_each_person_answers_all(tmp_path, monkeypatch):
    size = {"trials": 100, "copies": 2, "requests": 12}
    monkeypatch.setattr(
        ldp_audit.cli,
        "audit",
        lambda plan, trials, **options: audit(plan, **{"trials": trials, **options, **size}),
    )
    path = tmp_path / "survey.toml"
    path.write_text(relayed_text(ALL))
    shown = command("ldp-audit", path, "--trials", 1000).stdout
    assert INDEPENDENT in shown
    assert "all answers of a person keep 1 together" in shown
