"""The dashboard at /: public files of this package; the operator's token, typed in, fetches the data."""

from __future__ import annotations

import hashlib
from functools import cache
from importlib.resources import files
from pathlib import PurePosixPath

from flask import Blueprint, Response, current_app

from encoders.errors import Reason
from encoders.problem import Problem
from ldp_aggregator.collector.auth import require_operator_listener
from ldp_aggregator.collector.cached_response import CachedResponse

page = Blueprint("page", __name__)

MEDIA_TYPES = {
    ".css": "text/css; charset=utf-8",
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
}
HEADERS = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
        "base-uri 'none'; form-action 'none'; frame-ancestors 'none'; "
        "require-trusted-types-for 'script'; trusted-types sections"
    ),
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
}
_INDEX = "index.html"


@cache
def load_assets() -> dict[str, CachedResponse]:
    """Return the page's files by their names, read once, with the style that all pages share."""
    own = files("ldp_aggregator.collector.dashboard") / "static"
    paths = [*own.iterdir(), files("ldp_aggregator.render") / "style.css"]
    return {
        path.name: CachedResponse(path.read_bytes(), media_type)
        for path in sorted(paths, key=lambda path: path.name)
        if (media_type := MEDIA_TYPES.get(PurePosixPath(path.name).suffix))
    }


@cache
def assets_version() -> str:
    """Return a digest of the page's files; it is part of their URLs, so browsers may cache them for ever."""
    digest = hashlib.sha256()
    for name, content in load_assets().items():
        digest.update(f"{name} {content.digest}\n".encode())
    return digest.hexdigest()[:16]


@cache
def cached_index() -> CachedResponse:
    """Return the page with relative addresses of its files, so that it works below any prefix."""
    index = load_assets()[_INDEX]
    return CachedResponse(index.body.replace(b"{version}", assets_version().encode()), index.media_type)


@page.before_request
def _require_operator_listener() -> None:
    require_operator_listener(current_app.extensions["ldp"])


@page.get("/")
def root() -> Response:
    """Send the page; browsers revalidate it at each load."""
    response = cached_index().make_response("no-cache")
    response.headers.update(HEADERS)
    return response


@page.get("/static/<version>/<name>")
def asset(version: str, name: str) -> Response:
    """Send one of the page's files."""
    if version != assets_version() or name not in load_assets():
        raise Problem(Reason.NO_SUCH_PAGE, "this version of the page has no such file; load the page again")
    response = load_assets()[name].make_response("public, max-age=31536000, immutable")
    response.headers.update(HEADERS)
    return response
