"""A client with a relay: what it accepts, that it seals once, and that it never sends directly."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from time import monotonic
from unittest.mock import Mock

import pytest

pytest.importorskip("cryptography.hazmat.primitives.hpke")

from encoders.canonical import dump_canonical_json, load_canonical_json
from encoders.late_imports import MissingExtraError
from encoders.survey import Plan, read_survey
from encoders.survey import sealing as sealing_module
from encoders.survey.invitation import format_token
from encoders.survey.randomise import read_report
from encoders.survey.sealing import column_bytes, outer_bytes
from encoders.survey.unsealing import open_inner, open_outer
from ldp_client import Client, Journal, LdpError, Response, State, TransportError
from ldp_client.debug_log import log
from ldp_relay.held_messages import HeldMessages
from ldp_relay.relay_settings import read_settings
from tests.ldp_client.conftest import FakeTransport, wait_for_attempt
from tests.support.relays import (
    COLLECTOR,
    RELAY,
    ROW,
    relay,
    relayed_plan,
    small_text,
    write_relay_files,
)
from tests.support.servers import free_port, inherited_environment, wait_for
from tests.support.surveys import RELAYED, SLEEP

ORIGIN = "https://relay.example"
URL = f"{ORIGIN}/night-work"
PLAN = relayed_plan()
HELD = Response(202, b'{"status": "held"}')


class FakeRelay(FakeTransport):
    """Serves a plan, and responds to messages as a test wants; any other host is a failure."""

    def __init__(self, *responses: Response | TransportError, plan: Plan = PLAN) -> None:
        super().__init__(*(responses or (HELD,)))
        self.plan = plan

    def request(self, method: str, url: str, body: bytes | None, timeout: float) -> Response:
        assert url.startswith(f"{ORIGIN}/night-work/"), url
        if method != "GET":
            return super().request(method, url, body, timeout)
        self.requests.append((method, url, body))
        return Response(200, self.plan.json)


@pytest.fixture
def build(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[object]:
    monkeypatch.setattr("ldp_client.retry_after.FIRST_BACKOFF_SECONDS", 0.001)
    made: list[Client] = []

    def build(transport: FakeTransport, survey: object = URL, **options: object) -> Client:
        usual = {"journal": tmp_path / "j.db", "spread": 0, "digest": PLAN.digest, "relay": ORIGIN}
        made.append(Client(survey, URL, transport=transport, **(usual | options)))
        return made[-1]

    yield build
    for each in made:
        each.close(0)


def test_a_report_is_sealed_and_sent_to_the_relay_alone(build):
    fake = FakeRelay()
    client = build(fake)
    assert client.grant().state is State.READY
    assert client.report(ROW).state is State.QUEUED
    receipt = client.flush()
    assert (receipt.state, receipt.reason) == (State.SENT, "")
    assert receipt.why == "the relay has it; it is counted when enough others have answered"
    assert client.status() == receipt
    [(_, plan_url, _), (_, url, message)] = fake.requests
    assert (plan_url, url) == (f"{URL}/plan", f"{URL}/{PLAN.digest}")
    assert len(message) == outer_bytes(PLAN)
    report = open_inner(PLAN, open_outer(PLAN, message, RELAY), COLLECTOR)
    assert read_report(PLAN, report).plan_digest == PLAN.digest_bytes


def test_every_attempt_sends_the_same_bytes_and_none_follows_a_202(build, tmp_path):
    refusals = [
        TransportError("away"),
        Response(503, b'{"reason": "store-unavailable"}'),
        Response(404, b'{"reason": "unknown-survey"}'),
        Response(200, b'{"status": "recorded"}'),  # not a relay's
        Response(302, b""),
        Response(404, b"a proxy's page"),
        HELD,
    ]
    fake = FakeRelay(*refusals)
    client = build(fake)
    client.grant()
    client.report(ROW)
    for _ in refusals:
        client.flush()
    assert client.status().state is State.SENT
    assert len(fake.bodies) == len(refusals)
    assert len(set(fake.bodies)) == 1
    client.flush()
    assert client.report(ROW).state is State.ALREADY_REPORTED
    again = build(fake)
    again.flush()
    assert len(fake.bodies) == len(refusals)


def test_the_message_outlives_the_process_that_made_it(build, tmp_path):
    fake = FakeRelay(TransportError("away"))
    client = build(fake)
    client.grant()
    client.report(ROW)
    wait_for_attempt(client)
    receipt = client.status()
    assert (receipt.state, receipt.reason) == (State.QUEUED, "relay-unreachable")
    sealed = Journal(tmp_path / "j.db").find(client.identity).sealed
    client.close(0)
    fake.responses = [HELD]
    later = build(fake)
    later.flush()
    assert later.status().state is State.SENT
    assert set(fake.bodies) == {sealed}


@pytest.mark.parametrize(
    ("response", "state", "reason"),
    [
        (Response(404, b'{"reason": "other-plan"}'), State.REJECTED, "other-plan"),
        (Response(400, b'{"reason": "bad-seal"}'), State.REJECTED, "bad-seal"),
        (Response(400, b'{"reason": "malformed"}'), State.REJECTED, "malformed"),
        (Response(410, b'{"reason": "survey-closed"}'), State.QUEUED, "closed-once"),
        (Response(403, b'{"reason": "survey-not-open"}'), State.QUEUED, "survey-not-open"),
        (Response(409, b'{"reason": "id-reused"}'), State.QUEUED, "id-reused"),
        (Response(200, b'{"status": "held"}'), State.QUEUED, "relay-unreachable"),
    ],
)
def test_only_the_relay_s_own_words_are_final(build, response, state, reason):
    client = build(FakeRelay(response))
    client.grant()
    client.report(ROW)
    wait_for_attempt(client)
    receipt = client.status()
    assert (receipt.state, receipt.reason) == (state, reason)
    assert "collector" not in receipt.why


def test_the_journal_never_contains_the_report(build, tmp_path, monkeypatch):
    made = []
    seal = sealing_module.seal_envelope
    monkeypatch.setattr(sealing_module, "seal_envelope", lambda *parts: made.append(parts[1]) or seal(*parts))
    fake = FakeRelay(TransportError("away"))
    client = build(fake)
    client.grant()
    client.report(ROW)
    wait_for_attempt(client)
    entry = Journal(tmp_path / "j.db").find(client.identity)
    assert (entry.report, entry.sealed) == (None, fake.bodies[0])
    [report] = filter(None, (each[0] for each in made))
    read_report(PLAN, report)
    for path in tmp_path.iterdir():
        assert report not in path.read_bytes()
        assert PLAN.digest_bytes not in path.read_bytes()


@pytest.mark.parametrize("withdrawn", [False, True])
def test_a_message_is_deleted_seven_days_after_the_relay_s_end(build, tmp_path, monkeypatch, withdrawn):
    closes = PLAN.relay.closes
    fake = FakeRelay()
    client = build(fake)
    client.grant()
    client.report(ROW)
    client.flush()
    if withdrawn:
        fake.responses = [TransportError("away")]
        assert client.withdraw().reason == "relay-unreachable"
    client.close(0)

    def start_at(now: float) -> tuple[bytes | None, str, str]:
        monkeypatch.setattr("ldp_client.sending.sender.time", lambda: now)
        later = build(fake)
        wait_for(lambda: later._sender._reads_done == later._sender._reads_requested)
        receipt = later.status()
        later.close(0)
        return Journal(tmp_path / "j.db").find(client.identity).sealed, str(receipt.state), receipt.why

    state, requests = "withdrawn" if withdrawn else "sent", len(fake.requests)
    sealed, _, why = start_at(closes + 7 * 86_400 - 1)
    assert sealed == fake.bodies[0]
    assert why.startswith("" if withdrawn else "the relay has it")
    sealed, found, why = start_at(closes + 7 * 86_400)
    assert (sealed, found) == (None, state)
    assert why.startswith("" if withdrawn else "the relay has passed it on, or deleted it")
    again = build(fake)
    assert again.report(ROW).state in (State.ALREADY_REPORTED, State.WITHDRAWN)
    assert again.withdraw().state == state
    assert len(fake.requests) == requests


def test_a_message_that_waits_is_never_deleted_by_the_clock(build, tmp_path):
    client = build(FakeRelay(TransportError("away")))
    client.grant()
    client.report(ROW)
    wait_for_attempt(client)
    journal = Journal(tmp_path / "j.db")
    journal.forget_messages(2**40)
    assert journal.find(client.identity).sealed


def test_a_full_network_is_said_and_tried_again_hours_later(build):
    full = Response(429, b'{"reason": "network-full"}', 28_800.0)
    fake = FakeRelay(full)
    client = build(fake)
    client.grant()
    client.report(ROW)
    wait_for_attempt(client)
    receipt = client.flush(1)
    assert (receipt.state, receipt.reason) == (State.QUEUED, "network-full")
    assert "too many people have answered from your network; try another one" in receipt.why
    [(_, wait)] = client._sender._schedule._reports.items()
    assert 28_700 < wait.due - monotonic() < 28_800 + 20 * 3600
    client.flush(1)
    assert len(fake.bodies) == 1


# -- codes -------------------------------------------------------------------------------------

CODE = bytes(range(16))
"""A code; as a question's index, its first bytes would be beyond the last one."""
TOKEN = format_token(PLAN, b"\xff" + CODE[1:])


