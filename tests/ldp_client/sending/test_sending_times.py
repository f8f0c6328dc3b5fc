"""The rules of when a report is sent, one by one."""

from collections import Counter
from dataclasses import replace
from random import Random
from statistics import mean

import pytest

from ldp_client import Response
from ldp_client.sending.scheduled_report import QueuedReport
from ldp_client.sending.sending_times import SendingSchedule
from ldp_client.survey_identity import SurveyIdentity
from tests.support.sending_schedules import DAY, DOWN, HOUR, ManualClock, most_by_chance, survey_of


def _times(
    clock: ManualClock, seed: int, *, surveys: int = 2, spread: float = 2.0, is_new: bool = True
) -> SendingSchedule:
    times = SendingSchedule(clock, Random(seed).random)
    times.update([QueuedReport(survey_of(each), spread, is_new) for each in range(surveys)])
    return times


def _fail_next(
    times: SendingSchedule, clock: ManualClock, response: Response | None = DOWN
) -> SurveyIdentity:
    left, survey = times.next_due()
    assert survey is not None
    clock.now += left
    times.begin_attempt(survey)
    times.collector_failed(survey, response)
    return survey


def test_first_attempts_are_spread_evenly_over_the_spread():
    firsts = Counter(
        int(10 * _times(ManualClock(), seed, surveys=1, spread=7.0).next_due()[0] / 7.0)
        for seed in range(4000)
    )
    assert set(firsts) == set(range(10))
    assert all(abs(count - 400) < 152 for count in firsts.values())  # 8 sigma


@pytest.mark.slow
@pytest.mark.parametrize(
    ("surveys", "spread", "mean_wait"),
    [(1, 2.0, 300.0), (2, 2.0, HOUR), (20, 2.0, 6000.0), (2, DAY, DAY)],
)
def test_reports_of_an_earlier_run_wait_for_exponential_times(surveys, spread, mean_wait):
    # the least of n exponential times is exponential, with an nth of the mean
    waits = [
        surveys * _times(ManualClock(), seed, surveys=surveys, spread=spread, is_new=False).next_due()[0]
        for seed in range(4000)
    ]
    assert abs(mean(waits) / mean_wait - 1) < 6 / 4000**0.5
    assert abs(sum(wait > mean_wait for wait in waits) / 4000 - 0.3679) < 6 * 0.0077


def test_after_a_failure_every_report_waits_for_as_long_as_the_collector_asked_at_least():
    for seed in range(50):
        clock = ManualClock()
        times = _times(clock, seed)
        _fail_next(times, clock, replace(DOWN, retry_after=50.0))
        assert times.next_due()[0] >= 60.0  # 50 s in a step that all devices share
        times.update([QueuedReport(survey_of(2), 2.0, True)])
        assert times.next_due()[0] >= 60.0  # made meanwhile


def test_a_report_that_waits_alone_is_tried_again_soon():
    clock = ManualClock()
    times = _times(clock, 1, surveys=1)
    for failures in range(8):
        _fail_next(times, clock)
        assert times.next_due()[0] <= 0.5 * 2**failures
    _fail_next(times, clock, replace(DOWN, retry_after=100.0))
    assert times.next_due()[0] >= 100.0


def test_reports_that_their_collector_does_not_accept_now_wait_independently():
    unknown, waits = Response(404, b'{"reason":"unknown-survey","retryable":true}'), []
    for seed in range(400):
        times = _times(ManualClock(), seed)
        times.begin_attempt(survey_of(0))
        times.report_failed(survey_of(0), unknown)
        times.remove(survey_of(1))
        waits.append(times.next_due()[0])
    assert abs(mean(waits) / HOUR - 1) < 6 / 400**0.5


def test_a_collector_that_answers_for_one_survey_has_not_failed_for_the_others():
    clock = ManualClock()
    times = _times(clock, 1, surveys=1)
    _fail_next(times, clock, None)
    times.report_failed(survey_of(0), Response(404, b'{"reason":"unknown-survey","retryable":true}'))
    times.remove(survey_of(0))
    times.update([QueuedReport(survey_of(1), 2.0, True)])
    assert times.next_due()[0] <= 2.0


@pytest.mark.parametrize("surveys", [1, 2])
def test_report_without_spread_whose_attempt_could_not_begin_is_not_due_at_once(surveys):
    times = _times(ManualClock(), 1, surveys=surveys, spread=0.0)
    for each in range(surveys):
        times.report_failed(survey_of(each), None)
    assert times.next_due()[0] > 0
    assert times.next_before_exit(all_untried=True)[1] is None


def test_retry_after_of_nan_is_ignored():
    clock = ManualClock()
    times = _times(clock, 1)
    _fail_next(times, clock, replace(DOWN, retry_after=float("nan")))
    assert 0 <= times.next_due()[0] < 1e6


def test_a_report_that_falls_due_during_an_attempt_does_not_follow_it_at_once():
    clock, gaps = ManualClock(), []
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


def test_one_report_at_a_time_is_chosen_at_random_among_those_that_are_due():
    clock = ManualClock()
    chosen = Counter(_times(clock, seed, spread=0.0).next_due()[1] for seed in range(1000))
    assert abs(chosen[survey_of(0)] - 500) < 6 * 16


def test_known_reports_keep_their_times_when_another_one_is_made():
    clock = ManualClock()
    times = _times(clock, 1, surveys=1, spread=HOUR)
    due = clock.now + times.next_due()[0]
    times.update([QueuedReport(survey_of(0), HOUR, True), QueuedReport(survey_of(1), 1e9, True)])
    clock.now += 1.0
    assert clock.now + times.next_due()[0] == pytest.approx(due)


def test_a_report_that_is_waited_for_is_tried_again_soon_and_others_are_not():
    clock = ManualClock()
    times = _times(clock, 1, spread=DAY)
    times.expedite(survey_of(1))
    for _ in range(3):
        assert _fail_next(times, clock) == survey_of(1)
    assert clock.now < 1010.0
    times.end_expedite(survey_of(1))
    times.remove(survey_of(1), has_outcome=True)
    assert times.next_due()[0] > 60.0  # less once in 1440


def test_expedited_report_is_sent_although_no_caller_waits():
    clock = ManualClock()
    times = SendingSchedule(clock, Random(1).random)
    for survey in (survey_of(0), survey_of(1)):
        times.expedite(survey)
        times.end_expedite(survey)
    times.update([QueuedReport(survey_of(each), DAY, False) for each in range(3)])
    for _ in range(2):
        left, survey = times.next_due()
        assert left == 0.0
        times.begin_attempt(survey)
        clock.now += 1.0
        times.remove(survey, has_outcome=True)
    assert times.next_due()[0] > 60.0  # less once in 1440


def test_an_exit_sends_one_report_and_none_right_after_another():
    clock = ManualClock()
    chosen = Counter(_times(clock, seed, surveys=3, spread=DAY).next_before_exit()[1] for seed in range(999))
    assert all(abs(count - 333) < 6 * 15 for count in chosen.values())
    times = _times(clock, 1, surveys=3, spread=DAY)
    _, survey = times.next_before_exit()
    times.begin_attempt(survey)
    times.remove(survey, has_outcome=True)
    clock.now += DAY - 1
    times.update([QueuedReport(survey_of(9), 2 * DAY, True)])
    assert times.next_before_exit(all_untried=True)[1]
    assert times.next_before_exit()[1] is None


def test_an_exit_does_not_try_a_collector_that_has_failed():
    clock = ManualClock()
    times = _times(clock, 1, surveys=3)
    _fail_next(times, clock)
    assert times.next_before_exit() == (float("inf"), None)
