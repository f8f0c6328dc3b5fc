"""Describes the HTTP interface of the collector (OpenAPI 3.1): schemas and reasons for refusal by page."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from flask import Flask, current_app
from werkzeug.routing import Rule

from encoders.errors import Reason
from encoders.problem import STATUS, is_retryable
from encoders.report import MEDIA_TYPE
from encoders.survey.compiled_plan import SILO
from encoders.survey.unsealing import MAX_MESSAGES, MESSAGES_TYPE
from ldp_aggregator.collector.access_tokens import Role
from ldp_aggregator.collector.cached_response import CachedResponse
from ldp_aggregator.collector.cross_origin import OPEN_ENDPOINTS, PREFLIGHT_SUFFIX
from ldp_aggregator.collector.request_body import PLAIN_TEXT
from ldp_aggregator.stores.schedule import Phase

_DESCRIPTION = """\
Counts randomised reports, each exactly once, and keeps nothing about their senders.
Every error is application/problem+json: act on `reason` and `retryable`; `detail` is for people.
A path or method that is not listed here returns the problem `no-such-page`, with 404 or 405.
If the operator's pages have a separate address, they return `no-such-page` at the public one.
If the rate of reports is limited, each address may post a number of reports per minute, one per request.
A gateway's token lifts both limits.
Web pages of every origin may use the pages that have OPTIONS, without credentials."""

_JSON, _TEXT, _CSV = "application/json", PLAIN_TEXT, "text/csv"
_DIGEST = {"type": "string", "pattern": "^[0-9a-f]{64}$"}
_COUNT = {"type": "integer", "minimum": 0}
_REASON = {"$ref": "#/components/schemas/Reason"}


def _object(open_ended: bool = False, optional: Sequence[str] = (), **properties: Any) -> dict[str, Any]:
    closed = {} if open_ended else {"additionalProperties": False}
    required = [name for name in properties if name not in optional]
    return {"type": "object", "properties": properties, "required": required, **closed}


def _list(items: Any) -> dict[str, Any]:
    return {"type": "array", "items": items}


_COUNTS = {"type": "object", "additionalProperties": _COUNT}
_TEXTS_BY_KEY = {"type": "object", "additionalProperties": {"type": "string"}}
_TEXTS = _object(
    about=_TEXTS_BY_KEY,
    format={"const": 1},
    languages=_list({"type": "string"}),
    texts={"type": "object", "additionalProperties": {"type": "object"}},
)
_TEXTS["properties"]["ask_if"] = {"type": "object"}  # only of surveys with conditions
_SNAPSHOT = _object(
    format={"type": "string"},
    version={"type": "integer"},
    plan={"type": "object"},
    totals={"type": "object", "additionalProperties": _object(n=_COUNT, cells=_list({"type": "integer"}))},
    rejections=_COUNTS,
)
_SNAPSHOT["properties"]["texts"] = _TEXTS  # only of surveys with texts
_SNAPSHOT["properties"]["losses"] = _object(
    optional=["counters"], reports=_COUNT, ids=_COUNT, backups=_list(_COUNT), counters=_COUNT
)


_NUMBERS, _NUMBERS_OR_UNKNOWN = _list({"type": "number"}), _list({"type": ["number", "null"]})
_OF_LABEL = {
    "label": {"type": "string"},
    "classes": _list({"type": "string"}),
    "label_n": {"type": ["integer", "null"]},
    "raw_prior": _object(
        value=_NUMBERS_OR_UNKNOWN,
        stderr=_NUMBERS_OR_UNKNOWN,
        low=_NUMBERS,
        high=_NUMBERS,
        simultaneous_low=_NUMBERS,
        simultaneous_high=_NUMBERS,
    ),
    "non_uniform": _list({"type": "boolean"}),
}
"""The entries of estimates that a survey without a label does not have."""


LOOKS = ("one look", "all looks")
"""At which looks the intervals of estimates contain the truth, 19 times in 20: at one, or at all together."""
_ESTIMATES = _object(
    True,
    survey={"type": "string"},
    plan_digest=_DIGEST,
    estimator={"type": "string"},
    reports=_COUNT,
    features=_list({"type": "object"}),
    tables=_list({"type": "object"}),
    warnings=_list({"type": "string"}),
    intervals={"enum": list(LOOKS)},
)
_ESTIMATES["properties"] |= _OF_LABEL
_PROGRESS = _object(
    survey={"type": "string"},
    plan_digest=_DIGEST,
    epsilon={"type": "string"},
    reports=_COUNT,
    questions=_list(
        _object(
            optional=("wave",),
            name={"type": "string"},
            mechanism={"type": "string"},
            n=_COUNT,
            wave={"type": "string"},
        )
    ),
    rejections=_COUNTS,
)
_PROGRESS["properties"]["lost"] = _COUNT  # only if acknowledged reports were lost
# only of silo surveys
_PROGRESS["properties"] |= {"kind": {"const": SILO}, "count_error": {"type": "number"}, "tokens": _COUNT}
_SURVEYS = _list(
    _object(
        id={"type": "string"},
        digest=_DIGEST,
        phase={"enum": [phase for phase in Phase if phase is not Phase.WAITING]},
    )
)
_SURVEYS["items"]["properties"]["kind"] = {"const": SILO}  # only of silo surveys
_REPORT_OUTCOMES = {
    "oneOf": [
        _object(status={"enum": ["recorded", "duplicate"]}),
        _object(recorded=_COUNT, duplicate=_COUNT, rejected=_list(_object(index=_COUNT, reason=_REASON))),
    ]
}
_ANY_ORIGIN = {"Access-Control-Allow-Origin": {"required": True, "schema": {"const": "*"}}}
_CROSS_ORIGIN_HEADERS = _ANY_ORIGIN | {
    "Access-Control-Expose-Headers": {"required": True, "schema": {"const": "Retry-After"}}
}
_PREFLIGHT_HEADERS = _ANY_ORIGIN | {
    "Access-Control-Allow-Methods": {"required": True, "schema": {"type": "string"}},
    "Access-Control-Allow-Headers": {"schema": {"type": "string"}},
    "Access-Control-Max-Age": {"required": True, "schema": {"type": "integer"}},
}
_PROBLEM = _object(
    type={"type": "string", "format": "uri"},
    title={"type": "string"},
    status={"type": "integer"},
    detail={"type": "string"},
    reason=_REASON,
    retryable={"type": "boolean", "description": "Whether the same request may succeed later."},
)


@dataclass(frozen=True)
class _Page:
    schema: Any
    reasons: tuple[Reason, ...] = ()
    media_type: str = _JSON
    rights: str = ""
    """The role of the token that the page requires; a gateway's is optional, and an operator may do all that
    analysts and metrics may."""
    body: dict[str, Any] | None = None
    etag: bool = False


_SURVEY_REASONS = (Reason.UNKNOWN_SURVEY, Reason.SURVEY_CLOSED, Reason.STORE_UNAVAILABLE)
"""A deleted survey is closed on all of its pages."""
_OPENED_REASONS = (*_SURVEY_REASONS, Reason.SURVEY_NOT_OPEN)
_BODY_REASONS = (Reason.INCOMPLETE, Reason.LENGTH_REQUIRED, Reason.TOO_LARGE, Reason.UNSUPPORTED_MEDIA_TYPE)
_REPORT_REASONS = (
    *(Reason.MALFORMED, Reason.BAD_PAYLOAD, Reason.UNKNOWN_QUESTION, Reason.WRONG_PLAN, Reason.ID_REUSED),
    *(Reason.NOT_ENROLLED, Reason.TOO_MANY_REQUESTS, Reason.TOO_MANY_REPORTS, Reason.RELAY_REQUIRED),
)
_REPORTS = {
    "description": "One or more reports, concatenated; as text/plain exactly one. "
    "Content-Length is required.",
    "required": True,
    "content": {MEDIA_TYPE: {}, PLAIN_TEXT: {}},
}
_MESSAGES = {
    "description": f"From 1 to {MAX_MESSAGES:,} sealed messages of one length, concatenated; or records of "
    "one message for each question, if each person answers all. Content-Length is required.",
    "required": True,
    "content": {MESSAGES_TYPE: {}},
}
_PAGES = {
    "page.root": _Page({"type": "string"}, media_type="text/html", etag=True),
    "collector.openapi": _Page({"type": "object"}, etag=True),
    "collector.surveys": _Page(_object(surveys=_SURVEYS), (Reason.STORE_UNAVAILABLE,)),
    "collector.plan": _Page({"type": "object"}, _OPENED_REASONS, etag=True),
    "collector.texts": _Page(_TEXTS, (*_OPENED_REASONS, Reason.NO_TEXTS), etag=True),
    "collector.signature": _Page({"type": "string"}, (*_SURVEY_REASONS, Reason.NO_SIGNATURE), _TEXT),
    "collector.reports": _Page(
        _REPORT_OUTCOMES,
        (*_OPENED_REASONS, *_BODY_REASONS, *_REPORT_REASONS),
        rights=Role.GATEWAY,
        body=_REPORTS,
    ),
    "collector.sealed": _Page(
        _object(
            optional=["rejected_by_question"],
            recorded=_COUNT,
            duplicate=_COUNT,
            rejected=_COUNT,
            rejected_by_question={"type": "array", "items": _COUNT},
        ),
        (*_OPENED_REASONS, *_BODY_REASONS, Reason.MALFORMED),
        rights=Role.RELAY,
        body=_MESSAGES,
    ),
    "collector.snapshot": _Page(_SNAPSHOT, _OPENED_REASONS, rights=Role.ANALYST),
    "collector.estimates": _Page(_ESTIMATES, _OPENED_REASONS, rights=Role.ANALYST),
    "collector.estimates_table": _Page(
        {"type": "string"}, _OPENED_REASONS, media_type=_CSV, rights=Role.ANALYST
    ),
    "collector.progress": _Page(_PROGRESS, _OPENED_REASONS, rights=Role.ANALYST),
    "collector.progress_page": _Page(
        {"type": "string"}, _OPENED_REASONS, media_type="text/html", rights=Role.ANALYST, etag=True
    ),
    "collector.livez": _Page(_object(status={"const": "live"})),
    "collector.readyz": _Page(
        _object(status={"const": "ready"}, promise={"type": "string"}), (Reason.STORE_UNAVAILABLE,)
    ),
    "collector.metrics": _Page({"type": "string"}, media_type=_TEXT, rights=Role.METRICS),
}
_OTHER_RIGHTS: dict[str, list[dict[str, list[str]]]] = {
    Role.ANALYST: [{Role.OPERATOR: []}],
    Role.METRICS: [{Role.OPERATOR: []}],
    Role.RELAY: [],
    Role.GATEWAY: [{}],
}
_ROLES = {role: f"A token for {role}." for role in Role}
_ROLES[Role.GATEWAY] += " Ignored if the rate is not limited."
UNDESCRIBED_ENDPOINTS = {"form_pages.form_page", "form_pages.script", "page.asset", "static"}
"""Pages that are not described: the files of the page at /, whose paths change with their content."""


@cache
def cached_description() -> CachedResponse:
    """Return the description of the current application, made once: all applications have the same."""
    document = describe(current_app)
    return CachedResponse(json.dumps(document, separators=(",", ":")).encode(), _JSON)


def describe(app: Flask) -> dict[str, Any]:
    """Describe an application; raise KeyError if it has a page that this module does not describe."""
    paths: dict[str, dict[str, Any]] = {}
    for rule in app.url_map.iter_rules():
        if rule.endpoint not in UNDESCRIBED_ENDPOINTS:
            path = re.sub("<(?:.*:)?(.*?)>", r"{\1}", rule.rule)
            paths.setdefault(path, {}).update(_describe_operations(app, rule))
    return {
        "openapi": "3.1.0",
        "info": {"title": "ldp-bayes collector", "version": "1", "description": _DESCRIPTION},
        "paths": dict(sorted(paths.items())),
        "components": {
            "schemas": {"Problem": _PROBLEM, "Reason": {"type": "string", "enum": list(Reason)}},
            "securitySchemes": {
                role: {"type": "http", "scheme": "bearer", "description": text}
                for role, text in _ROLES.items()
            },
        },
    }


def _describe_operations(app: Flask, rule: Rule) -> dict[str, Any]:
    page = _PAGES[rule.endpoint.removesuffix(PREFLIGHT_SUFFIX)]
    is_preflight = rule.endpoint.endswith(PREFLIGHT_SUFFIX)
    operation: dict[str, Any] = {
        "operationId": rule.endpoint.rpartition(".")[2],
        "summary": (app.view_functions[rule.endpoint].__doc__ or "").partition("\n")[0],
        "responses": _describe_preflight_responses() if is_preflight else _describe_responses(page),
    }
    if rule.endpoint in OPEN_ENDPOINTS:
        for response in operation["responses"].values():
            response["headers"] = response.get("headers", {}) | _CROSS_ORIGIN_HEADERS
    if rule.arguments:
        operation["parameters"] = [
            {"name": name, "in": "path", "required": True, "schema": {"type": "string"}}
            for name in sorted(rule.arguments)
        ]
    if page.rights and not is_preflight:
        operation["security"] = [*_OTHER_RIGHTS[page.rights], {page.rights: []}]
    if page.body and not is_preflight:
        operation["requestBody"] = page.body
    methods = (rule.methods or set()) - {"HEAD"}
    return {method.lower(): operation for method in sorted(methods)}


def _describe_responses(page: _Page) -> dict[str, Any]:
    ok: dict[str, Any] = {"description": "Success", "content": {page.media_type: {"schema": page.schema}}}
    if page.etag:
        ok["headers"] = {"ETag": {"required": True, "schema": {"type": "string"}}}
    responses = {"200": ok}
    if page.etag:
        responses["304"] = {"description": "Not changed: the ETag is that of If-None-Match"}
    refused: dict[int, list[Reason]] = {}
    for reason in (*page.reasons, Reason.INTERNAL):
        refused.setdefault(STATUS[reason], []).append(reason)
    if page.rights:
        refused.setdefault(STATUS[Reason.NOT_AUTHORISED], []).append(Reason.NOT_AUTHORISED)
        refused.setdefault(401, []).append(Reason.NOT_AUTHORISED)
        if Reason.TOO_MANY_REQUESTS not in page.reasons:
            refused.setdefault(STATUS[Reason.TOO_MANY_REQUESTS], []).append(Reason.TOO_MANY_REQUESTS)
    return responses | {
        str(status): _describe_refusal(status, reasons) for status, reasons in sorted(refused.items())
    }


def _describe_preflight_responses() -> dict[str, Any]:
    internal = _describe_refusal(STATUS[Reason.INTERNAL], [Reason.INTERNAL])
    return {
        "204": {"description": "What pages of other origins may send", "headers": _PREFLIGHT_HEADERS},
        str(STATUS[Reason.INTERNAL]): internal,
    }


def _describe_refusal(status: int, reasons: Iterable[Reason]) -> dict[str, Any]:
    reasons = list(reasons)
    narrowed = {"properties": {"status": {"const": status}, "reason": {"enum": reasons}}}
    response: dict[str, Any] = {
        "description": ", ".join(reasons),
        "content": {
            "application/problem+json": {"schema": {"$ref": "#/components/schemas/Problem", **narrowed}}
        },
    }
    if any(map(is_retryable, reasons)):
        required = all(map(is_retryable, reasons))
        response["headers"] = {"Retry-After": {"required": required, "schema": {"type": "integer"}}}
    if status == 401:
        response["headers"] = {"WWW-Authenticate": {"required": True, "schema": {"type": "string"}}}
    return response
