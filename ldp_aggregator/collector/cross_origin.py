"""Opens the paths that devices use to web pages of every origin, without credentials (CORS)."""

from __future__ import annotations

from collections.abc import Callable

from flask import Flask, Response, request

_REQUEST_HEADERS = {
    "collector.plan": "",
    "collector.texts": "",
    "collector.signature": "",
    "collector.reports": "Content-Type",
}
"""The endpoints for devices, each with the request headers that a page may set after a preflight."""
OPEN_ENDPOINTS = frozenset(_REQUEST_HEADERS)
PREFLIGHT_SUFFIX = "_preflight"
"""Ends the endpoint that answers the preflight requests of another endpoint."""
PREFLIGHT_SECONDS = 86_400
"""How long a browser may cache the response to a preflight; browsers cut it to their own limits."""
_ALLOWED_ORIGIN = "Access-Control-Allow-Origin"
_EXPOSED_HEADERS = "Access-Control-Expose-Headers"


def open_to_web_pages(app: Flask) -> None:
    """Add the CORS headers to the responses of registered endpoints for devices; answer their preflights."""
    for rule in list(app.url_map.iter_rules()):
        if rule.endpoint in OPEN_ENDPOINTS:
            (method,) = (rule.methods or set()) - {"HEAD"}
            preflight = _make_preflight(method, _REQUEST_HEADERS[rule.endpoint])
            app.add_url_rule(rule.rule, f"{rule.endpoint}{PREFLIGHT_SUFFIX}", preflight, methods=["OPTIONS"])
    app.after_request(_add_headers)


def _make_preflight(method: str, request_headers: str) -> Callable[..., Response]:
    """Return the view that answers preflights, of unknown surveys too: a page can then read that problem."""
    headers = {
        _ALLOWED_ORIGIN: "*",
        "Access-Control-Allow-Methods": method,
        "Access-Control-Max-Age": str(PREFLIGHT_SECONDS),
    }
    if request_headers:
        headers["Access-Control-Allow-Headers"] = request_headers

    def preflight(survey: str) -> Response:
        """Answer the preflight of a browser: which requests pages of other origins may send."""
        response = Response(status=204, headers=headers)
        del response.headers["Content-Type"]  # there is no content
        return response

    return preflight


def _add_headers(response: Response) -> Response:
    """Let pages of every origin read a response of an endpoint for devices, with its Retry-After."""
    if request.endpoint in OPEN_ENDPOINTS:
        response.headers.add(_ALLOWED_ORIGIN, "*")
        response.headers.add(_EXPOSED_HEADERS, "Retry-After")
    return response
