"""The logger `ldp_client`: what it shows of a report at level DEBUG, and that it never shows a value."""

import logging
import re
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import date
from pathlib import Path
from unittest.mock import patch

import pytest

from encoders.randomness import SystemEntropy
from encoders.survey import read_survey
from encoders.survey.invitation import draw_invitation, read_invitation
from encoders.survey.wave_calendar import schedule_waves
from encoders.survey.waves import Waves
from ldp_client import Client, Journal, LdpError, Response, State, TransportError
from tests.ldp_client.conftest import RECORDED, ROW, URL, FakeTransport, wait_for_attempt
from tests.support.servers import wait_for
from tests.support.surveys import SLEEP

DOWN = TransportError("no network")
CLOSED = Response(410, b'{"reason":"survey-closed"}')
HOURS, SECRET = 7.012345, "secret-0f3b"
ROWS: dict[State, tuple[dict[str, object], object]] = {
    State.QUEUED: ({"age": SECRET, "hours": HOURS}, f"label-{SECRET}"),
    State.INVALID: ({"age": f"other-{SECRET}", "hours": [HOURS]}, SECRET),
}
MARKED_URL = f"http://user-{SECRET}:password-{SECRET}@collector.test/path-{SECRET}/v1/surveys/sleep"


@pytest.fixture(autouse=True)
def _debugging(caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch) -> None:
    caplog.set_level(logging.DEBUG, "ldp_client")
    monkeypatch.setattr("ldp_client.retry_after.FIRST_BACKOFF_SECONDS", 0.001)


def logged(caplog: pytest.LogCaptureFixture) -> str:
    return "\n".join(record.getMessage() for record in caplog.records)


# -- what is never logged ---------------------------------------------------------------------------


class Device:
    """One person's device; everything that must not be logged contains SECRET, or is in `secrets`."""

    def __init__(self, folder: Path) -> None:
        survey = SLEEP.replace('"young", "old"', f'"young", "{SECRET}"')
        survey = survey.replace('"yes", "no"', f'"yes", "label-{SECRET}"')
        survey = survey.replace("epsilon = 1.0", 'epsilon = 1.0\nenrolment = "token"')
        self.plan = read_survey(survey).compile()
        self.token = draw_invitation(self.plan, SystemEntropy())
        self.journal = folder / f"journal-{SECRET}.db"
        self.transport = FakeTransport(RECORDED)

    def client(self, **options: object) -> Client:
        options = {"journal": self.journal, "spread": 0, "token": self.token, **options}
        return Client(self.plan, MARKED_URL, transport=self.transport, **options)

    def answer(self, *responses: Response | TransportError, **options: object) -> Client:
        """Return a client that has reported to a collector with these responses, and has flushed."""
        self.transport.responses = list(responses)
        client = self.client(**options)
        client.grant()
        client.report(*ROWS[State.QUEUED])
        client.flush(0.2)
        wait_for_attempt(client)
        return client

    @property
    def secrets(self) -> list[str]:
        texts = [SECRET, str(HOURS), self.token, self.plan.digest]
        for body in {body for body in self.transport.bodies if body}:
            for part in (body, body[39:55]):  # the report, and its id
                texts += [part.hex(), part.hex(" "), repr(part)[2:-1], str(list(part))]
        return texts


def no_consent(device: Device) -> State:
    return device.client().report(*ROWS[State.QUEUED]).state


def ready(device: Device) -> State:
    return device.client().grant().state


def waiting(device: Device, in_wave: float = -1.0, granted: float = -1.0) -> State:
    """Return the state at `in_wave`, in lengths of the person's wave from its beginning."""
    waves = {"first": date(2027, 1, 1), "every": "month", "count": 2, "open_days": None}
    device.plan = replace(device.plan, waves=Waves("drawn", schedule_waves(**waves)))
    device.token = draw_invitation(device.plan, SystemEntropy())
    wave = device.plan.waves.list[read_invitation(device.plan, device.token)[0].wave]
    times = [wave.opens + each * (wave.closes - wave.opens) for each in (granted, in_wave)]
    with patch("time.time", lambda: times[0]):
        device.client().grant()
    with patch("time.time", lambda: times[1]):
        return device.client().report(*ROWS[State.QUEUED]).state


