"""The times of a device's reports do not link them: simulated devices, a real server, real exits."""

from __future__ import annotations

import itertools
import json
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from math import comb
from pathlib import Path
from random import Random
from statistics import mean, median
from typing import NamedTuple

import pytest

from encoders.survey import Plan
from ldp_client import Client, Journal, Response, State, retry_after
from ldp_client.sending.sending_times import QueuedReport, SendingSchedule
from ldp_client.survey_identity import SurveyIdentity
from tests.ldp_client.conftest import ROW
from tests.support.servers import wait_for

HOUR, DAY = 3600.0, 86_400.0
ATTEMPT_SECONDS = 0.01
DOWN = Response(503, b'{"reason":"store-unavailable","retryable":true}')

Schedule = Callable[..., SendingSchedule]


def _survey(number: int) -> SurveyIdentity:
    return SurveyIdentity(f"survey-{number}", "http://collector.test:80")


class Sent(NamedTuple):
    """One attempt, as the collector sees it, with the device that it does not see."""

    when: float
    device: int
    survey: SurveyIdentity
    is_taken: bool


# -- the rules that the tests have to catch -------------------------------------------------------


class SharedPause(SendingSchedule):
    """The former rule: one pause per collector, after which all reports of the device are due."""

    spread_after = 0.0

    def collector_failed(self, survey: SurveyIdentity, answer: Response | None) -> None:
        now, state = self._clock(), self._collectors.setdefault(survey.origin, _State())
        pause = retry_after.draw_backoff(state.failures, self._draw_uniform)
        end = now + max(pause, retry_after.limit_retry_after(answer.retry_after if answer else None))
        state.failures += 1
        for report in self._reports.values():
            report.due = max(report.due, end) + self.spread_after * self._draw_uniform()

    def _redraw_overdue(self, now: float) -> None:
        """Leave all times as they are."""


class SharedPauseThenSpread(SharedPause):
    """One pause per collector, and a short random time of each report after it."""

    spread_after = 2.0


class _State:
    failures = 0
    retry_after_end = rounded_retry_after_end = 0.0


# -- simulated devices ----------------------------------------------------------------------------


class Clock:
    """A clock that tests set."""

    def __init__(self, now: float = 1000.0) -> None:
        self.now = now

    def __call__(self) -> float:
        return self.now


def simulate(
    schedule: Schedule,
    starts: list[float],
    is_down: Callable[[float, int], bool],
    *,
    surveys: int = 2,
    spread: float = 2.0,
    is_new: bool = True,
    until: float = 1e9,
    answer: Response = DOWN,
    seed: int = 1,
) -> list[Sent]:
    """Run a schedule per device until all reports are taken, and return all attempts by time.

    `is_down` gets the time and the number of the device's attempts so far.
    """
    seen: list[Sent] = []
    for device, start in enumerate(starts):
        clock, attempts = Clock(start), 0
        times = schedule(clock, Random(f"{seed} {device}").random)
        times.update([QueuedReport(_survey(each), spread, is_new) for each in range(surveys)])
        while (chosen := times.next_due())[1] and clock.now + chosen[0] <= until:
            clock.now += chosen[0]
            fails = is_down(clock.now, attempts)
            seen.append(Sent(clock.now, device, chosen[1], not fails))
            times.begin_attempt(chosen[1])
            attempts, clock.now = attempts + 1, clock.now + ATTEMPT_SECONDS
            if fails:
                times.collector_failed(chosen[1], answer)
            else:
                times.remove(chosen[1], has_outcome=True)
    return sorted(seen)


def uniform(end: float, count: int = 100) -> list[float]:
    random = Random("starts")
    return [end * random.random() for _ in range(count)]


class Linked(NamedTuple):
    """How well times link the two reports of a device."""

    nearest: int
    """The devices of which the first report's nearest neighbour in time is the second."""
    close: int
    """The devices whose gap is below the median gap of reports of different devices."""
    gap: float
    chance_gap: float
    """The median gaps, in seconds: of one device, and of different ones."""


