"""The pages of a relay for devices, as a WSGI application."""

from __future__ import annotations

import sqlite3
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from time import time
from typing import Any

from flask import Flask, Response, abort, current_app, jsonify, request
from werkzeug.exceptions import ClientDisconnected, HTTPException

from encoders.errors import Reason
from encoders.survey.opening import open_outer
from encoders.survey.sealing import SealError, outer_bytes
from encoders.survey.signature import signature_text
from ldp_relay.delivery import log_event
from ldp_relay.held_messages import HeldMessages
from ldp_relay.networks import NetworkLimit, network_of
from ldp_relay.settings import RelayedSurvey, RelaySettings

OTHER_PLAN, PASSED_ON = "other-plan", "passed-on"
"""Reasons that only relays give."""
_RETRY_SECONDS = 60


def create_app(settings: RelaySettings, held: HeldMessages, refusals: Mapping[str, Counter[str]]) -> Flask:
    """Make the application.

    Parameters
    ----------
    settings : RelaySettings
    held : HeldMessages
        Holds what devices send.
    refusals : mapping of digest to Counter
        Receives the numbers of refused messages by reason.

    Returns
    -------
    Flask
        Writes nothing about senders to a log or a disk.
    """
    app = Flask(__name__, static_folder=None)
    app.config["PROVIDE_AUTOMATIC_OPTIONS"] = False
    app.url_map.merge_slashes = False
    app.extensions["relay"] = _Relay(settings, held, refusals, NetworkLimit(settings.messages_per_network))
    for page in (plan, texts, signature):
        app.add_url_rule(f"/<survey>/{page.__name__}", view_func=page)
    for view, method in ((post_message, "POST"), (delete_message, "DELETE"), (preflight, "OPTIONS")):
        app.add_url_rule("/<survey>/<digest>", view_func=view, methods=[method])
    app.after_request(_count_refusal)
    app.after_request(_add_headers)
    app.register_error_handler(Exception, _handle_error)
    return app


@dataclass(frozen=True)
class _Relay:
    """State that all requests share."""

    settings: RelaySettings
    held: HeldMessages
    refusals: Mapping[str, Counter[str]]
    limit: NetworkLimit


def _relay() -> _Relay:
    relay: _Relay = current_app.extensions["relay"]
    return relay


def post_message(survey: str, digest: str) -> Response:
    """Hold a message until it leaves."""
    found, inner = _read_message(survey, digest)
    if (left := found.relay.opens - time()) > 0:
        seconds = min(int(left) + 1, 86_400)
        return _problem(403, Reason.SURVEY_NOT_OPEN, "the survey has not opened yet", seconds)
    if not _relay().held.hold(digest, inner, found.relay.closes):
        return _problem(410, Reason.SURVEY_CLOSED, "the survey is closed: do not send its reports again")
    return _json(202, {"status": "held"})


def delete_message(survey: str, digest: str) -> Response:
    """Delete a message that has not left."""
    found, inner = _read_message(survey, digest)
    deleted = _relay().held.withdraw(digest, inner, found.relay.closes)
    if deleted is None:
        return _problem(
            410, Reason.SURVEY_CLOSED, "the survey is closed: the message has left, or is deleted"
        )
    return Response(status=204) if deleted else _problem(409, PASSED_ON, "the message has left")


def plan(survey: str) -> Response:
    """Send the plan, the same bytes to everybody."""
    return Response(_survey(survey).plan.json, content_type="application/json")


def texts(survey: str) -> Response:
    """Send the texts that people read."""
    texts = _survey(survey).plan.texts
    if texts is None:
        return _problem(404, Reason.NO_TEXTS, "the relay has no texts of this survey")
    return Response(texts.json, content_type="application/json")


def signature(survey: str) -> Response:
    """Send the author's signature of the plan."""
    signature = _survey(survey).signature
    if signature is None:
        return _problem(404, Reason.NO_SIGNATURE, "the relay has no signature of this survey")
    return Response(signature_text(signature), content_type="text/plain; charset=utf-8")


