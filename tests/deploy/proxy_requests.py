"""Requests to the proxy, and what their responses must be."""

import http.client
import json
import socket
from contextlib import closing
from typing import Any
from urllib.parse import urlsplit

from encoders.report import MEDIA_TYPE
from tests.support.servers import TOKEN

PAGE = "/v1/surveys/sleep/reports"
READABLE = [("Access-Control-Allow-Origin", "*"), ("Access-Control-Expose-Headers", "Retry-After")]
CLOSED_PATHS = [
    *("/", "/metrics", "/openapi.json", "/v1/surveys", "/v1/surveys/", "/static/0/page.js", "/livez", "/x"),
    *(f"/v1/surveys/sleep/{page}" for page in ("snapshot", "estimates", "progress", "merge")),
    "/v1/surveys/sleep/estimates.csv",
    *(
        "/v1/surveys/sleep/reports/x",
        "/v1/surveys/sleep%2fprogress?/v1/surveys/sleep",
        "/x?/v1/surveys/sleep",
    ),
]


ProxyResponse = tuple[int, dict[str, Any], http.client.HTTPMessage]


def post_report(front: str, body: bytes, source: str = "127.0.0.1", **headers: str) -> ProxyResponse:
    parts = urlsplit(front)
    line = http.client.HTTPConnection(str(parts.hostname), parts.port, 20, source_address=(source, 0))
    try:
        line.request("POST", PAGE, body, {"Content-Type": MEDIA_TYPE} | headers)
        response = line.getresponse()
        text = response.read()
        return response.status, json.loads(text) if text else {}, response.headers
    finally:
        line.close()


def ask(
    front: str, method: str, path: str, body: bytes | None = None, origin: str = "https://page.example"
) -> http.client.HTTPResponse:
    """Send a request of a page of another origin; return the response, whose content was read."""
    parts = urlsplit(front)
    with closing(http.client.HTTPConnection(str(parts.hostname), parts.port, timeout=60)) as line:
        preflight = {
            "Access-Control-Request-Method": "POST",
            "Access-Control-Request-Headers": "content-type",
        }
        headers = {"Origin": origin, "Authorization": f"Bearer {TOKEN}"} | preflight
        line.request(method, path, body, headers | ({"Content-Type": "text/plain"} if body else {}))
        response = line.getresponse()
        response.read()
        return response


def cross_origin_headers(headers: http.client.HTTPMessage) -> list[tuple[str, str]]:
    return [(name, value) for name, value in headers.items() if name.lower().startswith("access-control-")]


def refusal(front: str, request: bytes) -> tuple[int, dict[str, Any]]:
    """Send bytes; return the status and the problem of the response, which must be a problem."""
    with socket.create_connection(("127.0.0.1", urlsplit(front).port or 0), 60) as line:
        line.sendall(request)
        response = http.client.HTTPResponse(line)
        response.begin()
        assert response.headers["Content-Type"] == "application/problem+json"
        return response.status, json.loads(response.read())