def linked(seen: list[Sent]) -> Linked:
    taken = [each for each in seen if each.is_taken]
    when = {(each.device, each.survey): each.when for each in taken}
    first = {device: time for (device, survey), time in when.items() if survey == _survey(0)}
    second = {device: time for (device, survey), time in when.items() if survey == _survey(1)}
    assert first.keys() == second.keys()
    nearest = sum(
        min((each for each in when if each != (device, _survey(0))), key=lambda each: abs(when[each] - own))
        == (device, _survey(1))
        for device, own in first.items()
    )
    gaps = {device: abs(first[device] - second[device]) for device in first}
    usual = median(abs(first[one] - second[other]) for one in first for other in second if one != other)
    return Linked(nearest, sum(gap < usual for gap in gaps.values()), median(gaps.values()), usual)


def most_by_chance(count: int, share: float, rate: float = 5e-8) -> int:
    """Return the number of successes that a binomial variable exceeds with probability `rate` at most."""
    tail, most = 0.0, count
    while tail + (term := comb(count, most) * share**most * (1 - share) ** (count - most)) <= rate:
        tail, most = tail + term, most - 1
    return most


def is_linked(found: Linked, devices: int = 100) -> bool:
    """Tell whether reports are closer or more often neighbours than by chance; wrong once in 1e7."""
    return found.nearest > most_by_chance(devices, 1 / (2 * devices - 1)) or found.close > most_by_chance(
        devices, 0.5
    )


def _outage(start: float, end: float) -> Callable[[float, int], bool]:
    return lambda now, _: start <= now < end


SCENES: dict[str, dict[str, object]] = {
    "a long outage": {"starts": uniform(HOUR), "is_down": _outage(0, 2 * HOUR)},
    "a short outage": {"starts": uniform(10), "is_down": _outage(0, 15)},
    "one 503 for each device": {
        "starts": uniform(HOUR),
        "is_down": lambda _, attempts: attempts == 0,
        "spread": HOUR,
        "answer": replace(DOWN, retry_after=1.5 * HOUR),
    },
    "a start of the application": {
        "starts": uniform(600),
        "is_down": lambda *_: False,
        "is_new": False,
    },
    "a network that returns": {"starts": [0.0] * 100, "is_down": _outage(0, 1200)},
}


@pytest.mark.parametrize("scene", SCENES)
def test_times_do_not_link_the_two_reports_of_a_device(scene: str) -> None:
    found = linked(simulate(SendingSchedule, **SCENES[scene]))  # type: ignore[arg-type]
    assert not is_linked(found), found


@pytest.mark.parametrize("scene", ["a long outage", "one 503 for each device", "a network that returns"])
@pytest.mark.parametrize("rule", [SharedPause, SharedPauseThenSpread])
def test_a_pause_that_reports_share_is_found_to_link_them(rule: Schedule, scene: str) -> None:
    assert is_linked(linked(simulate(rule, **SCENES[scene])))  # type: ignore[arg-type]


def test_leftovers_that_start_within_the_spread_are_found_to_be_linked() -> None:
    scene = SCENES["a start of the application"] | {"is_new": True}
    assert is_linked(linked(simulate(SendingSchedule, **scene)))  # type: ignore[arg-type]


@pytest.mark.parametrize("surveys", [1, 2, 5, 20])
@pytest.mark.parametrize("asked", [None, 30.0, HOUR])
def test_a_device_with_many_reports_tries_no_more_often_in_an_outage(
    surveys: int, asked: float | None
) -> None:
    def attempts(schedule: Schedule, surveys: int) -> int:
        answer = replace(DOWN, retry_after=asked)
        return len(simulate(schedule, [0.0] * 20, _outage(0, DAY), surveys=surveys, until=DAY, answer=answer))

    # 20 devices with some 300 attempts each, or with 24 by Retry-After; one attempt per device in addition
    # allows for what the first failures have to tell
    assert attempts(SendingSchedule, surveys) <= attempts(SharedPause, 1) + 20
    assert attempts(SendingSchedule, surveys) <= 1.1 * attempts(SendingSchedule, 1) + 20


# -- the rules one by one -------------------------------------------------------------------------


