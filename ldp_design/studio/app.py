"""The studio's HTTP interface: its page, and what the page asks of the project."""

from __future__ import annotations

import json
import queue
import sys
import threading
import traceback
from collections.abc import Callable, Iterator
from functools import cache
from importlib.resources import files
from pathlib import PurePosixPath
from typing import Any

from flask import Flask, Response, request
from werkzeug.exceptions import HTTPException, NotFound

from encoders.errors import SurveyError
from encoders.extras import EXPECTED_ERRORS, describe_error
from ldp_aggregator.form_page.page import SCRIPT, read_script
from ldp_design.studio.access import Access
from ldp_design.studio.checked import describe_preview, describe_text
from ldp_design.studio.imports import MAX_BYTES, import_file, read_example, write_new
from ldp_design.studio.operations import apply_operations
from ldp_design.studio.publish import PublishError, make_files, sign_survey, write_folder, zip_files
from ldp_design.studio.session import Session
from ldp_design.studio.sizes import compute_size, describe_size, find_suggestions, simulate_accuracy

_MEDIA_TYPES = {
    ".css": "text/css",
    ".html": "text/html",
    ".js": "text/javascript",
    ".json": "application/json",
}
_FRAMES = ("preview.html", "people.html", "frame.css", "preview.js", "people.js")
_EMPTY_STYLE = "'sha256-47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU='"
_FRAME_POLICY = (
    "default-src 'none'; script-src {origin}; style-src {origin} {style}; img-src data:; "
    "connect-src {connect}; base-uri 'none'; form-action 'none'; frame-ancestors {origin}; "
    "sandbox allow-scripts"
)
_RESULTS_POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:; sandbox allow-same-origin"


def create_app(session: Session, access: Access) -> Flask:
    """Return the application of one run of the studio."""
    app = Flask(__name__, static_folder=None)
    app.json.sort_keys = False  # type: ignore[attr-defined]  # questions and languages have an order
    app.config["MAX_CONTENT_LENGTH"] = MAX_BYTES + 100_000
    access.protect(app)
    app.register_error_handler(Exception, _describe_failure)
    _add_files(app, session, access)
    _add_answers(app, session, access)
    _add_actions(app, session)
    _add_publishing(app, session)
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


def _describe_size(session: Session) -> dict[str, object]:
    """Return the size of the survey; nothing while it has mistakes, which stand at their fields."""
    try:
        return {"version": session.version} | describe_size(compute_size(session.file.text))
    except SurveyError:
        return {}


# -- files -----------------------------------------------------------------------------------------------


def _add_files(app: Flask, session: Session, access: Access) -> None:
    @app.get("/", defaults={"name": "index.html"})
    @app.get("/static/<name>")
    def static_file(name: str) -> Response:
        return _send_file(name)

    @app.get(f"{access.frames}/<name>")
    def frame_file(name: str) -> Response:
        if name not in (*_FRAMES, SCRIPT):
            raise NotFound
        response = _send_file(name)
        connect = "http://127.0.0.1:*" if name == "people.html" else "'none'"
        policy = _FRAME_POLICY.format(origin=access.origin, style=_EMPTY_STYLE, connect=connect)
        response.headers["Content-Security-Policy"] = policy
        response.headers["Cross-Origin-Resource-Policy"] = "cross-origin"  # a frame has no origin
        return response

    @app.get("/events")
    def events() -> Response:
        return Response(session.events(), mimetype="text/event-stream")

    @app.get("/results")
    def results() -> Response:
        headers = {"Content-Security-Policy": _RESULTS_POLICY}
        return Response(session.results, 200 if session.results else 404, headers, "text/html")


def _send_file(name: str) -> Response:
    if name not in _static_files():
        raise NotFound
    return Response(_static_files()[name], mimetype=_MEDIA_TYPES[PurePosixPath(name).suffix])


@cache
def _static_files() -> dict[str, bytes]:
    folder = files("ldp_design.studio") / "static"
    found = {each.name: each.read_bytes() for each in folder.iterdir() if "." in each.name}
    return found | {SCRIPT: read_script()}


# -- what the page asks ----------------------------------------------------------------------------------