def test_a_code_is_before_the_message_for_the_collector(build):
    fake = FakeRelay()
    client = build(fake, token=f" {TOKEN.upper()} ")
    assert client.grant().state is State.READY
    assert client.preview(ROW)
    client.report(ROW)
    assert client.flush().state is State.SENT
    content = open_outer(PLAN, fake.bodies[0], RELAY, has_code=True)
    assert content[:16] == b"\xff" + CODE[1:]
    report = read_report(PLAN, open_inner(PLAN, content[16:], COLLECTOR))
    assert report.id != content[:16]


@pytest.mark.parametrize(
    "token",
    ["", TOKEN[:-1], "a" + TOKEN[1:], format_token(replace(PLAN, family="other"), CODE)],
    ids=["empty", "cut short", "misspelt", "of another survey"],  # the tests' keys differ from run to run
)
def test_a_code_that_is_misspelt_or_of_another_survey_is_refused_before_anything_is_drawn(build, token):
    client = build(FakeRelay(), token=token)
    receipt = client.grant()
    assert (receipt.state, receipt.field) == (State.INVALID, "token")
    assert client.report(ROW).state is State.NO_CONSENT
    agreed = build(FakeRelay())
    agreed.grant()
    assert client.report(ROW).state is State.INVALID
    assert agreed.status().state is State.READY


