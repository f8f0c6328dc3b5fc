"""A relay of a survey with waves: each wave is a pool with its own time, limits and batches."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from tests.support.http_servers import QuietHandler, serve

pytest.importorskip("cryptography.hazmat.primitives.hpke")

from flask.testing import FlaskClient

from encoders.survey.invitation import read_code
from encoders.survey.sealing import seal_envelope
from encoders.survey.unsealing import BATCH_HEADER, WAVE_HEADER
from ldp_relay import delivery
from ldp_relay.delivery import HourlyRelease, pass_on
from ldp_relay.held_messages import RECEIVED, TOO_FEW, HeldMessages
from ldp_relay.metrics import RelayMetrics
from ldp_relay.relay_app import create_app
from ldp_relay.relay_settings import read_settings
from tests.support.commands import command
from tests.support.relays import ALL, relayed_reports, waved_plan, write_relay_files

PLAN = waved_plan(ALL)
FIRST, SECOND, THIRD = PLAN.waves.list
HOUR = 3600


class Relay:
    """The pages, the database and the clock of a relay."""

    def __init__(self, folder: Path, patch: pytest.MonkeyPatch, more: str = "") -> None:
        path = write_relay_files(folder, PLAN, "http://127.0.0.1:9")
        path.write_text(
            path.read_text().replace("messages_per_network = 0", "messages_per_network = 2") + more
        )
        self.path, self.settings, self.now = path, read_settings(path), float(FIRST.opens)
        self.held, self.refusals = HeldMessages(self.settings.database), {PLAN.digest: Counter()}
        [self.survey] = self.settings.surveys.values()
        for module in ("relay_app", "held_messages", "delivery"):
            patch.setattr(f"ldp_relay.{module}.time", lambda: self.now)
        patch.setattr(delivery, "monotonic", lambda: self.now)

    def web(self) -> FlaskClient:
        return create_app(self.settings, self.held, self.refusals).test_client()

    def pool(self, wave: int) -> str:
        return f"{PLAN.digest}/{PLAN.waves.list[wave].name}"

    def hold(self, wave: int, count: int, first: int = 0) -> None:
        """Hold messages that name their wave; each column has one byte."""
        for number in range(first, first + count):
            content = b"%d%06d" % (wave, number)
            self.held.hold(self.pool(wave), content, PLAN.waves.list[wave].closes)


@pytest.fixture
def relay(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Relay:
    return Relay(tmp_path, monkeypatch)


def message(wave: int, code: bytes = b"") -> bytes:
    return seal_envelope(PLAN, relayed_reports(PLAN, wave), code, wave)


def send(
    web: FlaskClient, body: bytes, wave: str, method: str = "POST", **more: object
) -> tuple[int, object]:
    url = f"/{PLAN.id}/{PLAN.digest}" + (f"/{wave}" if wave else "")
    response = web.open(url, method=method, data=body, content_type="text/plain", **more)
    assert response.headers["Access-Control-Allow-Origin"] == "*"
    return response.status_code, response.json.get("reason") if response.data else None


def test_a_wave_takes_its_messages_in_its_time_alone(relay):
    web = relay.web()
    relay.now = FIRST.opens - 1
    assert send(web, message(0), FIRST.name) == (403, "survey-not-open")
    relay.now = FIRST.opens
    assert send(web, body := message(0), FIRST.name) == (202, None)
    assert send(web, body, FIRST.name) == (202, None)  # held once
    early = web.post(f"/{PLAN.id}/{PLAN.digest}/{SECOND.name}", data=message(1))
    assert (early.status_code, early.json["reason"]) == (403, "survey-not-open")
    assert early.headers["Retry-After"] == "86400"
    relay.now = FIRST.closes  # the second wave opens
    assert send(web, message(0), FIRST.name) == (410, "survey-closed")
    assert send(web, message(1), SECOND.name) == (202, None)
    relay.now = THIRD.closes
    assert send(web, message(2), THIRD.name) == (410, "survey-closed")
    assert [relay.held.counts(relay.pool(each))["waiting"] for each in range(3)] == [1, 1, 0]
    assert relay.held.counts(PLAN.digest)["waiting"] == 2


@pytest.mark.parametrize("method", ["POST", "DELETE"])
def test_a_message_of_another_wave_is_refused(relay, method):
    web = relay.web()
    relay.now = SECOND.opens
    assert send(web, message(0), SECOND.name, method) == (400, "bad-seal")
    assert send(web, message(1), FIRST.name, method) == (400, "bad-seal")
    assert send(web, message(0), "", method) == (404, "no-such-page")
    assert send(web, message(0), "2027-04", method) == (404, "no-such-page")
    assert relay.held.counts(PLAN.digest)["waiting"] == 0
    assert relay.refusals[PLAN.digest] == {"bad-seal": 2, "no-such-page": 2}


def test_a_message_is_withdrawn_from_its_wave(relay):
    web = relay.web()
    assert send(web, body := message(0), FIRST.name) == (202, None)
    assert send(web, body, FIRST.name, "DELETE") == (204, None)
    assert send(web, body, FIRST.name) == (202, None)  # not held again
    assert relay.held.counts(relay.pool(0))["waiting"] == 0
    preflight = web.options(f"/{PLAN.id}/{PLAN.digest}/{FIRST.name}")
    assert preflight.headers["Access-Control-Allow-Methods"] == "DELETE, POST"


def test_a_network_can_send_its_number_in_each_wave(relay):
    web = relay.web()
    found = [send(web, message(0), FIRST.name) for _ in range(3)]
    assert found == [(202, None), (202, None), (429, "network-full")]
    relay.now = SECOND.opens
    found = [send(web, message(1), SECOND.name) for _ in range(3)]
    assert found == [(202, None), (202, None), (429, "network-full")]


def test_a_code_lets_one_message_be_held_in_any_wave(tmp_path, monkeypatch):
    relay = Relay(tmp_path, monkeypatch, "codes = true\n")
    texts = command("ldp-relay", "codes", relay.path, PLAN.id, "--count", "2").stdout.split()
    codes = [read_code(PLAN, each) for each in texts]
    web = relay.web()
    assert send(web, message(0, codes[0]), FIRST.name) == (202, None)
    relay.now = SECOND.opens
    assert send(web, message(1, codes[0]), SECOND.name) == (409, "code-used")
    assert send(web, message(1, codes[1]), SECOND.name) == (202, None)
    assert relay.held.counts(PLAN.digest)["codes used"] == 2


def test_two_waves_are_never_in_one_batch(relay):
    """Each is released by its own number of messages and at its own end."""
    release = HourlyRelease([relay.survey], relay.held, {})

    def pass_hour(now: float) -> None:
        relay.now = now
        release.release_if_due()

    relay.hold(0, 30)
    relay.now = SECOND.opens
    relay.hold(1, 30)
    relay.now = FIRST.opens
    pass_hour(FIRST.opens + HOUR)
    assert relay.held.batches(PLAN.digest) == []  # 60 wait, but fewer than two batches in each wave
    relay.now = FIRST.closes - HOUR - 1
    release = HourlyRelease([relay.survey], relay.held, {})
    pass_hour(FIRST.closes - HOUR)
    pass_hour(FIRST.closes)
    assert relay.held.batches(PLAN.digest) == []
    pass_hour(FIRST.closes + HOUR)
    assert [size for _, size, _ in relay.held.batches(relay.pool(0))] == [30]
    assert relay.held.batches(relay.pool(1)) == []
    relay.hold(1, 10, 30)
    pass_hour(FIRST.closes + 2 * HOUR)
    assert [size for _, size, _ in relay.held.batches(relay.pool(1))] == [20]
    assert relay.held.counts(relay.pool(1))["waiting"] == 20
    seen = []
    while passage := relay.held.next_passage(PLAN.digest, 7, [7]):
        messages = [passage.body[start : start + 7] for start in range(0, len(passage.body), 7)]
        wave = passage.pool.partition("/")[2]
        assert {PLAN.waves.list[int(each[:1])].name for each in messages} == {wave}
        seen += messages
        relay.held.mark_passed_on(passage, {"recorded": len(messages)}, [0])
    assert len(set(seen)) == len(seen) == 50


def test_a_wave_that_ends_below_a_batch_is_deleted_and_lends_nothing_to_the_next(relay):
    relay.hold(0, 19)
    relay.now = FIRST.closes - 0.5 * HOUR
    release = HourlyRelease([relay.survey], relay.held, {})
    relay.now = SECOND.opens
    relay.hold(1, 21)
    for hour in range(2):
        relay.now = FIRST.closes + hour * HOUR
        release.release_if_due()
    assert relay.held.counts(relay.pool(0))[TOO_FEW] == 19
    assert relay.held.counts(relay.pool(1))["waiting"] == 21
    assert relay.held.batches(PLAN.digest) == []
    shown = command("ldp-relay", "status", relay.path).stdout
    rows = [line.split() for line in shown.splitlines()]
    assert [FIRST.name, "2027-02-01", "00:00", "UTC", "19", "0", "19"] in rows
    assert [SECOND.name, "2027-03-01", "00:00", "UTC", "21", "21", "0"] in rows
    assert not [row for row in rows if row[:1] == [THIRD.name]]


def test_a_clock_that_is_set_back_sends_no_wave_again(relay):
    relay.hold(0, 25)
    relay.now = FIRST.closes - 0.5 * HOUR
    release = HourlyRelease([relay.survey], relay.held, {})
    for hour in range(2):
        relay.now = FIRST.closes + hour * HOUR
        release.release_if_due()
    relay.now = FIRST.opens
    relay.hold(0, 25)
    assert relay.held.counts(relay.pool(0)) | {"last delivery": 0} == {
        RECEIVED: 25,
        "waiting": 0,
        "leaving": 25,
        "last delivery": 0,
    }


def test_the_collector_s_clock_is_asked_once_an_hour_for_all_waves(relay, monkeypatch):
    asked = []
    monkeypatch.setattr(
        delivery, "find_collector_time", lambda survey, end: asked.append(end) or SECOND.closes - 1.0
    )
    relay.hold(0, 20)
    relay.now = SECOND.opens
    relay.hold(1, 20)
    relay.now = SECOND.closes - 0.5 * HOUR
    release = HourlyRelease([relay.survey], relay.held, {})
    for hour in range(3):
        relay.now = SECOND.closes + hour * HOUR
        release.release_if_due()
    assert asked == [SECOND.closes] * 3
    assert len(relay.held.batches(relay.pool(0))) == 1
    assert relay.held.batches(relay.pool(1)) == []  # by the collector's clock it goes on


def test_the_collector_is_told_the_wave_of_the_messages(relay, tmp_path):
    seen = []

    class Handler(QuietHandler):
        def do_POST(self) -> None:
            seen.append((self.headers[BATCH_HEADER], self.headers[WAVE_HEADER]))
            self.read_body()
            self.answer(
                200, b'{"recorded": 40, "duplicate": 0, "rejected": 0, "rejected_by_question": [0, 0]}'
            )

    width = sum(len(each) for each in relayed_reports(PLAN, 0)) + 2 * 51
    relay.now = SECOND.opens
    for number in range(20):
        relay.held.hold(relay.pool(1), number.to_bytes(2, "big") * width, SECOND.closes)
    relay.held.release(relay.pool(1), 20, is_closed=True, hour=1)
    with serve(Handler) as origin:
        path = write_relay_files(tmp_path, PLAN, origin)
        [survey] = read_settings(path).surveys.values()
        assert pass_on(survey, relay.held) == 0.0
    assert seen == [("20 0 0", SECOND.name)]
    assert relay.held.counts(relay.pool(1))["passed on, recorded"] == 40


def test_metrics_are_those_of_all_waves_together(relay):
    relay.hold(0, 30)
    relay.now = SECOND.opens
    relay.hold(1, 12)
    relay.held.release(relay.pool(0), 20, is_closed=True, hour=1)
    relay.held.count_events(PLAN.digest, {"refused, malformed": 2})
    found = {
        (sample.name, *sample.labels.values()): sample.value
        for metric in RelayMetrics(relay.settings, relay.held).collect()
        for sample in metric.samples
    }
    assert {name for name in found if len(name) > 1 and FIRST.name in name} == set()
    assert found["ldp_relay_received_total", PLAN.id] == 42
    assert found["ldp_relay_waiting", PLAN.id] == 12
    assert found["ldp_relay_leaving", PLAN.id] == 30
    assert found["ldp_relay_batches_total", PLAN.id] == 1
    assert found["ldp_relay_refused_total", PLAN.id, "malformed"] == 2


def test_the_waves_of_a_relay_that_moves_stay_apart(relay, tmp_path):
    relay.hold(0, 25)
    relay.now = SECOND.opens
    relay.hold(1, 15)
    relay.held.close()
    (tmp_path / "relay.db").rename(tmp_path / "moved.db")
    moved = HeldMessages(tmp_path / "moved.db")
    assert moved.release(relay.pool(0), 20, is_closed=True, hour=1) == 1
    assert moved.release(relay.pool(1), 20, is_closed=False, hour=1) == 0
    assert [moved.counts(relay.pool(each))["waiting"] for each in (0, 1)] == [0, 15]
    assert moved.next_passage(PLAN.digest, 30, [7]).pool == relay.pool(0)


def test_messages_of_waves_that_are_not_served_are_named_by_their_plan(relay):
    relay.hold(0, 3)
    assert relay.held.digests() == {PLAN.digest}
    assert "is not in the settings" not in command("ldp-relay", "status", relay.path).stdout
