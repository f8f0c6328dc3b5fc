"""Draws the times at which queued reports are sent, so that times do not link the reports of a device.

- A report of this run is first sent at a random time, uniform within its `spread`.
- A report that waits alone for its collector is tried again after a random pause that grows with every
  failure.
- All other reports wait for independent, exponential times: reports of an earlier run, reports that wait with
  others for a collector that failed, and reports whose pauses have reached their limit. Such times are
  memoryless: they depend neither on another report nor on the device's last attempt.

The mean grows with the number of reports that wait for the same collector, so a device with many reports
tries no more often than one with a single report. Clock and random source are arguments.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from math import inf, log
from time import monotonic

from ldp_client import retry_after
from ldp_client.sending.scheduled_report import CollectorState, QueuedReport, ScheduledReport
from ldp_client.survey_identity import SurveyIdentity
from ldp_client.transport import Response

MIN_MEAN_WAIT_SECONDS = 3600.0
"""The minimum of the mean time that a report waits where several wait for one collector."""
CLOSED_PAUSE_SECONDS = (3_600.0, 21_600.0)
"""The shortest and the longest pause after a collector said that the survey is closed."""


class SendingSchedule:
    """Draws when each report of one journal is sent, one report at a time.

    `clock` is monotonic, `draw_uniform` draws from [0, 1), and `latest_attempt` is that of an earlier
    schedule of the same journal.
    """

    def __init__(
        self,
        clock: Callable[[], float] = monotonic,
        draw_uniform: Callable[[], float] = retry_after.draw_uniform,
        latest_attempt: tuple[SurveyIdentity | None, float] | None = None,
    ) -> None:
        self._clock, self._draw_uniform = clock, draw_uniform
        self.latest_attempt = latest_attempt or (None, -inf)
        self._reports: dict[SurveyIdentity, ScheduledReport] = {}
        self._collectors: dict[str, CollectorState] = {}
        self._expedited_before_known: set[SurveyIdentity] = set()

    def __contains__(self, survey: SurveyIdentity) -> bool:
        return survey in self._reports

    def update(self, queued: Iterable[QueuedReport]) -> None:
        """Replace the reports by `queued`; draw a time for each new report, and keep all other times."""
        former, self._reports = self._reports, {}
        new_reports = []
        for survey, spread, is_new in queued:
            report = former.get(survey)
            if report is None or (is_new and not report.is_new and not report.is_tried):
                report = ScheduledReport(survey.origin, spread, is_new)
                new_reports.append(report)
            self._reports[survey] = report
        in_use = {report.collector for report in self._reports.values()}
        self._collectors = {
            name: state
            for name, state in self._collectors.items()
            if name in in_use or state.rounded_retry_after_end > self._clock()
        }
        self._draw_times(new_reports)
        for survey in self._expedited_before_known & self._reports.keys():
            self.expedite(survey)
            self._reports[survey].stays_urgent = False
        self._expedited_before_known.clear()

    def next_due(self) -> tuple[float, SurveyIdentity | None]:
        """Return the seconds until the next report is due, and its survey; (inf, None) if no report waits."""
        now = self._clock()
        due = [survey for survey, report in self._reports.items() if report.due <= now]
        urgent = [survey for survey in due if self._reports[survey].is_urgent]
        if due:
            return 0.0, self._choose_random(urgent or due)
        if not self._reports:
            return inf, None
        survey = min(self._reports, key=lambda survey: self._reports[survey].due)
        return self._reports[survey].due - now, survey

    def next_before_exit(self, all_untried: bool = False) -> tuple[float, SurveyIdentity | None]:
        """Return (0, survey) for a random report that may be sent before the application ends.

        The report is due, or untried at a collector that has not failed. An untried report must not follow
        the attempt of another one within its own window, unless `all_untried` are to be sent.
        """
        now, counts = self._clock(), self._count_reports()
        ready = [
            survey
            for survey, report in self._reports.items()
            if report.due <= now
            or (
                not report.is_tried
                and not self._collector_of(report).failures
                and (all_untried or self._is_unlinkable(survey, counts))
            )
        ]
        return (0.0, self._choose_random(ready)) if ready else (inf, None)

    def new_waits(self) -> Iterator[tuple[SurveyIdentity, str]]:
        """Yield each report whose time was drawn since the last call, with that time and its cause."""
        now = self._clock()
        for survey, report in self._reports.items():
            if report.due != report.logged_due:
                report.logged_due = report.due
                yield survey, f"next attempt in {max(0.0, report.due - now):.1f} s, {self._cause(survey)}"

    def _cause(self, survey: SurveyIdentity) -> str:
        report, collector = self._reports[survey], self._collector_of(self._reports[survey])
        if self.retry_after_end(survey) > self._clock():
            return "after the pause that the collector's response requires"
        if report.is_urgent:
            return "by flush"
        if failures := max(report.failures, collector.failures):
            return f"a random pause after {failures} failed attempt{'s' * (failures > 1)}"
        if not report.is_new:
            return "a random time, for a report of an earlier run"
        return f"a random time within {report.spread:g} s"

    def retry_after_end(self, survey: SurveyIdentity) -> float:
        """Return the time on the schedule's clock at which the pause ends that the collector asked for."""
        report = self._reports.get(survey)
        return max(report.retry_after_end, self._collector_of(report).retry_after_end) if report else 0.0

    def forget_attempts(self) -> None:
        """Treat every report as untried, and every collector as one that has not failed."""
        self._collectors.clear()
        for report in self._reports.values():
            report.is_tried, report.retry_after_end = False, 0.0

    def expedite(self, survey: SurveyIdentity) -> None:
        """Make a report due now, or after its collector's pause; until the end, backoffs are short."""
        report = self._reports.get(survey)
        if report is None:
            self._expedited_before_known.add(survey)
            return
        report.is_urgent = report.stays_urgent = True
        report.due = max(self._clock(), self.retry_after_end(survey))

    def end_expedite(self, survey: SurveyIdentity) -> None:
        """End the effect of `expedite`; an attempt that is due already is still made."""
        if report := self._reports.get(survey):
            report.stays_urgent = False
            report.is_urgent = report.due <= self._clock()

    # -- the outcome of an attempt ---------------------------------------------------------------

    def begin_attempt(self, survey: SurveyIdentity) -> None:
        """Record that an attempt to send a report begins."""
        report = self._reports[survey]
        report.is_tried, report.is_urgent = True, report.stays_urgent
        self.latest_attempt = (survey, self._clock())

    def end_attempt(self) -> tuple[SurveyIdentity | None, float]:
        """Record that the latest attempt ends, whose response no report may follow at once; return it."""
        self.latest_attempt = (self.latest_attempt[0], self._clock())
        return self.latest_attempt

    def collector_failed(self, survey: SurveyIdentity, response: Response | None) -> None:
        """Draw new times for all reports of a collector that did not respond, or cannot serve any."""
        now, failed = self._clock(), self._reports[survey]
        state = self._collectors.setdefault(failed.collector, CollectorState())
        pause = _requested_pause(response)
        state.retry_after_end = now + pause
        state.rounded_retry_after_end = now + retry_after.round_up_retry_after(pause)
        state.failures += 1
        self._draw_retry(failed, state.failures - 1, pause)
        reports = [report for report in self._reports.values() if report.collector == failed.collector]
        self._draw_times([report for report in reports if not report.is_urgent and report is not failed])
        for report in reports:
            report.due = max(report.due, state.retry_after_end)
        self._redraw_overdue(now)

    def report_failed(self, survey: SurveyIdentity, response: Response | None) -> None:
        """Draw a new time for one report whose response says nothing about other reports."""
        report, now = self._reports[survey], self._clock()
        if response is not None:
            self._collectors.pop(survey.origin, None)
        report.is_tried = True  # also if the journal could not be read: otherwise it would be due at once
        pause = _requested_pause(response)
        report.retry_after_end = now + pause
        self._draw_retry(report, report.failures, pause)
        report.failures += 1
        self._redraw_overdue(now)

    def survey_closed(self, survey: SurveyIdentity) -> None:
        """Draw the time of the next attempt after the collector said that the survey is closed."""
        report, now = self._reports[survey], self._clock()
        shortest, longest = CLOSED_PAUSE_SECONDS
        self._collectors.pop(survey.origin, None)
        report.due = report.retry_after_end = now + shortest + (longest - shortest) * self._draw_uniform()
        self._redraw_overdue(now)

    def remove(self, survey: SurveyIdentity, has_outcome: bool = False) -> None:
        """Remove a report; `has_outcome`: its collector has responded, so the collector has not failed."""
        if has_outcome:
            self._collectors.pop(survey.origin, None)
        self._reports.pop(survey, None)
        self._redraw_overdue(self._clock())

    def _collector_of(self, report: ScheduledReport) -> CollectorState:
        return self._collectors.get(report.collector) or CollectorState()

    def _count_reports(self) -> Counter[str]:
        """Return the number of waiting reports of each collector."""
        return Counter(report.collector for report in self._reports.values())

    def _redraw_overdue(self, now: float) -> None:
        """Draw new times for reports that fell due during an attempt: they must not follow it at once."""
        self._draw_times([each for each in self._reports.values() if each.due <= now and not each.is_urgent])

    def _draw_retry(self, report: ScheduledReport, failures: int, pause: float) -> None:
        """Draw the next time of a report that failed: after a backoff if it is urgent, or waits alone."""
        is_alone = self._count_reports()[report.collector] == 1
        limit = retry_after.backoff_limit(failures)
        if report.is_urgent or (is_alone and limit < retry_after.MAX_BACKOFF_SECONDS):
            report.due = self._clock() + max(pause, retry_after.draw_backoff(failures, self._draw_uniform))
        else:
            self._draw_times([report])

    def _draw_times(self, reports: Sequence[ScheduledReport]) -> None:
        """Draw a time for each report, independently of all others."""
        now, counts = self._clock(), self._count_reports()
        for report in reports:
            state = self._collector_of(report)
            if report.is_new and not report.is_tried and not state.failures:
                report.due = now + report.spread * self._draw_uniform()
            else:
                wait = -_mean_wait_seconds(report, counts) * log(1.0 - self._draw_uniform())
                report.due = max(now, state.rounded_retry_after_end, report.retry_after_end) + wait

    def _is_unlinkable(self, survey: SurveyIdentity, counts: Counter[str]) -> bool:
        """Return whether no other report was tried within this one's window."""
        report, (latest_survey, latest_time) = self._reports[survey], self.latest_attempt
        window = report.spread if report.is_new else _mean_wait_seconds(report, counts)
        return latest_survey == survey or self._clock() - latest_time >= window

    def _choose_random(self, surveys: Sequence[SurveyIdentity]) -> SurveyIdentity:
        return surveys[int(self._draw_uniform() * len(surveys))]


def _requested_pause(response: Response | None) -> float:
    return retry_after.limit_retry_after(response.retry_after if response else None)


def _mean_wait_seconds(report: ScheduledReport, counts: Counter[str]) -> float:
    count = counts[report.collector]
    minimum = MIN_MEAN_WAIT_SECONDS if count > 1 else 0.0
    return max(report.spread, count * retry_after.MAX_BACKOFF_SECONDS, minimum)
