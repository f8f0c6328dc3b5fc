"""The times of a device's reports do not link them: simulated devices."""

from collections.abc import Callable
from dataclasses import replace
from functools import cache
from random import Random

import pytest

from ldp_client import Response, retry_after
from ldp_client.sending.scheduled_report import QueuedReport
from ldp_client.sending.sending_times import SendingSchedule
from ldp_client.survey_identity import SurveyIdentity
from tests.support.sending_schedules import DAY, DOWN, HOUR, ManualClock, Sent, is_linked, linked, survey_of

ATTEMPT_SECONDS = 0.01
Schedule = Callable[..., SendingSchedule]


# -- rules whose links the tests must detect ----------------------------------------------------


class SharedPause(SendingSchedule):
    """The former rule: one pause per collector, after which all reports of the device are due."""

    spread_after = 0.0

    def collector_failed(self, survey: SurveyIdentity, response: Response | None) -> None:
        now, state = self._clock(), self._collectors.setdefault(survey.origin, _State())
        pause = retry_after.draw_backoff(state.failures, self._draw_uniform)
        end = now + max(pause, retry_after.limit_retry_after(response.retry_after if response else None))
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


# -- simulated devices --------------------------------------------------------------------------


def simulate(
    schedule: Schedule,
    starts: list[float],
    is_down: Callable[[float, int], bool],
    *,
    surveys: int = 2,
    spread: float = 2.0,
    is_new: bool = True,
    until: float = 1e9,
    response: Response = DOWN,
    seed: int = 1,
) -> list[Sent]:
    """Run a schedule per device until all reports are taken, and return all attempts by time.

    `is_down` gets the time and the number of the device's attempts so far.
    """
    seen: list[Sent] = []
    for device, start in enumerate(starts):
        clock, attempts = ManualClock(start), 0
        times = schedule(clock, Random(f"{seed} {device}").random)
        times.update([QueuedReport(survey_of(each), spread, is_new) for each in range(surveys)])
        while (chosen := times.next_due())[1] and clock.now + chosen[0] <= until:
            clock.now += chosen[0]
            fails = is_down(clock.now, attempts)
            seen.append(Sent(clock.now, device, chosen[1], not fails))
            times.begin_attempt(chosen[1])
            attempts, clock.now = attempts + 1, clock.now + ATTEMPT_SECONDS
            if fails:
                times.collector_failed(chosen[1], response)
            else:
                times.remove(chosen[1], has_outcome=True)
    return sorted(seen)


def uniform(end: float, count: int = 100) -> list[float]:
    random = Random("starts")
    return [end * random.random() for _ in range(count)]


def _outage(start: float, end: float) -> Callable[[float, int], bool]:
    return lambda now, _: start <= now < end


SCENES: dict[str, dict[str, object]] = {
    "a long outage": {"starts": uniform(HOUR), "is_down": _outage(0, 2 * HOUR)},
    "a short outage": {"starts": uniform(10), "is_down": _outage(0, 15)},
    "one 503 for each device": {
        "starts": uniform(HOUR),
        "is_down": lambda _, attempts: attempts == 0,
        "spread": HOUR,
        "response": replace(DOWN, retry_after=1.5 * HOUR),
    },
    "a start of the application": {
        "starts": uniform(600),
        "is_down": lambda *_: False,
        "is_new": False,
    },
    "a network that returns": {"starts": [0.0] * 100, "is_down": _outage(0, 1200)},
}


@pytest.mark.parametrize("scene", SCENES)
def test_times_do_not_link_the_two_reports_of_a_device(scene):
    found = linked(simulate(SendingSchedule, **SCENES[scene]))
    assert not is_linked(found), found


@pytest.mark.parametrize("scene", ["a long outage", "one 503 for each device", "a network that returns"])
@pytest.mark.parametrize("rule", [SharedPause, SharedPauseThenSpread])
def test_shared_pause_links_the_reports_of_a_device(rule, scene):
    assert is_linked(linked(simulate(rule, **SCENES[scene])))


def test_reports_of_an_earlier_run_sent_within_the_spread_are_linked():
    scene = SCENES["a start of the application"] | {"is_new": True}
    assert is_linked(linked(simulate(SendingSchedule, **scene)))


@cache
def count_attempts(schedule: Schedule, surveys: int, retry_after_seconds: float | None) -> int:
    """Return how often 20 devices try in an outage of a day."""
    response = replace(DOWN, retry_after=retry_after_seconds)
    return len(simulate(schedule, [0.0] * 20, _outage(0, DAY), surveys=surveys, until=DAY, response=response))


@pytest.mark.slow
@pytest.mark.parametrize("surveys", [1, 2, 5, 20])
@pytest.mark.parametrize("retry_after_seconds", [None, 30.0, HOUR])
def test_a_device_with_many_reports_tries_no_more_often_in_an_outage(surveys, retry_after_seconds):
    # 20 devices with some 300 attempts each, or with 24 by Retry-After; one attempt per device in addition
    # allows for the first failure of each collector
    assert (
        count_attempts(SendingSchedule, surveys, retry_after_seconds)
        <= count_attempts(SharedPause, 1, retry_after_seconds) + 20
    )
    assert (
        count_attempts(SendingSchedule, surveys, retry_after_seconds)
        <= 1.1 * count_attempts(SendingSchedule, 1, retry_after_seconds) + 20
    )
