"""The latest attempt of each journal, for an application that makes and closes its clients in turn."""

from __future__ import annotations

from collections import OrderedDict

from ldp_client.survey_identity import SurveyIdentity

MAX_LATEST_ATTEMPTS = 1000

Attempt = tuple[SurveyIdentity | None, float]
_latest_attempts: OrderedDict[str, Attempt] = OrderedDict()
"""By journal key."""


def find_latest_attempt(journal: str) -> Attempt | None:
    """Return the survey and the time of a journal's latest attempt."""
    return _latest_attempts.get(journal)


def record_latest_attempt(journal: str, attempt: Attempt) -> None:
    """Record a journal's latest attempt; forget the oldest of more than MAX_LATEST_ATTEMPTS."""
    _latest_attempts.pop(journal, None)  # single operations, which need no lock
    _latest_attempts[journal] = attempt
    if len(_latest_attempts) > MAX_LATEST_ATTEMPTS:
        _latest_attempts.popitem(last=False)