def _survey(survey: str) -> RelayedSurvey:
    surveys = _relay().settings.surveys
    return surveys.get(survey) or abort(_problem(404, Reason.UNKNOWN_SURVEY, "no such survey"))


def _read_message(survey: str, digest: str) -> tuple[RelayedSurvey, bytes]:
    """Return the survey and the inner message of a request; refuse what no device with this plan sends."""
    found = _survey(survey)
    size = outer_bytes(found.plan)
    if digest != found.plan.digest:
        abort(_problem(404, OTHER_PLAN, "the relay has another plan of this survey: send nothing"))
    _require_limit()
    if request.content_length is None:
        abort(_problem(411, Reason.LENGTH_REQUIRED, "send Content-Length, and no Transfer-Encoding"))
    if request.content_length != size:
        abort(_problem(400, Reason.MALFORMED, f"a message of this survey has {size} bytes"))
    try:
        body = request.get_data(cache=False)
    except (ClientDisconnected, OSError):
        body = b""
    if len(body) != size:
        abort(_problem(400, Reason.INCOMPLETE, "the body is shorter than its Content-Length", _RETRY_SECONDS))
    try:
        return found, open_outer(found.plan, body, found.key)
    except SealError as error:
        abort(_problem(400, Reason.BAD_SEAL, str(error)))


def _require_limit() -> None:
    """Count a request of the sender's network; refuse it if there are too many."""
    forwarded, proxies = request.headers.get("X-Forwarded-For", ""), _relay().settings.proxies
    if seconds := _relay().limit.acquire(network_of(request.remote_addr or "", forwarded, proxies)):
        if forwarded and not proxies:
            log_event("proxies-missing", fix="set proxies, or all people behind the proxy share one limit")
        abort(_problem(429, Reason.TOO_MANY_REQUESTS, "too many messages from this network", seconds))


def preflight(survey: str, digest: str) -> Response:
    """Tell a browser what pages of every origin may send; only DELETE needs it."""
    allowed = {"Methods": "DELETE, POST", "Headers": "Content-Type"}
    headers = {f"Access-Control-Allow-{name}": value for name, value in allowed.items()}
    return Response(status=204, headers=headers | {"Access-Control-Max-Age": "86400"})


def _count_refusal(response: Response) -> Response:
    """Count a refusal, for the operator."""
    found = _relay().settings.surveys.get((request.view_args or {}).get("survey", ""))
    if found and response.status_code >= 400 and response.is_json:
        _relay().refusals[found.plan.digest][response.get_json()["reason"]] += 1
    return response


def _add_headers(response: Response) -> Response:
    response.headers["Access-Control-Allow-Origin"] = "*"
    response.headers["Access-Control-Expose-Headers"] = "Retry-After"
    response.headers["Cache-Control"] = "no-cache" if request.method == "GET" else "no-store"
    response.headers["X-Content-Type-Options"] = "nosniff"
    return response


def _json(status: int, document: dict[str, Any]) -> Response:
    response = jsonify(document)
    response.status_code = status
    return response


def _problem(status: int, reason: str, detail: str, retry_seconds: int = 0) -> Response:
    document = {"reason": reason, "detail": detail, "status": status, "retryable": retry_seconds > 0}
    response = _json(status, document)
    response.content_type = "application/problem+json"
    if retry_seconds:
        response.headers["Retry-After"] = str(retry_seconds)
    return response


def _handle_error(error: Exception) -> Response:
    if isinstance(error, HTTPException):
        return error.response or _problem(  # type: ignore[return-value]
            error.code or 500, Reason.NO_SUCH_PAGE, "the relay has no such page"
        )
    log_event("unexpected-error", kind=type(error).__name__)  # its text might quote a request
    if isinstance(error, sqlite3.Error):
        return _problem(503, Reason.STORE_UNAVAILABLE, "the message cannot be held now", _RETRY_SECONDS)
    return _problem(500, Reason.INTERNAL, "unexpected error; try again later", _RETRY_SECONDS)
