"""The collector's pages; intake.py checks and records reports."""

from __future__ import annotations

import re
import time
from collections import Counter
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING

from flask import Blueprint, Response, current_app, jsonify, request

from encoders.errors import Reason, ReportError, SurveyError
from encoders.late_imports import LateImport
from encoders.problem import Problem
from encoders.survey import Plan
from encoders.survey.compiled_plan import SILO
from encoders.survey.relay import Relay
from encoders.survey.sealing import column_bytes
from encoders.survey.signature import signature_text
from encoders.survey.silo_plan import SiloPlan
from encoders.survey.unsealing import BATCH_HEADER, WAVE_HEADER, breaks_promise
from ldp_aggregator.collector.access_tokens import Role
from ldp_aggregator.collector.auth import has_gateway_token, require_operator, require_rate, require_token
from ldp_aggregator.collector.cached_response import CachedResponse
from ldp_aggregator.collector.current_results import describe_progress
from ldp_aggregator.collector.dashboard.dashboard_page import HEADERS, MEDIA_TYPES
from ldp_aggregator.collector.deduplication import DUPLICATE, RECORDED, REJECTED
from ldp_aggregator.collector.invitations import count_tokens
from ldp_aggregator.collector.openapi import cached_description
from ldp_aggregator.collector.problems import deleted_problem
from ldp_aggregator.collector.request_body import is_plain_text, read_body, read_sealed_body
from ldp_aggregator.collector.sealed_reports import open_messages
from ldp_aggregator.collector.service import Service
from ldp_aggregator.collector.serving.metrics import render_metrics
from ldp_aggregator.snapshot import AnySnapshot, take_snapshot
from ldp_aggregator.stores import StoreError
from ldp_aggregator.stores.failure import MissingSurveyError, lost_plan_error
from ldp_aggregator.stores.operator_log import write_log
from ldp_aggregator.stores.schedule import Phase

if TYPE_CHECKING:
    from ldp_aggregator.collector.current_results import CurrentResults

# requests of devices load none of the following
_CURRENT_RESULTS = LateImport("ldp_aggregator.collector.current_results")
_ESTIMATE_ROWS = LateImport("ldp_aggregator.views.estimate_rows")
_FIND_WARNINGS = LateImport("ldp_aggregator.statements.warnings:find_warnings")
_RENDER_PROGRESS = LateImport("ldp_aggregator.views.progress_page:render_progress")

pages = Blueprint("collector", __name__)


def service() -> Service:
    current: Service = current_app.extensions["ldp"]
    return current


# -- for devices ------------------------------------------------------------------------------


@pages.get("/v1/surveys")
def surveys() -> Response:
    """List the surveys that have opened."""
    living = [plan for plan in service().plans.values() if not service().is_deleted(plan.id)]
    phases = [(plan, service().phase(plan.id)) for plan in living]
    open_surveys = [
        {"id": plan.id, "digest": plan.digest, "phase": phase} | ({"kind": SILO} if plan.kind == SILO else {})
        for plan, phase in phases
        if phase is not Phase.WAITING
    ]
    return jsonify(surveys=open_surveys)


@pages.get("/v1/surveys/<survey>")
def plan(survey: str) -> Response:
    """Send a survey's plan; its digest is the ETag."""
    plan = _plan(survey)
    _require_phase(survey, Phase.OPEN)
    response = Response(plan.json, content_type="application/json")
    response.set_etag(plan.digest)
    response.make_conditional(request)
    return response


@pages.get("/v1/surveys/<survey>/texts")
def texts(survey: str) -> Response:
    """Send the texts of a survey, which people read; their digest is in the plan."""
    plan = _plan(survey)
    _require_phase(survey, Phase.OPEN)
    content = service().texts.get(plan.id)
    if content is None:
        lacking = (
            "this collector lacks the texts of this survey: ask its operator to add them"
            if plan.texts_digest
            else "this survey has no texts: show the names in its plan"
        )
        raise Problem(Reason.NO_TEXTS, lacking)
    return content.make_response("public, max-age=3600")


@pages.get("/v1/surveys/<survey>/signature")
def signature(survey: str) -> Response:
    """Send the author's signature of a survey's plan."""
    signature = service().signatures.get(_plan(survey).id)
    if signature is None:
        raise Problem(Reason.NO_SIGNATURE, "this collector has no signature of this survey: ask its operator")
    return Response(signature_text(signature), content_type="text/plain; charset=utf-8")


