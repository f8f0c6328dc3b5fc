"""Errors over HTTP: application/problem+json (RFC 9457) with a stable `reason` and `retryable`."""

from __future__ import annotations

import json

from encoders.errors import Reason

STATUS: dict[str, int] = {
    Reason.MALFORMED: 400,
    Reason.BAD_PAYLOAD: 400,
    Reason.UNKNOWN_QUESTION: 400,
    Reason.WRONG_PLAN: 409,
    Reason.ID_REUSED: 409,
    Reason.NOT_ENROLLED: 403,
    Reason.BAD_SEAL: 400,
    Reason.TOO_LARGE: 413,
    Reason.LENGTH_REQUIRED: 411,
    Reason.INCOMPLETE: 400,
    Reason.UNSUPPORTED_MEDIA_TYPE: 415,
    Reason.UNKNOWN_SURVEY: 404,
    Reason.NO_SIGNATURE: 404,
    Reason.NO_TEXTS: 404,
    Reason.RELAY_REQUIRED: 403,
    Reason.SURVEY_CLOSED: 410,
    Reason.SURVEY_NOT_OPEN: 403,
    Reason.TOO_MANY_REQUESTS: 429,
    Reason.TOO_MANY_REPORTS: 403,
    Reason.NO_SUCH_PAGE: 404,
    Reason.NOT_AUTHORISED: 403,
    Reason.STORE_UNAVAILABLE: 503,
    Reason.INTERNAL: 500,
}
_RETRY_SECONDS: dict[str, int] = {
    Reason.STORE_UNAVAILABLE: 5,
    Reason.INTERNAL: 5,
    Reason.INCOMPLETE: 5,
    Reason.SURVEY_NOT_OPEN: 5,
    Reason.TOO_MANY_REQUESTS: 60,
    Reason.NOT_ENROLLED: 3600,  # only the operator can fix it
}
"""Retry-After in seconds, for reasons after which the same request may succeed later."""


def is_retryable(reason: str) -> bool:
    return reason in _RETRY_SECONDS


class Problem(Exception):
    """Ends a request with an error.

    `reason` is a :class:`~encoders.errors.Reason`, or a word that only relays give, with its status. `detail`
    is one sentence, with nothing from the request's body or about its sender.
    """

    def __init__(
        self, reason: str, detail: str = "", status: int | None = None, retry_seconds: int | None = None
    ) -> None:
        super().__init__(reason)
        self.reason, self.detail, self.status = reason, detail, status or STATUS[reason]
        self.retry_seconds = retry_seconds or _RETRY_SECONDS.get(reason)

    @property
    def response(self) -> tuple[bytes, int, dict[str, str]]:
        """Body, status and headers of the response, in the order that `flask.Response` takes them."""
        document = {
            "type": f"urn:ldp-bayes:problem:{self.reason}",
            "title": self.reason.replace("-", " "),
            "status": self.status,
            "detail": self.detail,
            "reason": self.reason,
            "retryable": self.retry_seconds is not None,
        }
        headers = {"Content-Type": "application/problem+json"}
        if self.retry_seconds is not None:
            headers["Retry-After"] = str(self.retry_seconds)
        if self.status == 401:
            headers["WWW-Authenticate"] = "Bearer"
        body = json.dumps(document, sort_keys=True, separators=(",", ":"))
        return f"{body}\n".encode(), self.status, headers
