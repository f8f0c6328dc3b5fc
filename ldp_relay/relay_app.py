"""The pages of a relay for devices and for monitors, as a WSGI application."""

from __future__ import annotations

import hmac
import sqlite3
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from time import time

from flask import Flask, Response, current_app, jsonify, request
from prometheus_client import generate_latest
from werkzeug.exceptions import ClientDisconnected, HTTPException

from encoders.errors import Reason
from encoders.problem import Problem
from encoders.proxies import Address, find_sender
from encoders.survey.invitation import hash_token
from encoders.survey.relay import CODE_BYTES
from encoders.survey.sealing import SealError, column_bytes, outer_bytes
from encoders.survey.signature import signature_text
from encoders.survey.unsealing import open_outer
from ldp_relay.delivery import log_event, log_event_once
from ldp_relay.held_messages import HeldMessages, Outcome, name_of
from ldp_relay.metrics import RelayMetrics
from ldp_relay.networks import Admission, NetworkLimit, RefusalLimit
from ldp_relay.relay_settings import Pool, RelayedSurvey, RelaySettings

OTHER_PLAN, CODE_MISSING = "other-plan", "code-missing"
"""Reasons that only relays give, beside those of :class:`Outcome`."""
_RETRY_SECONDS = 60
_FULL_SECONDS = 8 * 3600
"""A device whose network is full may be in another one later."""


def create_app(settings: RelaySettings, held: HeldMessages, refusals: Mapping[str, Counter[str]]) -> Flask:
    """Make the application, which logs nothing about senders; `refusals` counts refused messages by plan."""
    app = Flask(__name__, static_folder=None)
    app.config["PROVIDE_AUTOMATIC_OPTIONS"] = False
    app.url_map.merge_slashes = False
    limits = {
        pool.name: NetworkLimit(each.messages_per_network)
        for each in settings.surveys.values()
        for pool in each.pools.values()
    }
    shown = RelayMetrics(settings, held)
    app.extensions["relay"] = _Relay(settings, held, refusals, limits, RefusalLimit(), shown)
    for name, operator_page in _OPERATOR_PAGES.items():
        app.add_url_rule(f"/{name}", name, operator_page)
    for page in (plan, texts, signature):
        app.add_url_rule(f"/<survey>/{page.__name__}", view_func=page)
    for view, method in ((post_message, "POST"), (delete_message, "DELETE"), (preflight, "OPTIONS")):
        for rule in ("/<survey>/<digest>", "/<survey>/<digest>/<wave>"):
            app.add_url_rule(rule, view_func=view, methods=[method])
    app.after_request(_count_refusal)
    app.after_request(_add_headers)
    app.register_error_handler(Exception, _handle_error)
    return app


@dataclass(frozen=True)
class _Relay:
    settings: RelaySettings
    held: HeldMessages
    refusals: Mapping[str, Counter[str]]
    limits: Mapping[str, NetworkLimit]
    """By the name of a pool."""
    refusal_limit: RefusalLimit
    metrics: RelayMetrics

    @property
    def sender(self) -> Address | None:
        forwarded, proxies = request.headers.get("X-Forwarded-For", ""), self.settings.proxies
        if forwarded and not proxies:
            log_event_once(
                "proxies-missing", fix="set proxies, or all people behind the proxy share one limit"
            )
        return find_sender(request.remote_addr or "", forwarded, proxies)


@dataclass(frozen=True)
class _Message:
    survey: RelayedSurvey
    pool: Pool
    inner: bytes
    code: bytes
    """The hash of the code; empty if the survey has none."""
    admission: Admission


def _relay() -> _Relay:
    relay: _Relay = current_app.extensions["relay"]
    return relay


def post_message(survey: str, digest: str, wave: str = "") -> Response:
    """Hold a message until it leaves."""
    message = _read_message(survey, digest, wave)
    pool = message.pool
    if (left := pool.opens - time()) > 0:
        seconds = min(int(left) + 1, 86_400)
        raise Problem(Reason.SURVEY_NOT_OPEN, "the survey has not opened yet", retry_seconds=seconds)
    _require_accepted(
        _relay().held.hold(pool.name, message.inner, pool.closes, message.code, message.admission), message
    )
    response = jsonify(status="held")
    response.status_code = 202
    return response


def delete_message(survey: str, digest: str, wave: str = "") -> Response:
    message = _read_message(survey, digest, wave)
    pool = message.pool
    outcome = _relay().held.withdraw(pool.name, message.inner, pool.closes, message.code, message.admission)
    if outcome in (Outcome.CODE_USED, Outcome.CODE_UNKNOWN):  # the message is not here, and never will be
        outcome = Outcome.KNOWN
    _require_accepted(outcome, message)
    return Response(status=204)


def _require_accepted(outcome: Outcome, message: _Message) -> None:
    match outcome:
        case Outcome.FULL:
            plan, fix = message.survey.plan, "give codes, or raise messages_per_network if you know who sends"
            if message.admission.limit.is_turned_away_first(name_of(message.inner)):
                _relay().refusals[plan.digest][Outcome.FULL] += 1
                log_event_once(Outcome.FULL, survey=plan.id, fix=fix)
            raise Problem(Outcome.FULL, "too many people have answered from this network", 429, _FULL_SECONDS)
        case Outcome.CLOSED:
            raise Problem(Reason.SURVEY_CLOSED, "the survey is closed: do not send its reports again")
        case Outcome.LEFT:
            raise Problem(outcome, "the message has left", 409)
        case Outcome.CODE_USED:
            raise Problem(outcome, "this code was used before, and the first answer counts", 409)
        case Outcome.CODE_UNKNOWN:
            raise Problem(outcome, "the relay did not give this code: use the link that you received", 403)