@pages.post("/v1/surveys/<survey>/reports")
def reports(survey: str) -> Response:
    """Count one or more reports; respond when they are durable."""
    plan = _plan(survey)
    intake = service().intakes[plan.id]
    try:
        if plan.relay:
            raise Problem(Reason.RELAY_REQUIRED, "the survey has a relay: send no reports to the collector")
        unlimited = not service().settings.rate or has_gateway_token(service())
        if not unlimited:
            require_rate(service())
        body = read_body(service())
        _require_phase(survey, Phase.OPEN, Phase.GRACE)  # after the body, which may have arrived slowly
    except (Problem, ReportError) as error:
        intake.count_rejection(Reason(error.reason))
        raise
    schedule = service().schedule(plan.id)
    outcomes = intake.record_body(body, allow_many=unlimited and not is_plain_text(), schedule=schedule)
    if len(outcomes) == 1:
        if outcomes[0].error:
            raise ReportError(*outcomes[0].error)
        return jsonify(status=outcomes[0].status)
    statuses = [outcome.status for outcome in outcomes]
    rejected = [
        {"index": index, "reason": outcome.error.reason}
        for index, outcome in enumerate(outcomes)
        if outcome.error
    ]
    return jsonify(recorded=statuses.count(RECORDED), duplicate=statuses.count(DUPLICATE), rejected=rejected)


# -- for relays -------------------------------------------------------------------------------


_BATCH = re.compile(r"[0-9]{1,9}( [0-9]{1,9})+")


@pages.post("/v1/surveys/<survey>/sealed")
def sealed(survey: str) -> Response:
    """Count the reports in the sealed messages that a relay passes on; respond when they are durable."""
    require_token(service(), Role.RELAY)
    plan = _plan(survey)
    if not (isinstance(plan, Plan) and plan.relay):
        raise Problem(Reason.UNKNOWN_SURVEY, "the survey has no relay: post its reports to /reports")
    intake = service().intakes[plan.id]
    try:
        body = read_sealed_body(column_bytes(plan))
        _require_phase(survey, Phase.OPEN, Phase.GRACE)  # after the body, as above
        if plan.id not in service().keys:
            raise Problem(
                Reason.UNKNOWN_SURVEY,
                "the collector has no key of this survey: restart it with the survey's file",
            )
        opened = open_messages(plan, body, service().keys[plan.id], _find_wave(plan))
    except (Problem, ReportError) as error:
        if request.content_length:  # else a relay only asks whether its messages would be taken
            intake.count_rejection(Reason(error.reason))
        raise
    schedule, together = service().schedule(plan.id), b"".join(opened.reports)
    outcomes = intake.record_body(together, schedule=schedule) if together else []
    intake.count_rejection(*(reason for _, reason in opened.refused))  # after the store, which may fail
    counts = Counter(outcome.status for outcome in outcomes)
    rejected = Counter(column for column, _ in opened.refused)
    rejected.update(
        column for column, each in zip(opened.columns, outcomes, strict=True) if each.status == REJECTED
    )
    if _breaks_promise_now(plan, plan.relay, rejected):
        intake.count_rejection(Reason.PROMISE_BROKEN)
    found = {"recorded": counts[RECORDED], "duplicate": counts[DUPLICATE], "rejected": rejected.total()}
    by_question = {"rejected_by_question": [rejected[each.index] for each in plan.questions]}
    return jsonify(found | by_question if plan.asks_all else found)


def _find_wave(plan: Plan) -> int | None:
    if plan.waves is None:
        return None
    try:
        wave = plan.waves.find(request.headers.get(WAVE_HEADER, ""))
    except SurveyError as error:
        raise Problem(Reason.MALFORMED, f"{WAVE_HEADER}: {error.why}") from error
    if time.time() < plan.waves.list[wave].opens:
        raise Problem(Reason.SURVEY_NOT_OPEN, "the wave has not opened yet; try again later")
    return wave


def _breaks_promise_now(plan: Plan, relay: Relay, rejected: Mapping[int, int]) -> bool:
    """Return whether the messages that are rejected now prove that their batch has too few honest ones."""
    header = request.headers.get(BATCH_HEADER, "")
    if not _BATCH.fullmatch(header):
        return False
    size, *before = map(int, header.split())
    if len(before) != len(plan.longest_by_column):
        return False
    after = [count + rejected[column] for column, count in enumerate(before)]
    return breaks_promise(relay, size, max(after)) and not breaks_promise(relay, size, max(before))


def _plan(survey: str) -> Plan | SiloPlan:
    plans = service().plans
    if service().is_deleted(survey):
        raise deleted_problem()
    if survey in service().lost:
        raise lost_plan_error(survey)
    if survey not in plans:
        raise Problem(Reason.UNKNOWN_SURVEY, "no such survey; GET /v1/surveys lists the surveys")
    return plans[survey]


def _require_phase(survey: str, *wanted: Phase) -> None:
    phase = service().phase(survey)
    if phase is Phase.WAITING:
        raise Problem(Reason.SURVEY_NOT_OPEN, "the survey has not opened yet; try again later")
    if phase not in wanted:
        raise Problem(Reason.SURVEY_CLOSED, "the survey is closed: do not send its reports again")