def _times(
    clock: Clock, seed: int, *, surveys: int = 2, spread: float = 2.0, is_new: bool = True
) -> SendingSchedule:
    times = SendingSchedule(clock, Random(seed).random)
    times.update([QueuedReport(_survey(each), spread, is_new) for each in range(surveys)])
    return times


def _fail_next(times: SendingSchedule, clock: Clock, answer: Response | None = DOWN) -> SurveyIdentity:
    left, survey = times.next_due()
    assert survey is not None
    clock.now += left
    times.begin_attempt(survey)
    times.collector_failed(survey, answer)
    return survey


def test_first_attempts_are_spread_evenly_over_the_spread() -> None:
    firsts = Counter(
        int(10 * _times(Clock(), seed, surveys=1, spread=7.0).next_due()[0] / 7.0) for seed in range(4000)
    )
    assert set(firsts) == set(range(10))
    assert all(abs(count - 400) < 152 for count in firsts.values())  # 8 sigma


@pytest.mark.parametrize(
    ("surveys", "spread", "mean_wait"),
    [(1, 2.0, 300.0), (2, 2.0, HOUR), (20, 2.0, 6000.0), (2, DAY, DAY)],
)
def test_reports_of_an_earlier_run_wait_for_exponential_times(
    surveys: int, spread: float, mean_wait: float
) -> None:
    # the least of n exponential times is exponential, with an nth of the mean
    waits = [
        surveys * _times(Clock(), seed, surveys=surveys, spread=spread, is_new=False).next_due()[0]
        for seed in range(4000)
    ]
    assert abs(mean(waits) / mean_wait - 1) < 6 / 4000**0.5
    assert abs(sum(wait > mean_wait for wait in waits) / 4000 - 0.3679) < 6 * 0.0077


def test_after_a_failure_every_report_waits_for_as_long_as_the_collector_asked_at_least() -> None:
    for seed in range(50):
        clock = Clock()
        times = _times(clock, seed)
        _fail_next(times, clock, replace(DOWN, retry_after=50.0))
        assert times.next_due()[0] >= 60.0  # 50 s in a step that all devices share
        times.update([QueuedReport(_survey(2), 2.0, True)])
        assert times.next_due()[0] >= 60.0  # made meanwhile


def test_a_report_that_waits_alone_is_tried_again_soon() -> None:
    clock = Clock()
    times = _times(clock, 1, surveys=1)
    for failures in range(8):
        _fail_next(times, clock)
        assert times.next_due()[0] <= 0.5 * 2**failures
    _fail_next(times, clock, replace(DOWN, retry_after=100.0))
    assert times.next_due()[0] >= 100.0


def test_reports_that_their_collector_does_not_accept_now_wait_independently() -> None:
    unknown, waits = Response(404, b'{"reason":"unknown-survey","retryable":true}'), []
    for seed in range(400):
        times = _times(Clock(), seed)
        times.begin_attempt(_survey(0))
        times.report_failed(_survey(0), unknown)
        times.remove(_survey(1))
        waits.append(times.next_due()[0])
    assert abs(mean(waits) / HOUR - 1) < 6 / 400**0.5


def test_a_collector_that_answers_for_one_survey_has_not_failed_for_the_others() -> None:
    clock = Clock()
    times = _times(clock, 1, surveys=1)
    _fail_next(times, clock, None)
    times.report_failed(_survey(0), Response(404, b'{"reason":"unknown-survey","retryable":true}'))
    times.remove(_survey(0))
    times.update([QueuedReport(_survey(1), 2.0, True)])
    assert times.next_due()[0] <= 2.0


def test_a_pause_that_is_no_number_is_none() -> None:
    clock = Clock()
    times = _times(clock, 1)
    _fail_next(times, clock, replace(DOWN, retry_after=float("nan")))
    assert 0 <= times.next_due()[0] < 1e6


def test_a_report_that_falls_due_during_an_attempt_does_not_follow_it_at_once() -> None:
    clock, gaps = Clock(), []
    for seed in range(200):
        times = _times(clock, seed, spread=10.0)
        left, survey = times.next_due()
        clock.now += left
        times.begin_attempt(survey)
        clock.now += 10.0  # a slow collector
        times.remove(survey, has_outcome=True)
        gaps.append(times.next_due()[0])
    assert sum(gap < 0.1 for gap in gaps) <= most_by_chance(200, 0.01, 1e-7)
    assert abs(mean(gaps) - 5.0) < 6 * 2.9 / 200**0.5


