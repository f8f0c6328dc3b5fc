"""When messages leave: at full hours, whatever other surveys, collectors and the clock do."""

from __future__ import annotations

import json
import math
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest

from tests.support.http_servers import QuietHandler, serve

pytest.importorskip("cryptography.hazmat.primitives.hpke")

from encoders.survey.sealing import column_bytes
from ldp_relay import delivery as module
from ldp_relay.delivery import HourlyRelease, pass_on, post, probe
from ldp_relay.held_messages import HeldMessages, Outcome, Passage
from ldp_relay.relay_settings import RelayedSurvey
from tests.support.relays import ALL, RELAY, SMALL, relayed_plan
from tests.support.servers import wait_for

ONE, OTHER = (relayed_plan(SMALL.replace("night-work", name)) for name in ("one", "other"))
HOUR = 3600


@pytest.fixture
def held(tmp_path: Path) -> HeldMessages:
    return HeldMessages(tmp_path / "relay.db")


def relayed(plan: object, base: str = "http://127.0.0.1:9") -> RelayedSurvey:
    return RelayedSurvey(plan, RELAY, f"{base}/v1/surveys/{plan.id}", "token", 0, codes=False)


def hold(held: HeldMessages, plan: object, count: int, first: int = 0) -> None:
    for number in range(first, first + count):
        assert held.hold(plan.digest, f"{plan.id} {number}".encode(), 1 << 40) is Outcome.NEW


class Clock:
    """The wall clock and the monotonic one, which agree until the wall clock is set."""

    def __init__(self, now: float) -> None:
        self.now, self.difference = now, now

    def pass_until(self, now: float) -> None:
        self.now = now

    def set(self, now: float) -> None:
        self.difference += now - self.now
        self.now = now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock(10.5 * HOUR)
    monkeypatch.setattr(module, "time", lambda: clock.now)
    monkeypatch.setattr(module, "monotonic", lambda: clock.now - clock.difference)
    return clock


def make_release(held: HeldMessages) -> tuple[HourlyRelease, dict[str, Counter[str]]]:
    refusals: dict[str, Counter[str]] = {each.digest: Counter() for each in (ONE, OTHER)}
    return HourlyRelease([relayed(ONE), relayed(OTHER)], held, refusals), refusals


def sizes(held: HeldMessages, plan: object) -> list[tuple[int, int]]:
    return [(hour, size) for hour, size, _ in held.batches(plan.digest)]


def test_messages_leave_at_full_hours_only(held, clock):
    release, refusals = make_release(held)
    hold(held, ONE, 45)
    release.release_if_due()
    assert sizes(held, ONE) == []
    clock.pass_until(11 * HOUR + 1.0)
    release.release_if_due()
    assert sizes(held, ONE) == [(11 * HOUR, 20)]
    refusals[ONE.digest]["malformed"] += 2
    release.write_refusals()
    assert held.counts(ONE.digest)["refused, malformed"] == 2
    assert refusals[ONE.digest] == {}
    hold(held, ONE, 45, 45)
    release.release_if_due()
    assert len(sizes(held, ONE)) == 1
    clock.pass_until(12.2 * HOUR)
    release.release_if_due()
    assert [hour for hour, _ in sizes(held, ONE)] == [11 * HOUR, *[12 * HOUR] * 2]


def test_a_survey_whose_release_fails_delays_no_other_one_and_waits_for_the_next_hour(
    held, clock, monkeypatch, caplog
):
    caplog.set_level("INFO")
    release, _ = make_release(held)
    hold(held, ONE, 45)
    hold(held, OTHER, 39)
    clock.pass_until(11 * HOUR + 1.0)
    original, calls = HeldMessages.release, []

    def fail(self: HeldMessages, digest: str, *arguments: object, **options: object) -> int:
        calls.append(digest)
        if digest == ONE.digest:
            raise OSError("disk full at 192.0.2.1")
        return original(self, digest, *arguments, **options)

    with monkeypatch.context() as patch:
        patch.setattr(HeldMessages, "release", fail)
        release.release_if_due()
        hold(held, OTHER, 1, 39)  # now there are enough, but not at a full hour
        release.release_if_due()
    assert calls == [ONE.digest, OTHER.digest]
    assert sizes(held, OTHER) == []
    assert caplog.text.count("release-failed") == 1
    assert "192.0.2.1" not in caplog.text
    clock.pass_until(12 * HOUR + 1.0)
    release.release_if_due()
    assert (len(sizes(held, ONE)), len(sizes(held, OTHER))) == (1, 1)


def test_a_clock_that_was_ahead_delays_no_release(held, clock):
    clock.set(800.5 * HOUR)
    release, _ = make_release(held)
    hold(held, ONE, 45)
    clock.set(10.5 * HOUR)
    release.release_if_due()
    assert sizes(held, ONE) == []
    clock.pass_until(11 * HOUR)
    release.release_if_due()
    assert sizes(held, ONE) == [(11 * HOUR, 20)]


