"""Turns every error of the collector into a problem, see :mod:`encoders.problem`."""

from __future__ import annotations

from contextlib import suppress

from flask import Flask, Response, current_app, request
from werkzeug.exceptions import HTTPException, MethodNotAllowed

from encoders.errors import Reason, ReportError
from encoders.problem import Problem
from ldp_aggregator.collector.serving.logs import StoreOutage, log_unexpected_error
from ldp_aggregator.stores import Store, StoreError
from ldp_aggregator.stores.failure import MissingSurveyError
from ldp_aggregator.stores.operator_log import DELETED, DeletedSurveyError
from ldp_aggregator.stores.schedule import IncompleteImportError

_ENDPOINTS_USING_STORE = {"collector.reports", "collector.sealed", "collector.readyz"}


def problem_response(problem: Problem) -> Response:
    return Response(*problem.response)


def deleted_problem() -> Problem:
    return Problem(Reason.SURVEY_CLOSED, "the survey was deleted: do not send its reports again")


def _is_deleted(error: StoreError) -> bool:
    if isinstance(error, MissingSurveyError):
        with suppress(StoreError):
            store: Store = current_app.extensions["ldp"].store
            return (request.view_args or {}).get("survey") in store.notes(DELETED)
    return isinstance(error, DeletedSurveyError)


def register_error_handlers(app: Flask) -> None:
    outage = StoreOutage()

    def handle_unexpected(error: Exception) -> Response:
        log_unexpected_error(error)
        return problem_response(Problem(Reason.INTERNAL, "unexpected error; try again later"))

    def handle_store_error(error: StoreError) -> Response:
        if _is_deleted(error):
            return problem_response(deleted_problem())
        outage.record_failure(error)
        why = "; try again later"
        if error.surveys or request.endpoint == "collector.readyz":
            why = ", ".join([f": {error.reason}", *error.surveys])
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
