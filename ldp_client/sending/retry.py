"""What a collector's answer to one attempt means, and how long to wait for the next."""

from __future__ import annotations

import os
from collections.abc import Callable

from encoders.errors import Reason
from ldp_client.errors import TransportError
from ldp_client.receipt import State
from ldp_client.transport import Response

FIRST_BACKOFF_SECONDS = 0.5
MAX_BACKOFF_SECONDS = 300.0
MAX_RETRY_AFTER_SECONDS = 86_400.0
CLOSED_PAUSE_SECONDS = (3_600.0, 21_600.0)
"""The shortest and the longest pause, in seconds, after a collector said that the survey is closed."""
UNREACHABLE = TransportError.reason

_FINAL = {
    Reason.MALFORMED,
    Reason.TOO_LARGE,
    Reason.UNKNOWN_QUESTION,
    Reason.BAD_PAYLOAD,
    Reason.ID_REUSED,
}
"""Reasons that reject the bytes of a report for good; any other reason may be temporary."""


def parse_outcome(answer: Response) -> tuple[State, str] | None:
    """Read a collector's verdict on a report: its state, and the reason of a refusal; None means try again.

    Only an answer in the collector's own words, about these very bytes or this survey's end, ends a report's
    journey. A proxy's page, a captive portal's "200 OK", or a collector that was restarted without this
    survey does not.
    """
    status, reason = answer.entry("status"), answer.entry("reason")
    if answer.status == 200 and status in ("recorded", "duplicate"):
        return (State.SENT if status == "recorded" else State.DUPLICATE), ""
    if 400 <= answer.status < 500 and isinstance(reason, str) and reason in _FINAL:
        return State.REJECTED, str(reason)
    if is_survey_closed(answer):
        return State.EXPIRED, str(Reason.SURVEY_CLOSED)
    return None


def is_survey_closed(answer: Response) -> bool:
    """Tell whether the collector says that the survey is over."""
    return answer.status == 410 and answer.entry("reason") == Reason.SURVEY_CLOSED


def concerns_collector(answer: Response | None) -> bool:
    """Return whether a failure concerns all surveys of a collector: it is busy, or out of reach.

    An answer that is not in the collector's own words comes from something in between.
    """
    return answer is None or answer.status == 429 or answer.status >= 500 or not _collector_reason(answer)


def _collector_reason(answer: Response) -> str:
    """Return the collector's reason for an answer, or an empty string if it is not the collector's answer."""
    reason = answer.entry("reason")
    return reason if isinstance(reason, str) and reason in list(Reason) else ""


def explain_failure(answer: Response | None) -> tuple[str, str]:
    """Return why an attempt did not deliver a report: a stable word, and a sentence for people."""
    if answer is None:
        return UNREACHABLE, "the collector did not answer; the report waits here and is tried again"
    if reason := _collector_reason(answer):
        return reason, (
            f"the collector did not take the report now ({reason}); it waits here and is tried again"
        )
    return UNREACHABLE, (
        f"an answer with HTTP status {answer.status} came, but not in the collector's words: a proxy or a "
        "network's sign-in page may be in between; the report waits here and is tried again"
    )


def chance() -> float:
    """Draw uniformly from [0, 1): when to send never depends on what is sent."""
    return int.from_bytes(os.urandom(4), "little") / 2**32


def pause_after(failures: int, answer: Response | None, draw: Callable[[], float] = chance) -> float:
    """Return how long to wait after so many failures in a row: no less than the collector asked for."""
    return max(backoff(failures, draw), asked_pause(answer))


def asked_pause(answer: Response | None) -> float:
    """Return the seconds that the collector asked to wait, up to a day."""
    asked = (answer.retry_after or 0.0) if answer else 0.0
    return min(asked, MAX_RETRY_AFTER_SECONDS) if asked > 0 else 0.0  # a transport may say NaN


def pause_after_closed(draw: Callable[[], float] = chance) -> float:
    """Return how long to wait before asking again whether the survey is closed."""
    shortest, longest = CLOSED_PAUSE_SECONDS
    return shortest + (longest - shortest) * draw()


def backoff(failures: int, draw: Callable[[], float] = chance) -> float:
    """Return a pause: full jitter under a ceiling that doubles with every failure."""
    return min(MAX_BACKOFF_SECONDS, _ceiling(failures)) * draw()


def is_longest(failures: int) -> bool:
    """Tell whether pauses have reached their ceiling after so many failures in a row."""
    return _ceiling(failures) >= MAX_BACKOFF_SECONDS


def _ceiling(failures: int) -> float:
    return FIRST_BACKOFF_SECONDS * 2.0 ** min(failures, 16)
