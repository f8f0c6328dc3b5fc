"""Serves the page of each survey at /s/ID: for test runs, because the operator then delivers its code."""

from __future__ import annotations

from functools import cache

from flask import Blueprint, Response, current_app

from encoders.survey import Plan
from ldp_aggregator.collector.cached_response import CachedResponse
from ldp_aggregator.collector.dashboard.dashboard_page import HEADERS, MEDIA_TYPES
from ldp_aggregator.collector.service import Service
from ldp_aggregator.form_page.page import SCRIPT, read_script, render_page

form_pages = Blueprint("form_pages", __name__)

_HEADERS = HEADERS | {"Content-Security-Policy": "frame-ancestors 'none'"}
"""The rest of the policy is in the page."""
_NO_PAGE = (
    '<!doctype html><html lang="en"><meta name="viewport" content="width=device-width">'
    "<title>No survey</title><p>There is no survey at this address. Is it the address that you received?"
)
_NO_PAGE_HEADERS = {"Cache-Control": "no-store", "X-Content-Type-Options": "nosniff"}


@form_pages.get(f"/s/{SCRIPT}")
def script() -> Response:
    """Send the script of the pages."""
    return _respond(_script())


@form_pages.get("/s/<survey>")
def form_page(survey: str) -> Response:
    """Send the page on which people answer a survey."""
    service: Service = current_app.extensions["ldp"]
    plan = service.plans.get(survey)
    # the host of a page of a survey with a relay would see who answers
    if not isinstance(plan, Plan) or plan.relay or service.is_deleted(survey):
        return Response(_NO_PAGE, 404, {**_HEADERS, **_NO_PAGE_HEADERS}, mimetype="text/html")
    page = render_page(plan, f"../v1/surveys/{plan.id}", max_epsilon=float(plan.epsilon))
    return _respond(CachedResponse(page, MEDIA_TYPES[".html"]))


@cache
def _script() -> CachedResponse:
    return CachedResponse(read_script(), MEDIA_TYPES[".js"])


def _respond(content: CachedResponse) -> Response:
    response = content.make_response("no-cache")
    response.headers.update(_HEADERS)
    return response