def _add_answers(app: Flask, session: Session, access: Access) -> None:
    file = session.file
    answers: dict[str, Callable[[], object]] = {
        "state": lambda: session.describe() | {"frames": access.frames},
        "text": lambda: {"text": file.text},
        "size": lambda: _describe_size(session),
        "preview": lambda: describe_preview(file.text),
        "people": lambda: session.pilot.make_people(request.args.get("count", 100, int)),
        "count": lambda: {"reports": session.count_reports()},
    }
    streams = {"suggestions": lambda: _suggest(session), "accuracy": lambda: _simulate(file.text)}

    @app.get("/api/<name>")
    def answer(name: str) -> Any:
        if name in streams:
            lines = _write_lines(session, streams[name]())
            return Response(lines, mimetype="application/x-ndjson")
        if name not in answers:
            raise NotFound
        return answers[name]()


def _write_lines(session: Session, items: Iterator[dict[str, Any]]) -> Iterator[str]:
    """Yield a line of JSON for each item, and one with a message for an error."""
    with session.running():
        try:
            for each in items:
                yield json.dumps(each) + "\n"
        except Exception as error:  # the server would print all of it
            yield json.dumps(_describe_failure(error)[0]) + "\n"


def _suggest(session: Session) -> Iterator[dict[str, Any]]:
    version = session.version
    return find_suggestions(session.file.text, lambda: session.version == version)


def _simulate(text: str) -> Iterator[dict[str, Any]]:
    """Yield the number of simulated surveys so far, and at the end the accuracies."""
    news: queue.SimpleQueue[int | list[list[str]] | Exception] = queue.SimpleQueue()

    def run() -> None:
        try:
            news.put(simulate_accuracy(text, news.put))
        except Exception as error:  # raised again for the page
            news.put(error)

    threading.Thread(target=run, daemon=True).start()
    done = 0
    while True:
        found = news.get()
        if isinstance(found, Exception):
            raise found
        if not isinstance(found, int):
            yield {"table": found}
            return
        done += found
        yield {"done": done}


# -- what the page does ----------------------------------------------------------------------------------


def _add_actions(app: Flask, session: Session) -> None:
    file = session.file

    def import_(body: Any) -> None:
        languages, label = request.args.getlist("language"), request.args.get("label")
        text, notes = import_file(request.args["name"], body, label, languages)
        file.change(text)
        session.notes = notes

    def start_new(body: Any) -> None:
        file.change(read_example() if body.get("example") else write_new(body["title"], body["languages"]))

    def show_results(_: Any) -> None:
        session.results = session.pilot.render_results()

    slow: dict[str, Callable[[Any], object]] = {
        "trial": lambda _: session.start_pilot(),
        "results": show_results,
        "end": lambda _: session.end_pilot(),
    }
    fast: dict[str, Callable[[Any], object]] = {
        "edit": lambda body: file.change(apply_operations(file.text, body["operations"])),
        "text": lambda body: file.change(body["text"].replace("\r\n", "\n")),
        "undo": lambda _: file.undo(),
        "redo": lambda _: file.redo(),
        "save": lambda _: file.save(),
        "resolve": lambda body: file.resolve(keep_mine=body["mine"]),
        "new": start_new,
        "import": import_,
        "sign": lambda _: sign_survey(_require_saved(session)),
    }

    @app.post("/api/<name>")
    def act(name: str) -> dict[str, Any]:
        body = request.get_json() if request.is_json else request.get_data()
        if name in slow:  # without the lock
            with session.running():
                slow[name](body)
            return session.change()
        if name not in fast:
            raise NotFound
        return session.change(lambda: fast[name](body))


def _require_saved(session: Session) -> Any:
    if not session.file.is_saved:
        raise PublishError("save the survey first, so that what you publish is what the file says")
    return session.file.path


def _add_publishing(app: Flask, session: Session) -> None:
    @app.post("/api/publish/<form>")
    def publish(form: str) -> Any:
        path, facts = _require_saved(session), describe_text(session.file.text)["facts"]
        if not facts:
            raise PublishError("correct the mistakes in the survey first")
        collector, english = request.args.get("collector", "").strip(), "allowEnglish" in request.args
        with session.running():
            made = make_files(path, facts, collector, allows_english=english)
            if form == "zip":
                return Response(zip_files(made), mimetype="application/zip")
            return {"folder": str(write_folder(path, made))}