def test_a_clock_that_is_set_forward_releases_nothing_before_a_full_hour(held, clock, caplog):
    caplog.set_level("INFO")
    release, _ = make_release(held)
    hold(held, ONE, 45)
    clock.set(20.2 * HOUR)
    release.release_if_due()
    assert sizes(held, ONE) == []
    assert "clock-set" in caplog.text
    clock.pass_until(21 * HOUR)
    release.release_if_due()
    assert sizes(held, ONE) == [(21 * HOUR, 20)]


def test_a_survey_ends_if_its_end_has_passed_at_two_full_hours_in_a_row(held, clock):
    ended = ONE.relay.closes // HOUR
    clock.set((ended - 0.5) * HOUR)
    release, _ = make_release(held)
    hold(held, ONE, 30)
    clock.pass_until(ended * HOUR)
    release.release_if_due()
    assert sizes(held, ONE) == []  # 30 are fewer than two batches
    clock.set((ended - 400.5) * HOUR)  # the clock was wrong
    release.release_if_due()
    clock.pass_until((ended - 400) * HOUR)
    release.release_if_due()
    assert sizes(held, ONE) == []
    clock.set((ended + 0.5) * HOUR)
    for hour in (1, 2):
        release.release_if_due()
        assert sizes(held, ONE) == []
        clock.pass_until((ended + hour) * HOUR)
    release.release_if_due()
    assert sizes(held, ONE) == [((ended + 2) * HOUR, 30)]


@contextmanager
def collector(answer: Callable[[QuietHandler], None]) -> Iterator[str]:
    class Handler(QuietHandler):
        def do_POST(self) -> None:
            self.read_body()
            answer(self)

        do_HEAD = do_POST

    with serve(Handler) as origin:
        yield origin


def respond(status: int, body: bytes, **headers: str) -> Callable[[QuietHandler], None]:
    def answer(handler: QuietHandler) -> None:
        handler.answer(status, body, **headers)

    return answer


GOOD = {"recorded": 1, "duplicate": 1, "rejected": 0}


@pytest.mark.parametrize(
    ("status", "body"),
    [
        (200, b"[" * 9_900),
        (200, json.dumps(GOOD | {"recorded": 10**30}).encode()),
        (200, json.dumps(GOOD | {"recorded": -1, "duplicate": 3}).encode()),
        (200, json.dumps(GOOD | {"recorded": 5}).encode()),
        (200, json.dumps(GOOD | {"recorded": True}).encode()),
        (200, b'{"recorded": 2}'),
        (200, b"a sign-in page"),
        (204, b""),
        (503, b""),
    ],
)
def test_what_is_not_the_count_of_these_messages_is_no_answer(status, body):
    with collector(respond(status, body)) as base:
        assert post(relayed(ONE, base), Passage("", 1, 2, [0], 0, 2, True, b"ab"))[1] is None


def test_the_count_of_these_messages_is_an_answer_and_a_pause_is_obeyed():
    with collector(respond(200, json.dumps(GOOD).encode())) as base:
        assert post(relayed(ONE, base), Passage("", 1, 2, [0], 0, 2, True, b"ab")) == (200, (GOOD, [0]), 0.0)
    with collector(respond(429, b"", Retry_After="60")) as base:
        assert post(relayed(ONE, base), Passage("", 1, 2, [0], 0, 2, True, b"ab")) == (429, None, 60.0)


@pytest.mark.parametrize(
    ("status", "reason", "words"),
    [
        (400, "malformed", "takes messages with this token"),
        (403, "survey-not-open", "takes messages with this token"),
        (401, "not-authorised", "refuses the token"),
        (404, "unknown-survey", "does not serve this survey"),
        (410, "survey-closed", "has closed the survey"),
        (502, "", "cannot be reached"),
        (200, "", "cannot be reached, or another server answers"),
    ],
)
def test_a_probe_says_whether_the_collector_would_take_messages(status, reason, words):
    with collector(respond(status, json.dumps({"reason": reason}).encode())) as base:
        assert probe(relayed(ONE, base)).startswith(words)
    assert probe(relayed(ONE)).startswith("cannot be reached")


@pytest.mark.slow
def test_a_slow_collector_delays_no_other_survey(tmp_path, monkeypatch):
    """One collector answers byte by byte; another survey is released and passed on meanwhile."""
    monkeypatch.setattr("ldp_relay.release.HOUR_SECONDS", 0.3)
    monkeypatch.setattr(module, "CHECK_SECONDS", 0.05)
    held = HeldMessages(tmp_path / "relay.db")
    hold(held, ONE, 45)
    hold(held, OTHER, 45)
    ended = threading.Event()

    def drip(handler: QuietHandler) -> None:
        while not ended.wait(0.1):
            handler.wfile.write(b"H")

    def count(handler: QuietHandler) -> None:
        respond(200, b'{"recorded": 20, "duplicate": 0, "rejected": 0}')(handler)

    with collector(drip) as slow, collector(count) as fast:
        surveys = [relayed(ONE, slow), relayed(OTHER, fast)]
        module.start(surveys, held, {each.digest: Counter() for each in (ONE, OTHER)})
        wait_for(lambda: held.counts(OTHER.digest).get("passed on, recorded") == 20)
        ended.set()