@pytest.mark.parametrize(
    ("status", "reason", "why"),
    [
        (403, "code-missing", "the survey needs a code: use the link that you received"),
        (403, "code-unknown", "the relay did not give this code: use the link that you received"),
        (409, "code-used", "this code was used before, and the first answer counts"),
    ],
)
def test_the_relay_s_refusal_of_a_code_is_final(build, status, reason, why):
    outcomes = []
    fake = FakeRelay(Response(status, json.dumps({"reason": reason}).encode()))
    client = build(fake, token=TOKEN, on_outcome=outcomes.append)
    client.grant()
    client.report(ROW)
    client.flush()
    for receipt in (client.status(), outcomes[-1]):
        assert (receipt.state, receipt.reason, receipt.why) == (State.REJECTED, reason, why)
    client.flush()
    assert len(fake.bodies) == 1


# -- withdrawal --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("response", "state", "reason", "again"),
    [
        (Response(204, b""), State.WITHDRAWN, "", 1),
        (Response(409, b'{"reason": "passed-on"}'), State.WITHDRAWN, "passed-on", 1),
        (Response(410, b'{"reason": "survey-closed"}'), State.WITHDRAWN, "survey-closed", 1),
        (TransportError("away"), State.WITHDRAWN, "relay-unreachable", 2),
        (Response(503, b""), State.WITHDRAWN, "relay-unreachable", 2),
        (Response(429, b'{"reason": "network-full"}'), State.WITHDRAWN, "relay-unreachable", 2),
        (Response(429, b'{"reason": "too-many-requests"}'), State.WITHDRAWN, "relay-unreachable", 2),
        (Response(409, b"a proxy's page"), State.WITHDRAWN, "relay-unreachable", 2),
        (Response(409, b'{"reason": ["code-used"]}'), State.WITHDRAWN, "relay-unreachable", 2),
        (Response(409, b'{"reason": "code-used"}'), State.WITHDRAWN, "", 1),
        (Response(403, b'{"reason": "code-unknown"}'), State.WITHDRAWN, "", 1),
        (Response(403, b'{"reason": "code-missing"}'), State.WITHDRAWN, "", 1),
    ],
)
def test_the_relay_is_asked_to_delete_a_message_that_it_has(build, response, state, reason, again):
    fake = FakeRelay()
    client = build(fake)
    client.grant()
    client.report(ROW)
    assert client.flush().state is State.SENT
    fake.responses = [response]
    receipt = client.withdraw()
    assert (receipt.state, receipt.reason) == (state, reason)
    assert fake.requests[-1] == ("DELETE", f"{URL}/{PLAN.digest}", fake.bodies[0])
    status = client.status()
    assert (status.state, status.reason) == (state, reason)
    client.withdraw()
    assert [method for method, _, _ in fake.requests].count("DELETE") == again


