"""Describes the HTTP interface of the collector (OpenAPI 3.1); `openapi.json` has the schemas of its pages.

Each page there has the schema of its content, the reasons for which it refuses a request, and, where they are
not the usual ones: the media type, the role of the token that it requires (a gateway's is optional, and an
operator may do all that analysts and metrics may), the body of a request, and whether it has an ETag.
A deleted survey is closed on all of its pages.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path
from typing import Any

from flask import Flask, current_app
from werkzeug.routing import Rule

from encoders.errors import Reason
from encoders.problem import STATUS, is_retryable
from ldp_aggregator.collector.access_tokens import Role
from ldp_aggregator.collector.cached_response import CachedResponse
from ldp_aggregator.collector.cross_origin import OPEN_ENDPOINTS, PREFLIGHT_SUFFIX

_JSON = "application/json"
_DOCUMENT: dict[str, Any] = json.loads(Path(__file__).with_suffix(".json").read_text("utf-8"))
_PAGES: dict[str, dict[str, Any]] = _DOCUMENT["pages"]
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
        "info": {
            "title": "ldp-bayes collector",
            "version": "1",
            "description": "\n".join(_DOCUMENT["description"]),
        },
        "paths": dict(sorted(paths.items())),
        "components": {
            "schemas": {"Problem": _DOCUMENT["problem"], "Reason": {"type": "string", "enum": list(Reason)}},
            "securitySchemes": {
                role: {"type": "http", "scheme": "bearer", "description": text}
                for role, text in _ROLES.items()
            },
        },
    }


def _describe_operations(app: Flask, rule: Rule) -> dict[str, Any]:
    page = _PAGES[rule.endpoint.removesuffix(PREFLIGHT_SUFFIX)]
    rights = page.get("rights")
    is_preflight = rule.endpoint.endswith(PREFLIGHT_SUFFIX)
    operation: dict[str, Any] = {
        "operationId": rule.endpoint.rpartition(".")[2],
        "summary": (app.view_functions[rule.endpoint].__doc__ or "").partition("\n")[0],
        "responses": _describe_preflight_responses() if is_preflight else _describe_responses(page),
    }
    if rule.endpoint in OPEN_ENDPOINTS:
        for response in operation["responses"].values():
            response["headers"] = response.get("headers", {}) | _DOCUMENT["cross_origin_headers"]
    if rule.arguments:
        operation["parameters"] = [
            {"name": name, "in": "path", "required": True, "schema": {"type": "string"}}
            for name in sorted(rule.arguments)
        ]
    if rights and not is_preflight:
        operation["security"] = [*_OTHER_RIGHTS[rights], {rights: []}]
    if "body" in page and not is_preflight:
        operation["requestBody"] = page["body"]
    methods = (rule.methods or set()) - {"HEAD"}
    return {method.lower(): operation for method in sorted(methods)}


def _describe_responses(page: Mapping[str, Any]) -> dict[str, Any]:
    content = {page.get("media_type", _JSON): {"schema": page["schema"]}}
    responses: dict[str, Any] = {"200": {"description": "Success", "content": content}}
    if "etag" in page:
        responses["200"]["headers"] = {"ETag": {"required": True, "schema": {"type": "string"}}}
        responses["304"] = {"description": "Not changed: the ETag is that of If-None-Match"}
    reasons = [*map(Reason, page.get("reasons", ())), Reason.INTERNAL]
    if "rights" in page:
        also = (Reason.NOT_AUTHORISED, Reason.TOO_MANY_REQUESTS)
        reasons += [each for each in also if each not in reasons]
    refused: dict[int, list[Reason]] = {}
    for reason in reasons:
        refused.setdefault(STATUS[reason], []).append(reason)
    if "rights" in page:
        refused.setdefault(401, []).append(Reason.NOT_AUTHORISED)
    return responses | {
        str(status): _describe_refusal(status, reasons) for status, reasons in sorted(refused.items())
    }


def _describe_preflight_responses() -> dict[str, Any]:
    internal = _describe_refusal(STATUS[Reason.INTERNAL], [Reason.INTERNAL])
    return {
        "204": {
            "description": "What pages of other origins may send",
            "headers": _DOCUMENT["preflight_headers"],
        },
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
