"""The pages of a relay for devices, as a WSGI application."""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping
from time import time
from typing import Any

from flask import Flask, Response, abort, current_app, jsonify, request
from werkzeug.exceptions import HTTPException

from encoders.errors import Reason
from encoders.survey.sealing import SealError, open_outer, outer_bytes
from encoders.survey.signature import signature_text
from ldp_relay.delivery import log_event
from ldp_relay.held_messages import HeldMessages
from ldp_relay.networks import NetworkCount, NetworkLimit, network_of
from ldp_relay.settings import RelayedSurvey, RelaySettings

OTHER_PLAN, PASSED_ON = "other-plan", "passed-on"
"""Reasons that only relays give."""
_RETRY_SECONDS = 60


def create_app(settings: RelaySettings, held: HeldMessages, networks: Mapping[str, NetworkCount]) -> Flask:
    """Make the application.

    Parameters
    ----------
    settings : RelaySettings
    held : HeldMessages
        Holds what devices send.
    networks : mapping of survey name to NetworkCount
        Counts the networks of messages that are held.

    Returns
    -------
    Flask
        Writes nothing about senders to a log or a disk.
    """
    app = Flask(__name__, static_folder=None)
    app.config["PROVIDE_AUTOMATIC_OPTIONS"] = False
    app.url_map.merge_slashes = False
    app.extensions["settings"] = settings
    limit = NetworkLimit(settings.messages_per_network)

    def post_message(survey: str, digest: str) -> Response:
        """Hold a message until it leaves."""
        found, network = _survey(survey), _require_limit(settings, limit)
        inner = _open_message(found, digest)
        if (left := found.relay.opens - time()) > 0:
            seconds = min(int(left) + 1, 86_400)
            return _problem(403, Reason.SURVEY_NOT_OPEN, "the survey has not opened yet", seconds)
        if not held.hold(found.name, inner, found.relay.closes):
            return _problem(410, Reason.SURVEY_CLOSED, "the survey is closed: do not send its reports again")
        networks[found.name].add(network)
        return _json(202, {"status": "held"})

    def delete_message(survey: str, digest: str) -> Response:
        """Delete a message that has not left."""
        found, _ = _survey(survey), _require_limit(settings, limit)
        if held.withdraw(found.name, _open_message(found, digest)):
            return Response(status=204)
        return _problem(409, PASSED_ON, "the message has left")

    for page in (plan, texts, signature):
        app.add_url_rule(f"/<survey>/{page.__name__}", view_func=page)
    app.add_url_rule("/<survey>/<digest>", view_func=post_message, methods=["POST"])
    app.add_url_rule("/<survey>/<digest>", view_func=delete_message, methods=["DELETE"])
    app.add_url_rule("/<survey>/<digest>", view_func=_preflight, methods=["OPTIONS"])
    app.after_request(_add_headers)
    app.register_error_handler(Exception, _handle_error)
    return app


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
    surveys: Mapping[str, RelayedSurvey] = current_app.extensions["settings"].surveys
    return surveys.get(survey) or abort(_problem(404, Reason.UNKNOWN_SURVEY, "no such survey"))


def _require_limit(settings: RelaySettings, limit: NetworkLimit) -> str:
    """Count a request of the sender's network, and return the network; refuse it if there are too many."""
    forwarded = request.headers.get("X-Forwarded-For", "")
    network = network_of(request.remote_addr or "", forwarded, settings.proxies)
    if seconds := limit.acquire(network):
        abort(_problem(429, Reason.TOO_MANY_REQUESTS, "too many messages from this network", seconds))
    return network


def _open_message(survey: RelayedSurvey, digest: str) -> bytes:
    """Return the inner message of a request; refuse what no device with this plan sends."""
    size = outer_bytes(survey.plan)
    if digest != survey.plan.digest:
        abort(_problem(404, OTHER_PLAN, "the relay has another plan of this survey: send nothing"))
    if request.content_length != size or len(body := request.get_data(cache=False)) != size:
        abort(_problem(400, Reason.MALFORMED, f"a message of this survey has {size} bytes"))
    try:
        return open_outer(survey.plan, body, survey.key)
    except SealError as error:
        abort(_problem(400, Reason.BAD_SEAL, str(error)))


def _preflight(survey: str, digest: str) -> Response:
    """Tell a browser what pages of every origin may send; only DELETE needs it."""
    allowed = {"Methods": "DELETE, POST", "Headers": "Content-Type"}
    headers = {f"Access-Control-Allow-{name}": value for name, value in allowed.items()}
    return Response(status=204, headers=headers | {"Access-Control-Max-Age": "86400"})


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