def test_one_report_at_a_time_is_chosen_at_random_among_those_that_are_due() -> None:
    clock = Clock()
    chosen = Counter(_times(clock, seed, spread=0.0).next_due()[1] for seed in range(1000))
    assert abs(chosen[_survey(0)] - 500) < 6 * 16


def test_known_reports_keep_their_times_when_another_one_is_made() -> None:
    clock = Clock()
    times = _times(clock, 1, surveys=1, spread=HOUR)
    due = clock.now + times.next_due()[0]
    times.update([QueuedReport(_survey(0), HOUR, True), QueuedReport(_survey(1), 1e9, True)])
    clock.now += 1.0
    assert clock.now + times.next_due()[0] == pytest.approx(due)


def test_a_report_that_is_waited_for_is_tried_again_soon_and_others_are_not() -> None:
    clock = Clock()
    times = _times(clock, 1, spread=DAY)
    times.expedite(_survey(1))
    for _ in range(3):
        assert _fail_next(times, clock) == _survey(1)
    assert clock.now < 1010.0
    times.end_expedite(_survey(1))
    times.remove(_survey(1), has_outcome=True)
    assert times.next_due()[0] > 60.0  # less once in 1440


def test_every_report_that_is_hurried_is_sent_though_nobody_waits_for_it() -> None:
    clock = Clock()
    times = SendingSchedule(clock, Random(1).random)
    for survey in (_survey(0), _survey(1)):
        times.expedite(survey)
        times.end_expedite(survey)
    times.update([QueuedReport(_survey(each), DAY, False) for each in range(3)])
    for _ in range(2):
        left, survey = times.next_due()
        assert left == 0.0
        times.begin_attempt(survey)
        clock.now += 1.0
        times.remove(survey, has_outcome=True)
    assert times.next_due()[0] > 60.0  # less once in 1440


def test_an_exit_sends_one_report_and_none_right_after_another() -> None:
    clock = Clock()
    chosen = Counter(_times(clock, seed, surveys=3, spread=DAY).next_before_exit()[1] for seed in range(999))
    assert all(abs(count - 333) < 6 * 15 for count in chosen.values())
    times = _times(clock, 1, surveys=3, spread=DAY)
    _, survey = times.next_before_exit()
    times.begin_attempt(survey)
    times.remove(survey, has_outcome=True)
    clock.now += DAY - 1
    times.update([QueuedReport(_survey(9), 2 * DAY, True)])
    assert times.next_before_exit(all_untried=True)[1]
    assert times.next_before_exit()[1] is None


def test_an_exit_does_not_try_a_collector_that_has_failed() -> None:
    clock = Clock()
    times = _times(clock, 1, surveys=3)
    _fail_next(times, clock)
    assert times.next_before_exit() == (float("inf"), None)


# -- on a real server -----------------------------------------------------------------------------