def test_a_report_that_waits_is_withdrawn_here_and_at_the_relay(build):
    fake = FakeRelay(TransportError("away"))
    client = build(fake)
    client.grant()
    client.report(ROW)
    wait_for_attempt(client)
    fake.responses = [Response(204, b"")]  # an attempt may have arrived although there was no response
    assert client.withdraw().state is State.WITHDRAWN
    assert client.status().state is State.WITHDRAWN
    sent = len(fake.bodies)
    client.flush(1)
    assert len(fake.bodies) == sent


def test_the_relay_is_asked_about_a_report_that_this_process_has_not_sent(build):
    """The relay refuses the message from then on; if it does not answer, it can be asked again."""
    fake = FakeRelay(TransportError("away"))
    client = build(fake, spread=3600)
    client.grant()
    client.report(ROW)
    receipt = client.withdraw()
    assert (receipt.state, receipt.reason) == (State.WITHDRAWN, "relay-unreachable")
    assert "withdraw again" in receipt.why
    client.flush(0.2)
    fake.responses = [Response(204, b"")]
    receipt = client.withdraw()
    assert (receipt.state, receipt.reason) == (State.WITHDRAWN, "")
    client.withdraw()
    assert [method for method, _, _ in fake.requests] == ["GET", "DELETE", "DELETE"]


SEND = """
import sys
from ldp_client import Client, Response

class Held:
    def request(self, method, url, body, timeout):
        return Response(202, b'{"status": "held"}')

url, origin, digest, journal = sys.argv[1:]
print(Client(url, relay=origin, digest=digest, journal=journal, transport=Held()).flush(100).state)
"""


@pytest.mark.slow
def test_a_report_that_another_process_has_sent_is_deleted_at_the_relay(build, tmp_path):
    fake = FakeRelay()
    client = build(fake, spread=3600)
    client.grant()
    client.report(ROW)
    message = Journal(tmp_path / "j.db").find(client.identity).sealed
    command = [sys.executable, "-c", SEND, URL, ORIGIN, PLAN.digest, str(tmp_path / "j.db")]
    other = subprocess.run(
        command, env=inherited_environment(), capture_output=True, text=True, check=True, timeout=120
    )
    assert other.stdout.split() == ["sent"]
    assert client.status().state is State.SENT
    fake.responses = [Response(204, b"")]
    assert client.withdraw().state is State.WITHDRAWN
    assert fake.requests[-1] == ("DELETE", f"{URL}/{PLAN.digest}", message)


def test_nothing_is_sent_if_the_person_opted_out(build, monkeypatch):
    fake = FakeRelay()
    client = build(fake)
    client.grant()
    client.report(ROW)
    client.flush()
    monkeypatch.setenv("DO_NOT_TRACK", "1")
    receipt = client.withdraw()
    assert (receipt.state, receipt.reason) == (State.WITHDRAWN, "relay-unreachable")
    assert "was not asked" in receipt.why
    assert [method for method, _, _ in fake.requests] == ["GET", "POST"]
    monkeypatch.delenv("DO_NOT_TRACK")
    fake.responses = [Response(204, b"")]
    client.withdraw()
    assert fake.requests[-1][0] == "DELETE"


