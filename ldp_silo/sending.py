"""Sends the message of an epoch, and waits for the collector's response.

A silo starts its command by hand and waits for the outcome, so there is no background thread and no random
time of sending. The bytes are those in the journal: each attempt, of any process, sends the same.
"""

from __future__ import annotations

import time
from collections.abc import Callable

from encoders.errors import Reason
from ldp_client import collector_response
from ldp_client.debug_log import is_debugging, log_report
from ldp_client.journal.journal import CLOSED_ONCE
from ldp_client.receipt import State
from ldp_client.retry_after import draw_backoff, limit_retry_after
from ldp_client.transport import Response, Transport, post_report
from ldp_silo.silo_journal import SiloJournal
from ldp_silo.silo_ledger import Epoch

ATTEMPT_SECONDS = 30.0
MAX_BACKOFF_SECONDS = 10.0
EXPLANATIONS: dict[str, str] = {
    CLOSED_ONCE: "the collector says that the survey is closed; if it still does a day later, the message "
    "is given up",
    Reason.ID_REUSED: "the collector has counted another message with this token. If another silo sent it, "
    "report the same file as the same epoch with an unused token: that sends the same noisy counts. If this "
    "journal was restored from an older copy, the other message may be your own: do not report it again",
}
"""Why a message waits or was refused, by the reason in the ledger, if the silo can do something about it."""


def send_message(
    journal: SiloJournal, epoch: Epoch, transport: Transport, timeout: float, show: Callable[[str], object]
) -> tuple[str, str]:
    """Send the message of an epoch until the collector has answered for it, or `timeout` seconds are over.

    Returns the reason and why the message still waits; both are empty if it does not.
    """
    end, failures = time.monotonic() + timeout, 0
    while True:
        reason, why, response = _attempt(journal, epoch, transport)
        if not reason:
            return "", ""
        failures += 1
        requested = limit_retry_after(response.retry_after if response else None)
        pause = max(requested, min(draw_backoff(failures), MAX_BACKOFF_SECONDS))
        is_pointless = response is not None and not collector_response.concerns_collector(response)
        if is_pointless or time.monotonic() + pause > end:
            return reason, why
        show(f"{why}; next attempt in {pause:.1f} s")
        time.sleep(pause)


def _attempt(journal: SiloJournal, epoch: Epoch, transport: Transport) -> tuple[str, str, Response | None]:
    known = journal.find_epoch(epoch.number)
    if known is None or known.state is not State.QUEUED or known.message is None:
        return "", "", None  # another process has delivered or withdrawn it
    url = f"{known.url}/reports"
    response = post_report(transport, known.identity, url, known.message, ATTEMPT_SECONDS)
    if response and is_debugging():
        log_report(known.identity, collector_response.describe_response(response))
    outcome = collector_response.parse_outcome(response) if response else None
    if response and collector_response.is_survey_closed(response):
        if journal.record_epoch_closed(known, time.time()):
            return "", "", response
        return CLOSED_ONCE, EXPLANATIONS[CLOSED_ONCE], response
    if outcome is None:
        return *collector_response.explain_failure(response), response
    journal.record_epoch_outcome(known, *outcome)
    return "", "", response