def missed(device: Device) -> State:
    return waiting(device, 1.0)


def not_asked(device: Device) -> State:
    return waiting(device, 2.0, 1.0)


def invalid(device: Device) -> State:
    client = device.client()
    client.grant()
    return client.report(*ROWS[State.INVALID]).state


def queued(device: Device) -> State:
    return device.answer(Response(503, b'{"reason":"store-unavailable"}', 30.0)).status().state


def sent(device: Device) -> State:
    return device.answer(DOWN, RECORDED).flush().state


def duplicate(device: Device) -> State:
    return device.answer(Response(200, b'{"status":"duplicate"}')).status().state


def rejected(device: Device) -> State:
    return device.answer(Response(400, b'{"reason":"bad-payload"}')).status().state


def expired(device: Device) -> State:
    device.transport.responses = [CLOSED]
    client = device.client(spread=1e9)
    client.grant()
    client.report(*ROWS[State.QUEUED])
    client._journal.record_closed(client.identity, 0.0)
    return client.flush().state


def withdrawn(device: Device) -> State:
    return device.answer(DOWN).withdraw().state


def already_reported(device: Device) -> State:
    return device.answer(DOWN).report(*ROWS[State.QUEUED]).state


def unavailable(device: Device) -> State:
    device.journal.mkdir()
    return device.client().grant().state


SCENARIOS: list[Callable[[Device], State]] = [
    no_consent,
    ready,
    waiting,
    missed,
    not_asked,
    invalid,
    queued,
    sent,
    duplicate,
    rejected,
    expired,
    withdrawn,
    already_reported,
    unavailable,
]


@pytest.fixture
def device(tmp_path: Path) -> Iterator[Device]:
    made = Device(tmp_path)
    yield made
    if made.journal.is_file():
        made.client().withdraw()


def test_every_state_has_a_scenario():
    assert {scenario.__name__ for scenario in SCENARIOS} == set(State)


@pytest.mark.slow
@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda each: each.__name__)
def test_no_record_holds_a_value_a_report_a_token_or_a_secret_part_of_an_address(device, scenario, caplog):
    state = scenario(device)
    assert state == scenario.__name__
    assert f": {state}" in logged(caplog)
    assert "sleep at http://collector.test:80: " in logged(caplog)
    # handlers may store every entry of a record, so all of them are searched
    texts = [f"{record.getMessage()} {vars(record)!r}" for record in caplog.records]
    found = [secret for secret in device.secrets for text in texts if secret in text]
    assert not found


@pytest.mark.slow
@pytest.mark.parametrize("name", ["strict", "person"])
def test_options_change_nothing_about_what_is_logged(device, name, caplog, monkeypatch):
    monkeypatch.setenv("LDP_JOURNAL", str(device.journal))
    client = device.answer(DOWN, journal=None, **{name: True if name == "strict" else f"ann-{SECRET}"})
    if name == "strict":
        other = device.client(journal=Journal(":memory:"), strict=True)
        other.grant()
        with pytest.raises(LdpError):
            other.report(*ROWS[State.INVALID])
    client.close()
    assert SECRET not in "".join(f"{record.getMessage()} {vars(record)!r}" for record in caplog.records)
    client.withdraw()


@pytest.mark.slow
def test_the_words_of_a_foreign_response_are_not_logged(device, caplog):
    device.answer(Response(502, b'{"reason":"%s","status":"%s"}' % ((SECRET.encode(),) * 2)))
    assert "HTTP status 502, not from the collector" in logged(caplog)
    assert SECRET not in logged(caplog)


# -- what is logged ---------------------------------------------------------------------------------