def test_a_rejected_report_is_not_withdrawn_from_the_relay(build):
    fake = FakeRelay(Response(400, b'{"reason": "malformed"}'))
    client = build(fake)
    client.grant()
    client.report(ROW)
    client.flush()
    receipt = client.withdraw()
    assert (receipt.state, receipt.reason) == (State.REJECTED, "malformed")
    assert [method for method, _, _ in fake.requests] == ["GET", "POST"]


@pytest.mark.parametrize(
    "options",
    [
        {"survey": PLAN, "max_epsilon": 0.9},
        {"survey": PLAN, "max_local_epsilon": 1.9},
        {"survey": PLAN, "relay": "https://other.example"},
        {"relay": None, "digest": None},  # sends directly
    ],
)
def test_a_client_with_other_options_does_not_send_a_message_that_they_refuse(build, options):
    fake = FakeRelay(TransportError("away"))
    client = build(fake)
    client.grant()
    client.report(ROW)
    wait_for_attempt(client)
    client.close(60)
    sent = len(fake.bodies)
    build(fake, **options).flush(0.5)
    assert len(fake.bodies) == sent


# -- what is refused ---------------------------------------------------------------------------


def refusal(client: Client) -> tuple[str, str]:
    receipt = client.grant()
    assert client.report(ROW).state in (receipt.state, State.NO_CONSENT)
    return str(receipt.state), receipt.reason


def test_a_fetched_plan_must_be_pinned(build):
    fake = FakeRelay()
    assert refusal(build(fake, digest=None)) == ("unavailable", "relay-unpinned")
    assert fake.requests == []
    assert build(fake, survey=PLAN, digest=None).grant().state is State.READY


@pytest.mark.parametrize("url", ["https://collector.example/v1/surveys/night-work", f"{ORIGIN}/x/night-work"])
def test_the_collector_s_address_is_named_and_not_asked(tmp_path, url):
    fake = FakeRelay()
    client = Client(url, relay=ORIGIN, digest=PLAN.digest, journal=tmp_path / "j.db", transport=fake)
    receipt = client.grant()
    assert receipt.reason == "bad-option"
    assert "give the survey's address at the relay, https://relay.example:443/ID, not its" in receipt.why
    assert "not its address at the collector" in client.report(ROW).why
    assert fake.requests == []


@pytest.mark.parametrize(
    ("options", "reason"), [({"digest": None}, "relay-unpinned"), ({}, "relay-unreachable")]
)
def test_a_failed_grant_is_named_by_the_report_that_misses_the_consent(build, options, reason):
    fake = FakeRelay()
    fake.request = Mock(side_effect=TransportError("away"))
    client = build(fake, **options)
    assert client.grant().reason == reason
    assert f"the last grant() failed ({reason})" in client.report(ROW).why


def test_without_the_option_a_survey_with_a_relay_is_refused(build):
    client = build(FakeRelay(), survey=PLAN, relay=None)
    assert refusal(client) == ("unavailable", "relay-unsupported")
    assert 'relay="https://relay.example:443"' in client.grant().why


def test_with_the_option_a_survey_without_a_relay_is_refused(build):
    direct = replace(read_survey(SLEEP).compile(), id="night-work", family="night-work")
    assert refusal(build(FakeRelay(), survey=direct, digest=None)) == ("rejected", "other-plan")


@pytest.mark.parametrize("url", ["https://other.example/night-work", "https://relay.example:8443/night-work"])
def test_another_relay_than_the_named_one_is_refused(build, url):
    other = relayed_plan(RELAYED.replace(URL, url))
    assert refusal(build(FakeRelay(), survey=other, digest=None)) == ("rejected", "other-plan")


def test_the_survey_s_url_must_be_its_address_at_the_relay(tmp_path):
    url = "https://relay.example/v1/surveys/night-work"
    client = Client(PLAN, url, relay=ORIGIN, journal=tmp_path / "j.db", transport=FakeTransport(HELD))
    receipt = client.grant()
    assert (receipt.state, receipt.reason) == (State.REJECTED, "other-plan")
    assert URL in receipt.why