class Collector(ThreadingHTTPServer):
    """A server that answers 503 while it is down, and else takes every report."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.is_down = False
        self.requests: list[tuple[float, bytes, int, bool]] = []
        """The time, the body, the number of its connection, and whether it was taken."""
        self.connections = itertools.count()

    def url(self, survey: str) -> str:
        return f"http://127.0.0.1:{self.server_port}/v1/surveys/{survey}"

    @property
    def taken(self) -> list[bytes]:
        return [body for _, body, _, is_taken in list(self.requests) if is_taken]


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"  # a client could keep its connection

    def setup(self) -> None:
        super().setup()
        assert isinstance(self.server, Collector)
        self.number = next(self.server.connections)

    def do_POST(self) -> None:
        assert isinstance(self.server, Collector)
        body = self.rfile.read(int(self.headers["Content-Length"]))
        is_down = self.server.is_down
        self.server.requests.append((time.monotonic(), body, self.number, not is_down))
        answer = {"reason": "store-unavailable"} if is_down else {"status": "recorded"}
        data = json.dumps(answer).encode()
        self.send_response(503 if is_down else 200)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *_: object) -> None:
        """Print nothing."""


@pytest.fixture
def server() -> Iterator[Collector]:
    with Collector() as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        yield server
        server.shutdown()
        thread.join()


def _answer(server: Collector, plan: Plan, journal: Path, name: str, **options: float) -> Client:
    client = Client(replace(plan, id=name, family=name), server.url(name), journal=journal, **options)
    client.grant()
    assert client.report(ROW, "no").state is State.QUEUED
    return client


def test_real_clients_send_at_unrelated_times_after_a_503(
    server: Collector, plan: Plan, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ldp_client.sending.sending_times.MIN_MEAN_WAIT_SECONDS", 1.5)
    monkeypatch.setattr("ldp_client.retry_after.MAX_BACKOFF_SECONDS", 0.3)
    names, journals = ("sleep", "diet"), [tmp_path / f"{device}.db" for device in range(10)]
    server.is_down = True
    clients = [_answer(server, plan, journal, name, spread=0.05) for journal in journals for name in names]
    owner = {entry.report: journal for journal in journals for entry in Journal(journal).entries()}
    wait_for(lambda: {owner[body] for _, body, _, _ in list(server.requests)} == set(journals))
    server.is_down = False
    wait_for(lambda: all(client.status().state is State.SENT for client in clients))
    for client in clients:
        client.close()
    connections = [connection for _, _, connection, _ in server.requests]
    assert len(set(connections)) == len(connections), "two requests came over one connection"
    gaps = []
    for journal in journals:
        first, second = (when for when, body, _, taken in server.requests if taken and owner[body] == journal)
        gaps.append(second - first)
    # exponential with a mean of 1.5 s; where the reports of a device share a pause, all gaps are this short
    assert sum(gap < 0.15 for gap in gaps) <= most_by_chance(10, 0.0952, 1e-7)


A_RUN = """
import sys
from encoders.survey import Plan
from dataclasses import replace
from ldp_client import Client
plan, base, journal = Plan.from_json(sys.stdin.buffer.read()), *sys.argv[1:]
clients = [
    Client(replace(plan, id=name, family=name), f"{base}/{name}", journal=journal, spread=86400)
    for name in ("sleep", "diet", "sport")
]
for client in clients:
    client.grant()
    client.report({"age": "old", "hours": 7.5}, "no")
"""


def test_each_run_that_ends_at_once_sends_one_report_at_its_exit(
    server: Collector, plan: Plan, tmp_path: Path
) -> None:
    command = [sys.executable, "-c", A_RUN, server.url("")[:-1], str(tmp_path / "journal.db")]
    arrived = []
    for _ in range(4):
        subprocess.run(command, input=plan.json, check=True, timeout=60)
        arrived.append(len(server.taken))
    assert arrived == [1, 2, 3, 3]
    assert len(set(server.taken)) == 3


def test_clients_that_are_closed_in_turn_do_not_send_right_after_each_other(
    server: Collector, plan: Plan, tmp_path: Path
) -> None:
    for name in ("sleep", "diet", "sport"):
        _answer(server, plan, tmp_path / "journal.db", name, spread=DAY).close(5.0)
    assert len(server.taken) == 1


def test_flush_sends_the_survey_that_it_names_and_no_other(
    server: Collector, plan: Plan, tmp_path: Path
) -> None:
    clients = [_answer(server, plan, tmp_path / "journal.db", name, spread=1e9) for name in ("sleep", "diet")]
    assert clients[1].flush().state is State.SENT
    assert len(server.taken) == 1
    assert clients[0].status().state is State.QUEUED
    for client in clients:
        client.close()
    assert len(server.taken) == 1


def test_flush_without_a_wait_sends_what_an_earlier_run_left(
    server: Collector, plan: Plan, tmp_path: Path
) -> None:
    server.is_down = True
    _answer(server, plan, tmp_path / "journal.db", "sleep", spread=DAY).close()
    server.is_down = False
    with Client(plan, server.url("sleep"), journal=tmp_path / "journal.db") as client:
        client.flush(0)
        wait_for(lambda: client.status().state is State.SENT)
