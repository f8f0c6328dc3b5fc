"""The records of the schedule: queued reports, collectors that failed, and the latest attempts."""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass
from typing import NamedTuple

from ldp_client.survey_identity import SurveyIdentity


class QueuedReport(NamedTuple):
    """What the schedule needs to know of a queued report in the journal."""

    survey: SurveyIdentity
    spread: float
    is_new: bool
    """Whether this run of the application made the report."""


@dataclass(slots=True)
class ScheduledReport:
    """A queued report with its times, on the clock of the schedule."""

    collector: str
    spread: float
    is_new: bool
    due: float = 0.0
    failures: int = 0
    retry_after_end: float = 0.0
    logged_due: float = -1.0
    """`due` when `new_waits` last returned the report."""
    is_tried: bool = False
    is_urgent: bool = False
    """Whether the report is sent as soon as possible, independently of other reports."""
    stays_urgent: bool = False
    """Whether the report stays urgent after its next attempt."""


@dataclass(slots=True)
class CollectorState:
    """What the schedule knows of a collector that failed."""

    failures: int = 0
    retry_after_end: float = 0.0
    rounded_retry_after_end: float = 0.0
    """`retry_after_end`, rounded up to a step that is common to all devices."""


MAX_LATEST_ATTEMPTS = 1000

Attempt = tuple[SurveyIdentity | None, float]
_latest_attempts: OrderedDict[str, Attempt] = OrderedDict()
"""By journal key: an application may make and close its clients in turn."""


def find_latest_attempt(journal: str) -> Attempt | None:
    """Return the survey and the time of a journal's latest attempt."""
    return _latest_attempts.get(journal)


def record_latest_attempt(journal: str, attempt: Attempt) -> None:
    """Record a journal's latest attempt; forget the oldest of more than MAX_LATEST_ATTEMPTS."""
    _latest_attempts.pop(journal, None)  # single operations, which need no lock
    _latest_attempts[journal] = attempt
    if len(_latest_attempts) > MAX_LATEST_ATTEMPTS:
        _latest_attempts.popitem(last=False)
