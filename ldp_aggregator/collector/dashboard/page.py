"""The operator's page at /: files of this package, and nothing from anywhere else.

The page itself is public and holds no figures; it fetches them with the token that its reader types in.
"""

from __future__ import annotations

import hashlib
from functools import cache
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import PurePosixPath

from flask import Blueprint, Response, current_app

from encoders.errors import Reason
from ldp_aggregator.collector.auth import require_operator_listener
from ldp_aggregator.collector.cached_response import Content
from ldp_aggregator.collector.problems import Problem

page = Blueprint("page", __name__)

MEDIA_TYPES = {
    ".css": "text/css; charset=utf-8",
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".md": "text/plain; charset=utf-8",
    ".svg": "image/svg+xml",
}
HEADERS = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
        "base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'"
    ),
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
}
_INDEX = "index.html"


@cache
def assets() -> dict[str, Content]:
    """Return the page's files by their paths, read once."""
    return dict(sorted(_walk(files("ldp_aggregator.collector.dashboard") / "static", PurePosixPath())))


@cache
def version() -> str:
    """Return a digest of all files: it is part of their addresses, so browsers may keep them for good."""
    known = hashlib.sha256()
    for name, content in assets().items():
        known.update(f"{name} {content.digest}\n".encode())
    return known.hexdigest()[:16]


@cache
def index() -> Content:
    """Return the page with the addresses of its files, relative: it may live below any prefix."""
    found = assets()[_INDEX]
    return Content(found.body.replace(b"{version}", version().encode()), found.media_type)


@page.before_request
def _require_operator_listener() -> None:
    require_operator_listener(current_app.extensions["ldp"])


@page.get("/")
def root() -> Response:
    """Send the page; browsers ask each time whether it has changed."""
    response = index().answer("no-cache")
    response.headers.update(HEADERS)
    return response


@page.get("/static/<wanted>/<path:name>")
def asset(wanted: str, name: str) -> Response:
    """Send one of the page's files."""
    if wanted != version() or name not in assets():
        raise Problem(Reason.NO_SUCH_PAGE, "no such file of this version; load the page again")
    response = assets()[name].answer("public, max-age=31536000, immutable")
    response.headers.update(HEADERS)
    return response


def _walk(folder: Traversable, place: PurePosixPath) -> list[tuple[str, Content]]:
    found = []
    for entry in folder.iterdir():
        path = place / entry.name
        if entry.is_dir():
            found += _walk(entry, path)
        elif media_type := MEDIA_TYPES.get(path.suffix):
            found.append((str(path), Content(entry.read_bytes(), media_type)))
    return found
