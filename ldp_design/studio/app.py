"""The studio's HTTP interface: its files, and what its page asks for and does."""

from __future__ import annotations

import json
import sys
import traceback
from collections.abc import Callable, Iterator, Mapping
from pathlib import PurePosixPath
from typing import Any

from flask import Blueprint, Flask, Response, request
from werkzeug.exceptions import HTTPException

from encoders.extras import EXPECTED_ERRORS, describe_error
from ldp_aggregator.form_page.page import SCRIPT, read_script
from ldp_design.studio.access import Access
from ldp_design.studio.checked import describe_preview
from ldp_design.studio.edits import apply_operations
from ldp_design.studio.imports import MAX_BYTES, import_file, read_example, write_new
from ldp_design.studio.publish import make_draft, make_files, sign_survey, write_folder, zip_files
from ldp_design.studio.session import Session
from ldp_design.studio.sizes import describe_sizes, simulate_sizes

_FRAMES = ("preview.html", "people.html", "frame.css", "frame.js", SCRIPT)
_EMPTY_STYLE = "'sha256-47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU='"
_FRAME_POLICY = (
    "default-src 'none'; script-src {origin}; style-src {origin} {style}; img-src data:; "
    "connect-src {connect}; base-uri 'none'; form-action 'none'; frame-ancestors {origin}; "
    "sandbox allow-scripts allow-forms"
)
_RESULTS_POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:; sandbox allow-same-origin"


def create_app(session: Session, access: Access) -> Flask:
    """Return the application of one run of the studio."""
    app, pages = Flask(__name__, static_folder=None), Blueprint("pages", __name__, static_folder="static")
    app.json.sort_keys = False  # type: ignore[attr-defined]  # questions and languages have an order
    app.json.default = lambda time: time.isoformat().replace("+00:00", "Z")  # type: ignore[attr-defined]
    app.config["MAX_CONTENT_LENGTH"] = MAX_BYTES
    session.frames = access.frames
    access.protect(app)
    app.register_error_handler(Exception, _describe_failure)
    _add_files(pages, session)
    _add_frames(app, pages, access)
    _add_api(pages, session)
    app.register_blueprint(pages, url_prefix=access.folder)
    return app


def _describe_failure(error: Exception) -> tuple[dict[str, str], int]:
    """Return an expected error's sentence; print where another one was raised, and nothing of its content."""
    if isinstance(error, HTTPException):
        too_long = error.code == 413
        return {"message": "the file has more than 10 MB" if too_long else str(error.name)}, error.code or 500
    if isinstance(error, EXPECTED_ERRORS):
        return {"message": describe_error(error)}, 422
    place = traceback.extract_tb(error.__traceback__)[-1]
    sys.stderr.write(f"{type(error).__name__} at {PurePosixPath(place.filename).name}:{place.lineno}\n")
    return {"message": "this did not work because of a fault in the studio; nothing was lost"}, 500


# -- files -----------------------------------------------------------------------------------------------


def _add_files(pages: Blueprint, session: Session) -> None:
    @pages.get("/")
    def index() -> Response:
        return pages.send_static_file("index.html")

    @pages.get("/events")
    def events() -> Response:
        return Response(session.events(), mimetype="text/event-stream")

    @pages.get("/results")
    def results() -> Response:
        headers = {"Content-Security-Policy": _RESULTS_POLICY}
        return Response(session.results, 200 if session.results else 404, headers, "text/html")


def _add_frames(app: Flask, pages: Blueprint, access: Access) -> None:
    @app.get(f"{access.frames}<any{_FRAMES}:name>")
    def frame_file(name: str) -> Response:
        script = Response(read_script(), mimetype="text/javascript") if name == SCRIPT else None
        response = script or pages.send_static_file(name)
        connect = "http://127.0.0.1:*" if name == "people.html" else "'none'"
        policy = _FRAME_POLICY.format(origin=access.origin, style=_EMPTY_STYLE, connect=connect)
        response.headers["Content-Security-Policy"] = policy
        response.headers["Cross-Origin-Resource-Policy"] = "cross-origin"  # a frame has no origin
        return response