@pytest.mark.slow
def test_a_report_is_logged_from_consent_to_the_collector_s_response(client, caplog):
    script = FakeTransport(Response(503, b'{"reason":"store-unavailable"}', 0.5), RECORDED)
    one = client(script, granted=False, spread=1e9)
    one.report(ROW, "no")
    one.grant()
    one.report(ROW, "no")
    wait_for(lambda: "a random time within 1e+09 s" in logged(caplog))
    assert one.flush().state is State.SENT
    one.close()
    lines = [line.removeprefix("sleep at http://collector.test:80: ") for line in logged(caplog).splitlines()]
    expected = [
        r"report: no_consent \(no-consent\), nothing is drawn or sent without consent; ConsentError",
        r"grant: ready, the person has agreed",
        r"report: queued, the report is stored and waits to be sent",
        r"next attempt in \d+\.\d s, a random time within 1e\+09 s",
        r"next attempt in 0\.0 s, by flush",
        r"an attempt begins",
        r"HTTP status 503, store-unavailable, Retry-After 0\.5 s",
        r"next attempt in 0\.\d s, after the pause that the collector's response requires",
        r"an attempt begins",
        r"HTTP status 200, recorded",
        r"sent",
        r"flush: sent, the collector has counted the report",
    ]
    assert len(lines) == len(expected)
    for line, pattern in zip(lines, expected, strict=True):
        assert re.fullmatch(pattern, line)


def test_an_unreachable_collector_is_logged_with_the_type_of_the_error(client, caplog):
    class Refused(FakeTransport):
        def request(self, method: str, url: str, body: bytes | None, timeout: float) -> Response:
            raise TransportError("no answer") from ConnectionRefusedError(SECRET)

    one = client(Refused(DOWN))
    one.report(ROW, "no")
    wait_for(lambda: re.search(r"a random pause after 1 failed attempt$", logged(caplog), re.MULTILINE))
    one.flush(0.1)
    one.close()
    text = logged(caplog)
    assert "no response: ConnectionRefusedError" in text
    assert "flush: queued (collector-unreachable)" in text


def test_the_end_of_a_report_is_logged_with_its_reason(client, caplog):
    one = client(FakeTransport(Response(400, b'{"reason":"bad-payload"}')))
    one.report(ROW, "no")
    one.flush()
    one.close()
    assert "given up: rejected (bad-payload)" in logged(caplog)


def test_a_report_that_the_application_no_longer_accepts_is_logged(client, caplog):
    one = client(FakeTransport(DOWN))
    one.report(ROW, "no")
    one.close()
    client(FakeTransport(RECORDED), granted=False, max_epsilon=0.5)
    wait_for(lambda: "not sent: this application does not accept its plan or epsilon" in logged(caplog))


def test_an_opt_out_is_logged_with_its_variable(client, caplog, monkeypatch):
    one = client(FakeTransport(DOWN))
    one.report(ROW, "no")
    one.close()
    monkeypatch.setenv("DO_NOT_TRACK", "1")
    client(FakeTransport(RECORDED), granted=False)
    line = "the environment variable DO_NOT_TRACK is set: nothing is drawn or sent"
    wait_for(lambda: line in logged(caplog))


def test_a_handler_that_fails_or_uses_its_client_does_not_stop_a_report(client):
    class Handler(logging.Handler):
        def handle(self, record: logging.LogRecord) -> bool:
            if threading.current_thread().name == "ldp-client":
                one.status()
            raise ZeroDivisionError

    one = client(FakeTransport(DOWN, RECORDED))
    handler = Handler()
    logging.getLogger("ldp_client").addHandler(handler)
    try:
        assert one.report(ROW, "no").state is State.QUEUED
        assert one.flush().state is State.SENT
    finally:
        logging.getLogger("ldp_client").removeHandler(handler)


@pytest.mark.slow
@pytest.mark.parametrize(("level", "lines"), [(None, False), ("DEBUG", True)])
def test_nothing_is_printed_unless_logging_is_configured(plan, level, lines):
    code = f"""
import logging
from encoders.survey import Plan
from ldp_client import Client
if {level!r}:
    logging.basicConfig(level={level!r})
plan = Plan.from_json({plan.json!r})
for _ in range(11):
    with Client(plan, {URL!r}, journal=":memory:", on_outcome=lambda _: 1 / 0) as one:
        one.report({ROW!r}, "no")
"""
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout == ""
    assert bool(run.stderr) is lines
