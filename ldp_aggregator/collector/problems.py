"""Errors over HTTP: application/problem+json (RFC 9457) with a stable `reason` and `retryable`."""

from __future__ import annotations

from flask import Flask, Response, jsonify, request
from werkzeug.exceptions import HTTPException, MethodNotAllowed

from encoders.errors import Reason, ReportError
from ldp_aggregator.collector.serving.logs import StoreOutage, log_unexpected_error
from ldp_aggregator.stores import StoreError
from ldp_aggregator.stores.schedule import IncompleteImportError

STATUS = {
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
_RETRY_SECONDS = {
    Reason.STORE_UNAVAILABLE: 5,
    Reason.INTERNAL: 5,
    Reason.INCOMPLETE: 5,
    Reason.SURVEY_NOT_OPEN: 5,
    Reason.TOO_MANY_REQUESTS: 60,
    Reason.NOT_ENROLLED: 3600,  # only the operator can fix it
}
"""Retry-After in seconds, for reasons after which the same request may succeed later."""
_ENDPOINTS_USING_STORE = {"collector.reports", "collector.sealed", "collector.readyz"}


def is_retryable(reason: Reason) -> bool:
    """Return whether the same request may succeed later."""
    return reason in _RETRY_SECONDS


class Problem(Exception):
    """Ends a request with an error.

    Attributes
    ----------
    reason : Reason
    detail : str
        One sentence, with nothing from the request's body or about its sender.
    status : int
        HTTP status; by default the status of the reason.
    retry_seconds : int or None
        Seconds until the next try; by default the value for the reason. None: do not try again.
    """

    def __init__(
        self, reason: Reason, detail: str = "", status: int | None = None, retry_seconds: int | None = None
    ) -> None:
        super().__init__(reason)
        self.reason, self.detail, self.status = reason, detail, status or STATUS[reason]
        self.retry_seconds = retry_seconds or _RETRY_SECONDS.get(reason)


def problem_response(problem: Problem) -> Response:
    """Return the response for a problem."""
    reason = problem.reason
    retryable = is_retryable(reason)
    response = jsonify(
        type=f"urn:ldp-bayes:problem:{reason}",
        title=reason.replace("-", " "),
        status=problem.status,
        detail=problem.detail,
        reason=reason,
        retryable=retryable,
    )
    response.status_code = problem.status
    response.content_type = "application/problem+json"
    if retryable:
        response.headers["Retry-After"] = str(problem.retry_seconds)
    if problem.status == 401:
        response.headers["WWW-Authenticate"] = "Bearer"
    return response


def register_error_handlers(app: Flask) -> None:
    """Return every error of the application as a problem."""
    outage = StoreOutage()

    def handle_unexpected(error: Exception) -> Response:
        log_unexpected_error(error)
        return problem_response(Problem(Reason.INTERNAL, "unexpected error; try again later"))

    def handle_store_error(error: StoreError) -> Response:
        outage.record_failure(error)
        why = f": {error.reason}" if request.endpoint == "collector.readyz" else "; try again later"
        return problem_response(Problem(Reason.STORE_UNAVAILABLE, f"the store cannot be used now{why}"))

    def note_success(response: Response) -> Response:
        if response.status_code == 200 and request.endpoint in _ENDPOINTS_USING_STORE:
            outage.record_success()
        return response

    app.after_request(note_success)
    app.register_error_handler(Problem, problem_response)
    app.register_error_handler(ReportError, lambda error: problem_response(Problem(error.reason, error.why)))
    app.register_error_handler(
        IncompleteImportError, lambda error: problem_response(Problem(Reason.SURVEY_NOT_OPEN, str(error)))
    )
    app.register_error_handler(StoreError, handle_store_error)
    app.register_error_handler(HTTPException, _handle_http_exception)
    app.register_error_handler(Exception, handle_unexpected)


_HTTP_DETAILS = {
    404: "there is no such page; GET /openapi.json lists all pages",
    405: "this page does not take this method; GET /openapi.json lists all pages with their methods",
}


def _handle_http_exception(error: HTTPException) -> Response:
    status = error.code or 500
    reason = Reason.NO_SUCH_PAGE if status < 500 else Reason.INTERNAL
    response = problem_response(Problem(reason, _HTTP_DETAILS.get(status, ""), status))
    if isinstance(error, MethodNotAllowed):
        response.allow.update(error.valid_methods or ())
    return response
