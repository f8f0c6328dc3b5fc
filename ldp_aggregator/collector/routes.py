"""The collector's pages. What a report goes through is in intake.py."""

from __future__ import annotations

from flask import Blueprint, Response, current_app, jsonify, request
from werkzeug.exceptions import ClientDisconnected

from encoders.errors import Reason, ReportError
from encoders.report import MEDIA_TYPE
from encoders.survey import Plan
from encoders.survey.signature import signature_text
from ldp_aggregator.collector.auth import has_gateway_token, require_operator, sender_of_request
from ldp_aggregator.collector.intake import DUPLICATE, RECORDED
from ldp_aggregator.collector.openapi import description
from ldp_aggregator.collector.problems import Problem
from ldp_aggregator.collector.service import Service
from ldp_aggregator.collector.serving.metrics import render_metrics
from ldp_aggregator.snapshot import take_snapshot
from ldp_aggregator.stores.schedule import Phase

pages = Blueprint("collector", __name__)


def service() -> Service:
    """Return what this application serves."""
    current: Service = current_app.extensions["ldp"]
    return current


# -- for devices ------------------------------------------------------------------------------


@pages.get("/v1/surveys")
def surveys() -> Response:
    """List the surveys that have begun."""
    phases = [(plan, service().windows.phase(plan.id)) for plan in service().plans.values()]
    listed = [
        {"id": plan.id, "digest": plan.digest, "phase": phase}
        for plan, phase in phases
        if phase is not Phase.WAITING
    ]
    return jsonify(surveys=listed)


@pages.get("/v1/surveys/<survey>")
def plan(survey: str) -> Response:
    """Send a survey's plan; its digest is the ETag."""
    plan = _plan(survey)
    _require_phase(survey, Phase.OPEN)
    response = Response(plan.json, content_type="application/json")
    response.set_etag(plan.digest)
    response.make_conditional(request)
    return response


@pages.get("/v1/surveys/<survey>/signature")
def signature(survey: str) -> Response:
    """Send the author's signature of a survey's plan."""
    found = service().signatures.get(_plan(survey).id)
    if found is None:
        raise Problem(Reason.NO_SIGNATURE, "the collector was started without a signature of this survey")
    return Response(signature_text(found), content_type="text/plain; charset=utf-8")


@pages.post("/v1/surveys/<survey>/reports")
def reports(survey: str) -> Response:
    """Take one report or many; answer only when they are durable."""
    intake = service().intakes[_plan(survey).id]
    try:
        several = _may_send_several()
        body = _body()
        _require_phase(survey, Phase.OPEN, Phase.GRACE)  # now, however long the body was on its way
    except (Problem, ReportError) as error:
        intake.reject(error.reason)
        raise
    verdicts = intake.take(body, several)
    if len(verdicts) == 1:
        if verdicts[0].error:
            raise ReportError(*verdicts[0].error)
        return jsonify(status=verdicts[0].status)
    statuses = [verdict.status for verdict in verdicts]
    rejected = [
        {"index": index, "reason": verdict.error.reason}
        for index, verdict in enumerate(verdicts)
        if verdict.error
    ]
    return jsonify(recorded=statuses.count(RECORDED), duplicate=statuses.count(DUPLICATE), rejected=rejected)


def _may_send_several() -> bool:
    """Return whether a post may hold several reports; if not, count it, and refuse one post too many."""
    rates = service().rates
    if not rates.limit or has_gateway_token(service()):
        return True
    if seconds := rates.wait(*sender_of_request()):
        raise Problem(
            Reason.TOO_MANY_REQUESTS,
            "this address has sent too many requests in this minute; try again later",
            retry_seconds=seconds,
        )
    return False


def _plan(survey: str) -> Plan:
    plans = service().plans
    if survey not in plans:
        raise Problem(Reason.UNKNOWN_SURVEY, "this collector has no such survey; GET /v1/surveys lists them")
    return plans[survey]


def _require_phase(survey: str, *wanted: Phase) -> None:
    phase = service().windows.phase(survey)
    if phase is Phase.WAITING:
        raise Problem(Reason.SURVEY_NOT_OPEN, "the survey has not begun")
    if phase not in wanted:
        raise Problem(Reason.SURVEY_CLOSED, "the survey is over")


def _body() -> bytes:
    """Read the whole body, whose length must be stated: a server may cut a chunked one short unnoticed."""
    if request.mimetype != MEDIA_TYPE:
        raise ReportError(Reason.UNSUPPORTED_MEDIA_TYPE, f"reports come as {MEDIA_TYPE}")
    length = request.content_length
    if length is None or "HTTP_TRANSFER_ENCODING" in request.environ:
        raise ReportError(Reason.LENGTH_REQUIRED, "send a Content-Length and no Transfer-Encoding")
    if length > service().max_body:
        raise ReportError(Reason.TOO_LARGE, f"a body has at most {service().max_body} bytes")
    try:
        with service().deadlines.watch(request.environ.get("gunicorn.socket")):
            body = request.get_data(cache=False)
    except (ClientDisconnected, OSError):
        body = b""
    if len(body) != length:
        raise ReportError(Reason.INCOMPLETE, "the body is shorter than its Content-Length; send it again")
    return body


@pages.get("/openapi.json")
def openapi() -> Response:
    """Send this description of all pages."""
    return description().answer("public, max-age=3600")


# -- for the operator -------------------------------------------------------------------------


@pages.get("/v1/surveys/<survey>/snapshot")
def snapshot(survey: str) -> Response:
    """Send everything training needs."""
    require_operator(service())
    return Response(
        take_snapshot(service().store, _plan(survey).id).to_json(), content_type="application/json"
    )


@pages.get("/v1/surveys/<survey>/estimates")
def estimates(survey: str) -> Response:
    """Send the estimates so far, with their standard errors."""
    require_operator(service())
    from ldp_aggregator.estimation import estimate_snapshot  # late: devices' requests never need it

    return jsonify(estimate_snapshot(take_snapshot(service().store, _plan(survey).id)).as_dict())


@pages.get("/v1/surveys/<survey>/progress")
def progress(survey: str) -> Response:
    """Send what the operator's page shows: at most a few seconds old, however many look at it."""
    require_operator(service())
    from ldp_aggregator.collector.dashboard.data import progress as show  # late, as above

    store, wanted = service().store, _plan(survey).id
    content = service().progress.get(wanted, lambda: show(take_snapshot(store, wanted)))
    response = content.answer("private, no-cache")
    response.vary.add("Authorization")
    return response


@pages.get("/livez")
def livez() -> Response:
    """Answer while the process lives."""
    return jsonify(status="live")


@pages.get("/readyz")
def readyz() -> Response:
    """Answer 200 if a report could be counted now, or a moment ago, else 503."""
    service().ready.get("", service().store.check_ready)  # a write each: not one for everybody who asks
    return jsonify(status="ready", promise=service().promise)


@pages.get("/metrics")
def metrics() -> Response:
    """Send Prometheus metrics, read from the store so that all workers say the same."""
    require_operator(service())
    return Response(render_metrics(service().store), content_type="text/plain; version=0.0.4; charset=utf-8")