def test_max_epsilon_bounds_the_promise_and_max_local_epsilon_the_report(build):
    assert build(FakeRelay(), max_epsilon=1).grant().state is State.READY  # the report's is 2
    for limits, words in (
        ({"max_epsilon": 0.9}, "promises epsilon 1, but max_epsilon is 0.9"),
        ({"max_local_epsilon": 1.9}, "epsilon is 2, but max_local_epsilon is 1.9"),
    ):
        client = build(FakeRelay(), **limits, journal=Journal(":memory:"))
        assert refusal(client) == ("rejected", "epsilon-above-cap")
        assert words in client.grant().why


def test_the_total_counts_the_local_epsilon(build):
    client = build(FakeRelay(), max_total_epsilon=1.5)
    assert client.grant().reason == "total-epsilon-spent"


def test_keys_that_cannot_be_used_are_refused_before_anything_is_drawn(build):
    zero = relayed_plan(collector="AQAgAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAQAB")
    assert refusal(build(FakeRelay(), survey=zero, digest=None)) == ("rejected", "other-plan")


def test_without_hpke_nothing_is_drawn(build, monkeypatch):
    def missing(*_: object) -> None:
        raise MissingExtraError("sealing reports needs cryptography 47 or later")

    monkeypatch.setattr(sealing_module, "seal_envelope", missing)
    assert refusal(build(FakeRelay(), survey=PLAN)) == ("unavailable", "relay-unsupported")


@pytest.mark.parametrize(
    "relay",
    ["relay.example", "http://relay.example", "https://relay.example/night-work", "ftp://a", "https://", 3],
)
def test_an_address_that_is_no_relay_s_is_named_at_once(tmp_path, relay):
    with pytest.raises(LdpError, match="relay must be the address of a relay"):
        Client(URL, relay=relay, digest=PLAN.digest, journal=tmp_path / "j.db")


def test_a_rehearsal_seals_and_sends_nothing(build):
    fake = FakeRelay()
    client = build(fake, rehearsal=True)
    client.grant()
    assert client.report(ROW).state is State.QUEUED
    receipt = client.withdraw()
    assert (receipt.state, receipt.reason) == (State.WITHDRAWN, "")
    assert [method for method, _, _ in fake.requests] == ["GET"]


def test_logs_contain_no_message_and_no_answer(build, caplog):
    caplog.set_level("DEBUG", log.name)
    fake = FakeRelay()
    client = build(fake)
    client.grant()
    client.report(ROW)
    client.flush()
    assert fake.bodies[0].hex() not in caplog.text
    assert "some" not in caplog.text.split()


# -- a real relay ------------------------------------------------------------------------------

APPLICATION = """
import sys
from ldp_client import Client
url, origin, digest, journal = sys.argv[1:]
client = Client(url, relay=origin, digest=digest, journal=journal)
print(client.grant().state, client.report({"nights": "some", "rested": True}).state)
"""


@pytest.mark.slow
def test_an_application_with_default_options_answers_through_a_real_relay(tmp_path):
    """It ends at once; the report is sent at the end of the process, or by the next one."""
    port = free_port()
    plan = read_survey(small_text(port)).compile()
    settings = write_relay_files(tmp_path, small_text(port), "http://127.0.0.1:9")
    origin = f"http://127.0.0.1:{port}"
    words = [f"{origin}/{plan.id}", origin, plan.digest, str(tmp_path / "journal.db")]
    command = [sys.executable, "-c", APPLICATION, *words]
    environment = inherited_environment()
    without_relay = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    assert without_relay.stdout.split() == ["unavailable", "no_consent"]
    with relay(settings):
        made = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
        assert made.stdout.split() == ["ready", "queued"]
        read = read_settings(settings)
        held = HeldMessages(read.database)
        with Client(words[0], relay=origin, digest=plan.digest, journal=words[3]) as client:
            assert client.flush(60).state in (State.SENT, State.DUPLICATE)
            assert held.counts(plan.digest)["waiting"] == 1
            assert client.withdraw().state is State.WITHDRAWN
        assert held.counts(plan.digest)["waiting"] == 0
        held.close()


