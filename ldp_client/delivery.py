"""Deliver one report: the same bytes until the collector answers."""

from __future__ import annotations

import os
from collections.abc import Callable

from encoders.errors import Reason
from ldp_client.errors import TransportError
from ldp_client.receipt import State
from ldp_client.transport import Answer, Transport

FIRST_PAUSE = 0.5
LONGEST_PAUSE = 300.0
ATTEMPT_SECONDS = 10.0

_FINAL = {
    Reason.MALFORMED,
    Reason.TOO_LARGE,
    Reason.UNKNOWN_QUESTION,
    Reason.BAD_PAYLOAD,
    Reason.ID_REUSED,
}
"""Reasons that judge a report's bytes; any other, a collector's wrong plan too, may be gone tomorrow."""


def deliver(
    transport: Transport, url: str, report: bytes, pause: Callable[[float], bool]
) -> tuple[State, str]:
    """Post a report's bytes until a collector has judged them.

    Parameters
    ----------
    transport : Transport
    url : str
        Where reports go.
    report : bytes
        Sent unchanged every time; the collector counts it once.
    pause : callable
        Waits the given seconds, or less; False ends the attempts.

    Returns
    -------
    state, reason
        SENT, DUPLICATE or REJECTED with its reason; QUEUED if `pause` ended it before an answer.
    """
    attempt = 0
    while True:
        seconds = backoff(attempt)
        try:
            answer = transport.request("POST", url, report, ATTEMPT_SECONDS)
        except TransportError:
            pass
        else:
            verdict = judge(answer)
            if verdict:
                return verdict
            seconds = max(seconds, min(answer.retry_after or 0.0, LONGEST_PAUSE))
        if not pause(seconds):
            return State.QUEUED, ""
        attempt += 1


def judge(answer: Answer) -> tuple[State, str] | None:
    """Read a collector's verdict; None means try again.

    Only an answer in the collector's own words, about these very bytes, ends a report's journey. A
    proxy's page, a captive portal's "200 OK", or a collector that was restarted without this survey does not.
    """
    status, reason = answer.entry("status"), answer.entry("reason")
    if answer.status == 200 and status in ("recorded", "duplicate"):
        return (State.SENT if status == "recorded" else State.DUPLICATE), ""
    if 400 <= answer.status < 500 and isinstance(reason, str) and reason in _FINAL:
        return State.REJECTED, str(reason)
    return None


def backoff(attempt: int) -> float:
    """Return how long to wait after a failed attempt: full jitter under an exponential ceiling."""
    ceiling = min(LONGEST_PAUSE, FIRST_PAUSE * 2.0 ** min(attempt, 16))
    return ceiling * int.from_bytes(os.urandom(4), "little") / 2**32
