"""Interprets a collector's response to one attempt: the outcome of the report, or why it still waits."""

from __future__ import annotations

from encoders.errors import Reason
from ldp_client.errors import OTHER_PLAN
from ldp_client.receipt import CODE_REFUSALS, State
from ldp_client.transport import Response

_FINAL_REASONS = {
    Reason.MALFORMED,
    Reason.TOO_LARGE,
    Reason.UNKNOWN_QUESTION,
    Reason.BAD_PAYLOAD,
    Reason.ID_REUSED,
}
"""Reasons that reject the bytes of a report permanently; any other reason may be temporary."""


NETWORK_FULL = "network-full"
"""The reason of a relay that has taken as many messages as it may from the network of a device."""

_CAUSES: dict[str, str] = {
    NETWORK_FULL: "too many people have answered from your network; try another one",
    Reason.LENGTH_REQUIRED: "Content-Length was removed on the way",
    Reason.NO_SUCH_PAGE: "it has no such page; a survey's URL looks like https://host/v1/surveys/ID",
    Reason.NOT_AUTHORISED: "the gateway's token is wrong or missing",
    Reason.NOT_ENROLLED: "it does not know the invitation",
    Reason.NO_TEXTS: "it does not have the texts of the survey",
    Reason.STORE_UNAVAILABLE: "it cannot use its store",
    Reason.SURVEY_NOT_OPEN: "the survey is not open yet",
    Reason.TOO_MANY_REQUESTS: "too many requests come from this network address",
    Reason.UNKNOWN_SURVEY: "it does not serve this survey, or not yet; check the URL",
    Reason.UNSUPPORTED_MEDIA_TYPE: "Content-Type was changed on the way",
    Reason.WRONG_PLAN: "it serves another plan of this survey than the one that the person agreed to",
}


_FINAL_RELAY_REASONS = {Reason.MALFORMED, Reason.BAD_SEAL, OTHER_PLAN, *CODE_REFUSALS}
"""Reasons of a relay that reject a message permanently."""


def parse_outcome(response: Response, *, through_relay: bool = False) -> tuple[State, str] | None:
    """Return a report's final state and the reason of a rejection; None if it must be sent again.

    Only the collector's own response about these bytes, or about the end of this survey, is final. The page
    of a proxy, the "200 OK" of a captive portal, and the response of a collector that was restarted without
    this survey are not final.
    """
    status, reason = response.entry("status"), response.entry("reason")
    if through_relay and response.status == 202 and status == "held":
        return State.SENT, ""
    if not through_relay and response.status == 200 and status in ("recorded", "duplicate"):
        return (State.SENT if status == "recorded" else State.DUPLICATE), ""
    final_reasons = _FINAL_RELAY_REASONS if through_relay else _FINAL_REASONS
    if 400 <= response.status < 500 and isinstance(reason, str) and reason in final_reasons:
        return State.REJECTED, str(reason)
    if is_survey_closed(response):
        return State.EXPIRED, str(Reason.SURVEY_CLOSED)
    return None


def is_survey_closed(response: Response) -> bool:
    return response.status == 410 and response.entry("reason") == Reason.SURVEY_CLOSED


def concerns_collector(response: Response | None) -> bool:
    """Return whether a failure concerns all surveys of a collector: it is busy, or cannot be reached."""
    if response and response.entry("reason") == NETWORK_FULL:  # in this survey
        return False
    if response is None or response.status == 429 or response.status >= 500:
        return True
    return not collector_reason(response)


def explain_failure(response: Response | None, server: str = "collector") -> tuple[str, str]:
    """Return the reason, a stable word, and a sentence for people; `server` is "collector" or "relay"."""
    if response is None:
        return (
            f"{server}-unreachable",
            f"the {server} did not respond; the report stays here and will be sent again",
        )
    if reason := collector_reason(response):
        return reason, (
            f"the {server} did not accept the report now ({reason}): {describe_reason(reason)}; the report "
            "stays here and will be sent again"
        )
    return f"{server}-unreachable", (
        f"the response with HTTP status {response.status} is not from a {server}: it may be from a proxy or "
        "a network's sign-in page; the report stays here and will be sent again"
    )


def describe_response(response: Response) -> str:
    """Return a response for the log: status, the collector's reason, and the pause that it asked for."""
    reason = collector_reason(response) or response.entry("status")
    words = (*Reason, *_FINAL_RELAY_REASONS, NETWORK_FULL, "recorded", "duplicate", "held")
    known = isinstance(reason, str) and reason in words
    pause = f", Retry-After {response.retry_after:g} s" if response.retry_after is not None else ""
    return f"HTTP status {response.status}, {reason if known else 'not from the collector'}{pause}"


def describe_reason(reason: str) -> str:
    """Return the cause of a collector's reason, as the end of a sentence about the collector."""
    return _CAUSES.get(reason, f"its reason is {reason}")


def collector_reason(response: Response) -> str:
    """Return the reason in a collector's response, or an empty string if it is not a collector's."""
    reason = response.entry("reason")
    return reason if isinstance(reason, str) and reason in (*Reason, NETWORK_FULL) else ""