@pages.get("/openapi.json")
def openapi() -> Response:
    """Send the description of all pages in the format OpenAPI."""
    return cached_description().make_response("public, max-age=3600")


# -- for the operator -------------------------------------------------------------------------


@pages.get("/v1/surveys/<survey>/snapshot")
def snapshot(survey: str) -> Response:
    """Send a snapshot of the counters; training needs nothing else."""
    token = require_operator(service(), Role.ANALYST)
    plan = _plan(survey)  # with its texts, which the store does not have
    taken = replace(_take_snapshot(plan), plan=plan)  # type: ignore[arg-type]
    with suppress(StoreError):  # results can be rescued from a store that cannot be written
        write_log(service().store, token.name, "exported", plan.id, daily=True)
    return Response(taken.to_json(), content_type="application/json")


@pages.get("/v1/surveys/<survey>/estimates")
def estimates(survey: str) -> Response:
    """Send the estimates so far, with their standard errors and intervals."""
    require_operator(service(), Role.ANALYST)
    now = _find_results(_plan(survey), poisoning=True)
    found = now.results.estimates
    warnings = list(map(str, _FIND_WARNINGS.load()(found)))
    return jsonify(found.as_dict() | {"intervals": now.looks, "warnings": warnings})


@pages.get("/v1/surveys/<survey>/estimates.csv")
def estimates_table(survey: str) -> Response:
    """Send the estimates so far as a table, one row per estimated quantity and class."""
    require_operator(service(), Role.ANALYST)
    plan, rows = _plan(survey), _ESTIMATE_ROWS.load()
    text = rows.dump_table(rows.build_table(_find_results(plan).results.estimates, plan))
    response = Response(text, content_type="text/csv; charset=utf-8; header=present")
    response.headers["Content-Disposition"] = f'attachment; filename="{survey}-estimates.csv"'
    response.headers["X-Content-Type-Options"] = "nosniff"
    return response


@pages.get("/v1/surveys/<survey>/progress")
def progress(survey: str) -> Response:
    """Send the numbers of reports and of rejections."""
    require_operator(service(), Role.ANALYST)
    plan = _plan(survey)
    tokens = count_tokens(service().store, plan.id) if isinstance(plan, SiloPlan) else 0
    return jsonify(describe_progress(_take_snapshot(plan), tokens))


@pages.get("/v1/surveys/<survey>/progress.html")
def progress_page(survey: str) -> Response:
    """Send the part of the dashboard about one survey, at most a few seconds old."""
    require_operator(service(), Role.ANALYST)
    plan = _plan(survey)
    content = service().progress.get(plan.id, lambda: _render_progress(plan))
    response = content.make_response("private, no-cache")
    response.vary.add("Authorization")
    response.headers.update(HEADERS)
    return response


def _render_progress(plan: Plan | SiloPlan) -> CachedResponse:
    now = _find_results(plan, poisoning=True)
    body = _RENDER_PROGRESS.load()(now.results, all_looks=now.looks == _CURRENT_RESULTS.load().ALL_LOOKS)
    return CachedResponse(body, MEDIA_TYPES[".html"])


def _find_results(plan: Plan | SiloPlan, *, poisoning: bool = False) -> CurrentResults:
    is_closed = service().phase(plan.id) is Phase.CLOSED
    snapshot = _take_snapshot(plan)
    found: CurrentResults = _CURRENT_RESULTS.load().CurrentResults.from_snapshot(
        snapshot, plan, is_closed=is_closed, poisoning=poisoning
    )
    return found


def _take_snapshot(plan: Plan | SiloPlan) -> AnySnapshot:
    """Return a survey's snapshot; refuse one of a plan that has replaced the plan that is served."""
    snapshot = take_snapshot(service().store, plan.id, thorough=False)
    if snapshot.plan != plan:
        raise MissingSurveyError([plan.id])
    return snapshot


@pages.get("/livez")
def livez() -> Response:
    """Respond while the process runs."""
    return jsonify(status="live")


@pages.get("/readyz")
def readyz() -> Response:
    """Respond 200 if the store could take a report within the last seconds, else 503."""
    service().check_ready()
    return jsonify(status="ready", promise=service().guarantee)


@pages.get("/metrics")
def metrics() -> Response:
    """Send Prometheus metrics of the whole collector; those of surveys are read from the store."""
    require_operator(service(), Role.METRICS)
    of_store = service().store_reader.read(service().store, service().check_ready)
    content = render_metrics(of_store, service().traffic, service().settings)
    return Response(content, content_type="text/plain; version=0.0.4; charset=utf-8")