def plan(survey: str) -> Response:
    """Send the plan, the same bytes to everybody."""
    return Response(_survey(survey).plan.json, content_type="application/json")


def texts(survey: str) -> Response:
    """Send the texts that people read."""
    texts = _survey(survey).plan.texts
    if texts is None:
        raise Problem(Reason.NO_TEXTS, "the relay has no texts of this survey")
    return Response(texts.json, content_type="application/json")


def signature(survey: str) -> Response:
    """Send the author's signature of the plan."""
    signature = _survey(survey).signature
    if signature is None:
        raise Problem(Reason.NO_SIGNATURE, "the relay has no signature of this survey")
    return Response(signature_text(signature), content_type="text/plain; charset=utf-8")


def livez() -> Response:
    """Respond while the process runs."""
    return jsonify(status="live")


def readyz() -> Response:
    """Respond 200 if a message could be held now, else 503."""
    if failure := _relay().held.find_failure():
        raise Problem(Reason.STORE_UNAVAILABLE, failure)
    return jsonify(status="ready")


def metrics() -> Response:
    """Send the metrics to a request with their token."""
    token, sent = _relay().settings.metrics_token, request.headers.get("Authorization", "")
    if not token:
        fix = "this page is closed: it opens when the operator sets metrics_token_file"
        raise Problem(Reason.NOT_AUTHORISED, fix)
    if not hmac.compare_digest(sent.encode(), f"Bearer {token}".encode()):
        fix = "send the token of metrics_token_file: Authorization: Bearer TOKEN"
        raise Problem(Reason.NOT_AUTHORISED, fix, 401)
    text = generate_latest(_relay().metrics)
    return Response(text, content_type="text/plain; version=0.0.4; charset=utf-8")


_OPERATOR_PAGES = {"livez": livez, "readyz": readyz, "metrics": metrics}


def _survey(survey: str) -> RelayedSurvey:
    found = _relay().settings.surveys.get(survey)
    if not found:
        raise Problem(Reason.UNKNOWN_SURVEY, "no such survey")
    return found


def _read_message(survey: str, digest: str, wave: str) -> _Message:
    found, limit = _survey(survey), _relay().refusal_limit
    size = outer_bytes(found.plan) + (CODE_BYTES if found.codes else 0)
    if digest != found.plan.digest:
        raise Problem(OTHER_PLAN, "the relay has another plan of this survey: send nothing", 404)
    if (pool := found.pools.get(wave)) is None:
        raise Problem(Reason.NO_SUCH_PAGE, "the survey has no such wave")
    if request.content_length is None:
        raise Problem(Reason.LENGTH_REQUIRED, "send Content-Length, and no Transfer-Encoding")
    if found.codes and request.content_length == outer_bytes(found.plan):
        raise Problem(CODE_MISSING, "the survey needs a code: use the link that you received", 403)
    if request.content_length != size:
        raise Problem(Reason.MALFORMED, f"a message of this survey has {size} bytes")
    sender = _relay().sender
    if request.method == "POST" and (seconds := limit.find_pause(sender)):  # a withdrawal cannot wait
        raise Problem(
            Reason.TOO_MANY_REQUESTS, "too many refused messages from this address", retry_seconds=seconds
        )
    try:
        body = request.get_data(cache=False)
    except (ClientDisconnected, OSError):
        body = b""
    if len(body) != size:
        raise Problem(
            Reason.INCOMPLETE, "the body is shorter than its Content-Length", retry_seconds=_RETRY_SECONDS
        )
    try:
        content = open_outer(found.plan, body, found.key, has_code=found.codes, wave=pool.wave)
    except SealError as error:
        limit.count(sender)
        raise Problem(Reason.BAD_SEAL, str(error)) from error
    start = len(content) - sum(column_bytes(found.plan))
    code, inner = content[:start], content[start:]
    admission = Admission(_relay().limits[pool.name], sender)
    return _Message(found, pool, inner, hash_token(found.plan, code) if code else b"", admission)


def preflight(**_: str) -> Response:
    allowed = {"Methods": "DELETE, POST", "Headers": "Content-Type"}
    headers = {f"Access-Control-Allow-{name}": value for name, value in allowed.items()}
    return Response(status=204, headers=headers | {"Access-Control-Max-Age": "86400"})


def _count_refusal(response: Response) -> Response:
    found = _relay().settings.surveys.get((request.view_args or {}).get("survey", ""))
    if found and response.status_code >= 400 and response.is_json:
        reason = response.get_json()["reason"]
        if reason != Outcome.FULL:  # people are counted, not their attempts
            _relay().refusals[found.plan.digest][reason] += 1
    return response


def _add_headers(response: Response) -> Response:
    is_for_devices = request.endpoint not in _OPERATOR_PAGES
    if is_for_devices:
        response.headers["Access-Control-Allow-Origin"] = "*"
        response.headers["Access-Control-Expose-Headers"] = "Retry-After"
    is_kept = is_for_devices and request.method == "GET"
    response.headers["Cache-Control"] = "no-cache" if is_kept else "no-store"
    response.headers["X-Content-Type-Options"] = "nosniff"
    return response


def _handle_error(error: Exception) -> Response:
    if isinstance(error, HTTPException):
        error = Problem(Reason.NO_SUCH_PAGE, "the relay has no such page", error.code)
    elif not isinstance(error, Problem):
        log_event("unexpected-error", kind=type(error).__name__)  # its text might quote a request
        if isinstance(error, sqlite3.Error):
            reason, detail = Reason.STORE_UNAVAILABLE, "the message cannot be held now"
        else:
            reason, detail = Reason.INTERNAL, "unexpected error; try again later"
        error = Problem(reason, detail, retry_seconds=_RETRY_SECONDS)
    return Response(*error.response)