# -- each person answers all questions ----------------------------------------------------------

ALL_PLAN = relayed_plan(
    RELAYED.replace("epsilon = 2\n", "epsilon = 2.8\n").replace("[relay]", '[relay]\nask = "all"')
)
"""Two questions of epsilon 1.4 each; the promise is 1."""
ALL_OPTIONS = {"digest": ALL_PLAN.digest, "relay": ORIGIN}


def agreed(
    build: object, *responses: Response | TransportError, **options: object
) -> tuple[object, FakeRelay]:
    fake = FakeRelay(*responses, plan=ALL_PLAN)
    client = build(fake, **ALL_OPTIONS | options)
    client.grant()
    return client, fake


def test_all_answers_are_one_message_and_one_entry(build, tmp_path):
    client, fake = agreed(build)
    receipt = client.report(ROW)
    assert (receipt.state, receipt.epsilon) == (State.QUEUED, 2.8)
    assert client.flush().state is State.SENT
    [envelope] = fake.bodies
    assert len(envelope) == outer_bytes(ALL_PLAN)
    content, start = open_outer(ALL_PLAN, envelope, RELAY), 0
    for column, size in enumerate(column_bytes(ALL_PLAN)):
        report = read_report(ALL_PLAN, open_inner(ALL_PLAN, content[start : start + size], COLLECTOR, column))
        assert report.question == column
        start += size
    [entry] = Journal(tmp_path / "j.db").entries()
    assert (entry.epsilon, entry.report, entry.sealed) == ("2.8", None, envelope)


def test_the_same_envelope_is_sent_until_the_relay_has_it(build, tmp_path):
    client, fake = agreed(build, TransportError("away"), Response(503, b""), HELD)
    client.report(ROW)
    for _ in range(3):
        client.flush()
    client.close(0)
    again = build(fake, **ALL_OPTIONS)
    assert again.report(ROW).state is State.ALREADY_REPORTED
    again.flush()
    assert len(fake.bodies) == 3
    assert len(set(fake.bodies)) == 1


def test_withdrawing_is_one_request_for_all_answers(build):
    client, fake = agreed(build, HELD, Response(204, b""))
    client.report(ROW)
    client.flush()
    assert client.withdraw().state is State.WITHDRAWN
    assert [method for method, _, _ in fake.requests if method != "GET"] == ["POST", "DELETE"]
    assert len({body for method, _, body in fake.requests if method != "GET"}) == 1


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"max_local_epsilon": 2.79}, "is 2.8, but max_local_epsilon is 2.79: raise max_local_epsilon if"),
        ({"max_epsilon": 0.99}, "the plan promises epsilon 1, but max_epsilon is 0.99"),
        ({"max_total_epsilon": 2.79}, "the survey would spend epsilon 2.8"),
    ],
)
def test_the_sum_and_the_promise_have_limits(build, options, words):
    client, fake = agreed(build, **options)
    assert words in client.grant().why + client.report(ROW).why
    assert client.flush(0.1).state is not State.SENT
    assert fake.bodies == []


def test_a_row_that_cannot_be_coded_draws_and_sends_nothing(build, tmp_path):
    client, fake = agreed(build)
    receipt = client.report({"nights": "some", "rested": "maybe"})
    assert (receipt.state, receipt.field, receipt.epsilon) == (State.INVALID, "rested", 0)
    client.flush(0.1)
    assert fake.bodies == []
    assert Journal(tmp_path / "j.db").entries()[0].sealed is None


def test_a_plan_that_asks_all_without_the_relay_s_promise_is_refused(build, tmp_path: Path):
    document = load_canonical_json(ALL_PLAN.json)
    document["relay"]["batch"] = 100
    forged = dump_canonical_json(document)
    fake = FakeRelay(plan=ALL_PLAN)
    fake.plan = type("Served", (), {"json": forged})()
    client = build(fake, relay=ORIGIN, digest=None, public_key=None)
    assert client.grant().state is not State.READY
    assert fake.bodies == []
