"""The times at which waiting reports are sent, so that times do not link the reports of one device.

The schedule has no thread, network or journal of its own: clock and random source are arguments.

- A report that this run made is first sent at a time uniform in its `spread`.
- A report that waits alone for its collector is tried again after a random pause that grows with every
  failure.
- All other reports wait for exponential times, each for its own: those of an earlier run, those that wait
  together for a collector that failed, and those whose pauses have reached their ceiling. Such times are
  memoryless: after a failure, when a report is sent depends neither on when another one is sent nor on when
  this device last tried.

The mean of the exponential grows with the number of reports that wait for the same collector. So a device
with many reports tries no more often than a device with one.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from math import inf, log
from time import monotonic
from typing import NamedTuple

from ldp_client.sending import retry
from ldp_client.survey_identity import SurveyIdentity
from ldp_client.transport import Response

MIN_MEAN_WAIT_SECONDS = 3600.0
"""The least mean time that a report waits where several wait for one collector."""

_ASKED_STEPS = (0.0, 60.0, 3600.0, retry.MAX_RETRY_AFTER_SECONDS)
"""`Retry-After` is rounded up to one of these: with exact times, a collector could mark a device."""


class QueuedReport(NamedTuple):
    """A report in the journal, as the schedule needs it."""

    survey: SurveyIdentity
    spread: float
    is_new: bool
    """Whether this run of the application made it."""


@dataclass(slots=True)
class _Report:
    collector: str
    spread: float
    is_new: bool
    due: float = 0.0
    failures: int = 0
    asked_until: float = 0.0
    is_tried: bool = False
    is_urgent: bool = False
    """Whether it is to be sent now, whatever happens to other reports."""
    is_awaited: bool = False
    """Whether it stays urgent after its next attempt."""

    @property
    def awaits_slot(self) -> bool:
        """Whether it waits for its first attempt within `spread`."""
        return self.is_new and not self.is_tried


@dataclass(slots=True)
class _Collector:
    failures: int = 0
    asked_until: float = 0.0
    rounded_until: float = 0.0
    """The same, rounded up to a step that is common to all devices."""


class SendingSchedule:
    """Draws when each report of one journal is sent, one report at a time.

    Parameters
    ----------
    clock : callable
        Seconds of a monotonic clock.
    chance : callable
        Draws uniformly from [0, 1).
    latest : tuple of SurveyIdentity and float, optional
        The survey and the time of the latest attempt, from an earlier schedule of the same journal.
    """

    def __init__(
        self,
        clock: Callable[[], float] = monotonic,
        chance: Callable[[], float] = retry.chance,
        latest: tuple[SurveyIdentity, float] | None = None,
    ) -> None:
        self._clock, self._chance = clock, chance
        self.latest: tuple[SurveyIdentity | None, float] = latest or (None, -inf)
        self._reports: dict[SurveyIdentity, _Report] = {}
        self._collectors: dict[str, _Collector] = {}
        self._urgent_when_known: set[SurveyIdentity] = set()

    def __contains__(self, survey: SurveyIdentity) -> bool:
        return survey in self._reports

    def update(self, waiting: Iterable[QueuedReport]) -> None:
        """Take over which reports wait; draw a time for each that is unknown, and keep all others."""
        now, known, unknown = self._clock(), self._reports, []
        self._reports = {}
        for survey, spread, is_new in waiting:
            report = known.get(survey)
            if report is None or (is_new and not report.is_new and not report.is_tried):
                report = _Report(survey.origin, spread, is_new)
                unknown.append(report)
            self._reports[survey] = report
        in_use = {report.collector for report in self._reports.values()}
        self._collectors = {
            name: state
            for name, state in self._collectors.items()
            if name in in_use or state.rounded_until > now
        }
        self._draw(unknown)
        for survey in self._urgent_when_known & self._reports.keys():
            self.hurry(survey)
            self._reports[survey].is_awaited = False
        self._urgent_when_known.clear()

    def next(self) -> tuple[float, SurveyIdentity | None]:
        """Return in how many seconds which report is due; (inf, None) if none waits."""
        now = self._clock()
        due = [survey for survey, report in self._reports.items() if report.due <= now]
        urgent = [survey for survey in due if self._reports[survey].is_urgent]
        if due:
            return 0.0, self._choice(urgent or due)
        if not self._reports:
            return inf, None
        survey = min(self._reports, key=lambda survey: self._reports[survey].due)
        return self._reports[survey].due - now, survey

    def next_before_exit(self, all_untried: bool = False) -> tuple[float, SurveyIdentity | None]:
        """Return (0, survey) for a random report that may be sent before the application ends.

        The report is due, or untried at a collector that has not failed. An untried report must not follow
        the attempt of another one within its own window, unless `all_untried` are to be sent.
        """
        now, counts = self._clock(), self._counts()
        ready = [
            survey
            for survey, report in self._reports.items()
            if report.due <= now
            or (
                not report.is_tried
                and not self._at(report).failures
                and (all_untried or self._is_alone(survey, counts))
            )
        ]
        return (0.0, self._choice(ready)) if ready else (inf, None)

    def asked_until(self, survey: SurveyIdentity) -> float:
        """Return the end of the pause that the collector asked for, on the clock of this schedule."""
        report = self._reports.get(survey)
        return max(report.asked_until, self._at(report).asked_until) if report else 0.0

    def forget_attempts(self) -> None:
        """Treat every report as untried, and every collector as one that has not failed."""
        self._collectors.clear()
        for report in self._reports.values():
            report.is_tried, report.asked_until = False, 0.0

    def hurry(self, survey: SurveyIdentity) -> None:
        """Make a report due now, or when the pause ends that its collector asked for.

        Until `unhurry` it is tried again soon, whatever happens to other reports.
        """
        report = self._reports.get(survey)
        if report is None:
            self._urgent_when_known.add(survey)
            return
        report.is_urgent = report.is_awaited = True
        report.due = max(self._clock(), report.asked_until, self._at(report).asked_until)

    def unhurry(self, survey: SurveyIdentity) -> None:
        """End the urgency that `hurry` gave; an attempt that is due already is still made."""
        if report := self._reports.get(survey):
            report.is_awaited = False
            report.is_urgent = report.due <= self._clock()

    # -- what became of an attempt -------------------------------------------------------------

    def begin(self, survey: SurveyIdentity) -> None:
        """Note that an attempt to send a report begins."""
        report = self._reports[survey]
        report.is_tried, report.is_urgent = True, report.is_awaited
        self.latest = (survey, self._clock())

    def collector_failed(self, survey: SurveyIdentity, answer: Response | None) -> None:
        """Draw new times for all reports of a collector that gave no answer, or cannot serve any."""
        now, failed = self._clock(), self._reports[survey]
        state = self._collectors.setdefault(failed.collector, _Collector())
        asked = retry.asked_pause(answer)
        state.asked_until = now + asked
        state.rounded_until = now + min(step for step in _ASKED_STEPS if step >= asked)
        failures, state.failures = state.failures, state.failures + 1
        reports = [report for report in self._reports.values() if report.collector == failed.collector]
        if failed.is_urgent or (len(reports) == 1 and not retry.is_longest(failures)):
            failed.due = now + retry.pause_after(failures, answer, self._chance)
        else:
            self._draw([failed])
        self._draw([report for report in reports if not report.is_urgent and report is not failed])
        for report in reports:
            report.due = max(report.due, state.asked_until)
        self._redraw_overdue(now)

    def report_failed(self, survey: SurveyIdentity, answer: Response | None) -> None:
        """Draw a new time for one report whose answer says nothing about other reports."""
        report, now = self._reports[survey], self._clock()
        if answer is not None:
            self._collectors.pop(survey.origin, None)
        report.asked_until = now + retry.asked_pause(answer)
        is_alone = self._counts()[survey.origin] == 1
        if report.is_urgent or (is_alone and not retry.is_longest(report.failures)):
            report.due = now + retry.pause_after(report.failures, answer, self._chance)
        else:
            self._draw([report])
        report.failures += 1
        self._redraw_overdue(now)

    def closed(self, survey: SurveyIdentity) -> None:
        """Draw the time to ask again whether a survey is closed, as its collector has just said."""
        report, now = self._reports[survey], self._clock()
        self._collectors.pop(survey.origin, None)
        report.due = report.asked_until = now + retry.pause_after_closed(self._chance)
        self._redraw_overdue(now)

    def drop(self, survey: SurveyIdentity, delivered: bool = False) -> None:
        """Drop a report that needs no further attempt; `delivered` if its collector took or refused it."""
        if delivered:
            self._collectors.pop(survey.origin, None)
        self._reports.pop(survey, None)
        self._redraw_overdue(self._clock())

    # -- inside --------------------------------------------------------------------------------

    def _at(self, report: _Report) -> _Collector:
        return self._collectors.get(report.collector) or _Collector()

    def _counts(self) -> Counter[str]:
        """Return how many reports wait for each collector."""
        return Counter(report.collector for report in self._reports.values())

    def _redraw_overdue(self, now: float) -> None:
        """Draw anew what fell due during an attempt: it must not follow that attempt at once."""
        self._draw([each for each in self._reports.values() if each.due <= now and not each.is_urgent])

    def _draw(self, reports: Sequence[_Report]) -> None:
        """Draw a time for each report, independently of all others."""
        now, counts = self._clock(), self._counts()
        for report in reports:
            state = self._at(report)
            if report.awaits_slot and not state.failures:
                report.due = now + report.spread * self._chance()
            else:
                wait = -_mean_wait(report, counts) * log(1.0 - self._chance())
                report.due = max(now, state.rounded_until, report.asked_until) + wait

    def _is_alone(self, survey: SurveyIdentity, counts: Counter[str]) -> bool:
        """Tell whether no other report was tried within this one's window."""
        report, (latest, when) = self._reports[survey], self.latest
        window = report.spread if report.is_new else _mean_wait(report, counts)
        return latest == survey or self._clock() - when >= window

    def _choice(self, surveys: Sequence[SurveyIdentity]) -> SurveyIdentity:
        return surveys[int(self._chance() * len(surveys))]


def _mean_wait(report: _Report, counts: Counter[str]) -> float:
    together = counts[report.collector]
    least = MIN_MEAN_WAIT_SECONDS if together > 1 else 0.0
    return max(report.spread, together * retry.MAX_BACKOFF_SECONDS, least)