# -- the page's questions and actions ----------------------------------------------------------------------


def _add_api(pages: Blueprint, session: Session) -> None:
    @pages.get(f"/api/<any{(*_ANSWERS,)}:name>")
    def answer(name: str) -> Any:
        return _ANSWERS[name](session)

    @pages.get(f"/api/stream/<any{(*_STREAMS,)}:name>")
    def stream(name: str) -> Response:
        return _stream(session, _STREAMS[name])

    @pages.post(f"/api/<any{(*_CHANGES, *_JOBS)}:name>")
    def act(name: str) -> Any:
        body = request.get_json() if request.is_json else request.get_data()
        if name in _JOBS:  # without the lock
            with session.running():
                done = _JOBS[name](session, body)
            return done or session.change()
        return session.change(lambda: _CHANGES[name](session, body))


def _stream(session: Session, describe: Callable[[str], Iterator[dict[str, Any]]]) -> Response:
    """Return a line of JSON for each item about the survey, until it changes, or for an error.

    If the page closes the connection, the response is closed, and with it the iterator.
    """
    text = session.file.text

    def lines() -> Iterator[str]:
        with session.running():
            try:
                for each in describe(text):
                    if session.file.text != text:
                        return
                    yield json.dumps(each | {"edition": hash(text)}) + "\n"
            except Exception as error:  # the server would print all of it
                yield json.dumps(_describe_failure(error)[0]) + "\n"

    return Response(lines(), mimetype="application/x-ndjson")


def _import(session: Session, body: bytes) -> object:
    wanted, spoken = request.args.getlist("language"), request.args.get("spoken", "en")
    text, notes = import_file(request.args["name"], body, wanted, spoken)
    with session.lock:
        session.notes = notes
        return session.change(lambda: session.file.change(text))


def _begin(session: Session, body: Any) -> None:
    session.file.change(read_example() if body.get("example") else write_new(**body))


def _publish(session: Session, body: Any) -> Any:
    path, facts = session.published()
    made = make_draft(path, facts, body) if body["form"] == "draft" else make_files(path, facts, body)
    session.is_published |= body["form"] != "draft"
    if body["form"] == "folder":
        return {"folder": str(write_folder(path, made))}
    return Response(zip_files(made), mimetype="application/zip")


_ANSWERS: Mapping[str, Callable[[Session], Any]] = {
    "state": Session.describe,
    "text": lambda session: {"text": session.file.text},
    "preview": lambda session: describe_preview(session.file.text),
    "people": lambda session: session.pilot.make_people(request.args.get("count", 100, int)),
    "count": lambda session: {"reports": session.count_reports()},
}
_STREAMS = {"sizes": describe_sizes, "simulation": simulate_sizes}
_CHANGES: Mapping[str, Callable[[Session, Any], object]] = {
    "edit": lambda session, body: session.file.change(apply_operations(session.file.text, **body)),
    "text": lambda session, body: session.file.change(body["text"].replace("\r\n", "\n")),
    "undo": lambda session, _: session.file.undo(),
    "redo": lambda session, _: session.file.redo(),
    "save": lambda session, _: session.file.save(),
    "resolve": lambda session, body: session.file.resolve(keep_mine=body["mine"]),
    "new": _begin,
    "sign": lambda session, _: sign_survey(session.published()[0]),
}
_JOBS: Mapping[str, Callable[[Session, Any], object]] = {
    "trial": lambda session, _: session.start_pilot(),
    "results": lambda session, body: session.render_results(body["language"]),
    "end": lambda session, _: session.end_pilot(),
    "publish": _publish,
    "import": _import,
}
"""They take seconds; each returns an answer, or nothing for the new state."""