def test_a_batch_that_the_collector_has_counted_is_marked_with_its_counts(held):
    hold(held, ONE, 20)
    held.release(ONE.digest, 20, is_closed=True, hour=1)
    survey = relayed(ONE)
    with collector(respond(200, b'{"recorded": 19, "duplicate": 0, "rejected": 1}')) as base:
        assert pass_on(replace(survey, collector=f"{base}/v1/surveys/one"), held) == 0.0
        assert pass_on(replace(survey, collector=f"{base}/v1/surveys/one"), held) == module.CHECK_SECONDS
    counts = held.counts(ONE.digest)
    assert held.batches(ONE.digest) == [(1, 20, 1)]
    assert (counts["passed on, recorded"], counts["passed on, rejected"], counts["leaving"]) == (19, 1, 0)


@pytest.mark.parametrize(("rejected", "is_broken"), [(6, False), (7, True)])
def test_a_batch_with_too_few_honest_messages_is_an_alarm(held, caplog, rejected, is_broken):
    caplog.set_level("INFO")
    hold(held, ONE, 20)
    held.release(ONE.digest, 20, is_closed=True, hour=1)
    answer = {"recorded": 20 - rejected, "duplicate": 0, "rejected": rejected}
    with collector(respond(200, json.dumps(answer).encode())) as base:
        pass_on(relayed(ONE, base), held)
    assert ONE.relay.honest_reports == 14
    assert ("promise-broken" in caplog.text) == is_broken


def answer_of(by_question: list[int], recorded: int) -> bytes:
    counts = {"recorded": recorded, "duplicate": 0, "rejected": sum(by_question)}
    return json.dumps(counts | {"rejected_by_question": by_question}).encode()


@pytest.mark.parametrize(
    ("before", "now", "is_broken"),
    [([0, 0], [6, 6], False), ([0, 0], [0, 7], True), ([0, 5], [0, 2], True), ([5, 0], [1, 6], False)],
)
def test_the_alarm_looks_at_each_column_of_a_batch(held, caplog, monkeypatch, before, now, is_broken):
    caplog.set_level("INFO")
    plan, size = relayed_plan(ALL), 20
    monkeypatch.setattr(module, "most_records", lambda _: size // 2)
    monkeypatch.setattr(module, "_logged", set())
    for number in range(size):
        held.hold(plan.digest, b"%d" % number * sum(column_bytes(plan)), 1 << 40)
    held.release(plan.digest, size, is_closed=True, hour=1)
    for rejected in (before, now):
        with collector(respond(200, answer_of(rejected, size - sum(rejected)))) as base:
            assert pass_on(relayed(plan, base), held) == 0.0
    assert plan.relay.honest_reports == 14
    assert ("promise-broken" in caplog.text) == is_broken
    assert held.batches(plan.digest) == [(1, size, max(map(sum, zip(before, now, strict=True))))]


@pytest.mark.parametrize(
    ("by_question", "rejected"),
    [([1, 1], 1), ([1], 1), ([1, 0, 0], 1), ([2, -1], 1), ([True, 0], 1), ("10", 1), (None, 1), ([1, 0], 2)],
)
def test_rejections_that_are_not_those_of_the_columns_are_no_answer(by_question, rejected):
    answer = {"recorded": 4 - rejected, "duplicate": 0, "rejected": rejected}
    body = json.dumps(answer | {"rejected_by_question": by_question}).encode()
    with collector(respond(200, body)) as base:
        assert post(relayed(ONE, base), Passage("", 1, 2, [0, 0], 0, 2, True, b"ab"))[1] is None


def test_a_survey_does_not_end_while_the_collectors_clock_says_so(held, clock, caplog):
    caplog.set_level("INFO")
    early, late = "Thu, 01 Nov 2001 00:00:00 GMT", "Sat, 01 Jan 2250 00:00:00 GMT"
    for date, year in ((early, 2001), (late, 2250), ("", math.inf), ("yesterday", math.inf)):

        def answer(handler: QuietHandler, date: str = date) -> None:
            handler.send_response_only(404)
            handler.send_header("Date", date)
            handler.send_header("Content-Length", "0")
            handler.end_headers()

        with collector(answer) as base:
            found = module.find_collector_time(relayed(ONE, base), ONE.relay.closes)
        assert (found if found == math.inf else datetime.fromtimestamp(found, UTC).year) == year
    assert module.find_collector_time(relayed(ONE), ONE.relay.closes) == math.inf
    assert caplog.text.count("clock-differs") == 1
