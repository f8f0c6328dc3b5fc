"""The studio's HTTP interface: its page, and what the page asks of the project."""

from __future__ import annotations

import json
import sys
import threading
import time
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from importlib.resources import files
from pathlib import PurePosixPath
from typing import Any

from flask import Flask, Response, request
from werkzeug.exceptions import HTTPException, NotFound

from encoders.errors import LdpError
from encoders.extras import EXPECTED_ERRORS, describe_error
from ldp_aggregator.form_page.page import SCRIPT, read_script
from ldp_design.studio.access import Access
from ldp_design.studio.checked import compile_survey, describe_text
from ldp_design.studio.imports import MAX_BYTES, import_file, read_example, write_new
from ldp_design.studio.operations import apply_operations
from ldp_design.studio.pilot import Pilot, make_people
from ldp_design.studio.preview import describe_plan, describe_preview
from ldp_design.studio.publish import (
    Choices,
    PublishError,
    describe_keys,
    make_files,
    sign_survey,
    write_folder,
    zip_files,
)
from ldp_design.studio.sizes import (
    Cancelled,
    compute_size,
    describe_size,
    find_suggestions,
    simulate_accuracy,
)
from ldp_design.studio.workfile import WorkFile

_MEDIA_TYPES = {
    ".css": "text/css; charset=utf-8",
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".json": "application/json",
}
_FRAME_FILES = ("preview.html", "people.html", "frame.css", "preview.js", "people.js")
_FRAME_POLICY = (
    "default-src 'none'; script-src {origin}; style-src {origin} 'sha256-47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU='; "
    "img-src data:; connect-src {connect}; base-uri 'none'; form-action 'none'; frame-ancestors {origin}; "
    "sandbox allow-scripts"
)
_RESULTS_POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:; sandbox allow-same-origin"
_LOOK_SECONDS, _PING_SECONDS = 1.0, 5.0


class Studio:
    """What one run of the studio holds; `lock` guards the file and the pilot."""

    def __init__(self, file: WorkFile, access: Access) -> None:
        self.file, self.access = file, access
        self.lock = threading.RLock()
        self.pilot: Pilot | None = None
        self.results = b""
        self.version = 0
        self.notes: list[str] = []
        self._streams = self._jobs = 0
        self._last_seen: float | None = None
        self.ended = threading.Event()

    @contextmanager
    def counted(self, name: str) -> Iterator[None]:
        """Count a stream or a job while it runs."""
        with self.lock:
            setattr(self, name, getattr(self, name) + 1)
        try:
            yield
        finally:
            with self.lock:
                setattr(self, name, getattr(self, name) - 1)
                self._last_seen = time.monotonic()

    def job(self) -> Any:
        """Return a context in which the studio does not end by itself."""
        return self.counted("_jobs")

    def idle_seconds(self) -> float:
        """Return for how long no page has been open and nothing has run; 0 before the first page."""
        with self.lock:
            if self._streams or self._jobs or self._last_seen is None:
                return 0.0
            return time.monotonic() - self._last_seen

    def describe(self) -> dict[str, Any]:
        """Return what the page shows of the file."""
        file = self.file
        return describe_text(file.text) | {
            "version": self.version,
            "name": file.path.name,
            "path": str(file.path),
            "exists": file.exists,
            "saved": file.is_saved,
            "undo": bool(file.undo_texts),
            "redo": bool(file.redo_texts),
            "conflict": file.conflict is not None,
            "notice": file.notice,
            "draftProblem": file.problem,
            "notes": self.notes,
            "keys": describe_keys(file.path),
            "trial": self._describe_pilot(),
            "frames": self.access.frames,
        }

    def _describe_pilot(self) -> dict[str, Any] | None:
        return {"page": self.pilot.page, "results": hash(self.results) if self.results else 0} if self.pilot else None

    def change(self, run: Callable[[], object]) -> dict[str, Any]:
        """Change the file, and return its description."""
        with self.lock:
            run()
            self.version += 1
            return self.describe()

    def end_pilot(self) -> None:
        """End the trial, if there is one."""
        with self.lock:
            pilot, self.pilot, self.results = self.pilot, None, b""
        if pilot:
            pilot.end()

    def events(self) -> Iterator[str]:
        """Yield a line for each change of the file, and to find out that the page has gone."""
        with self.counted("_streams"):
            seen, pinged = -1, 0.0
            while not self.ended.is_set():
                with self.lock:
                    try:
                        self.version += self.file.look()
                    except LdpError:
                        pass  # the next save tells why
                    version = self.version
                if version != seen or time.monotonic() - pinged > _PING_SECONDS:
                    seen, pinged = version, time.monotonic()
                    yield f"data: {version}\n\n"
                self.ended.wait(_LOOK_SECONDS)


def create_app(studio: Studio) -> Flask:
    """Return the application of a studio."""
    app = Flask(__name__, static_folder=None)
    app.json.sort_keys = False  # the order of questions and languages means something
    app.config["MAX_CONTENT_LENGTH"] = MAX_BYTES + 1_000_000
    studio.access.protect(app)
    app.register_error_handler(Exception, _describe_failure)
    for add in (_add_files, _add_editing, _add_sizes, _add_trial, _add_publishing):
        add(app, studio)
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


def _body() -> dict[str, Any]:
    found = request.get_json()
    return found if isinstance(found, dict) else {}


# -- files -----------------------------------------------------------------------------------------------


def _add_files(app: Flask, studio: Studio) -> None:
    origin = f"http://{studio.access.host}"

    @app.get("/")
    def index() -> Response:
        return _send_file("index.html")

    @app.get("/static/<name>")
    def static_file(name: str) -> Response:
        return _send_file(name)

    @app.get(f"{studio.access.frames}/<name>")
    def frame_file(name: str) -> Response:
        if name == SCRIPT:
            response = Response(read_script(), mimetype="text/javascript")
        elif name in _FRAME_FILES:
            response = _send_file(name)
        else:
            raise NotFound
        connect = "http://127.0.0.1:*" if name == "people.html" else "'none'"
        response.headers["Content-Security-Policy"] = _FRAME_POLICY.format(origin=origin, connect=connect)
        response.headers["Cross-Origin-Resource-Policy"] = "cross-origin"  # a frame has no origin
        return response

    @app.get("/events")
    def events() -> Response:
        return Response(studio.events(), mimetype="text/event-stream")


def _send_file(name: str) -> Response:
    found = _static_files().get(name)
    if found is None:
        raise NotFound
    return Response(found, content_type=_MEDIA_TYPES[PurePosixPath(name).suffix])


@cache
def _static_files() -> dict[str, bytes]:
    folder = files("ldp_design.studio") / "static"
    return {
        each.name: each.read_bytes()
        for each in folder.iterdir()
        if PurePosixPath(each.name).suffix in _MEDIA_TYPES
    }


# -- the file and its draft ------------------------------------------------------------------------------


def _add_editing(app: Flask, studio: Studio) -> None:
    file = studio.file

    @app.get("/api/state")
    def state() -> dict[str, Any]:
        return studio.change(lambda: None)

    @app.get("/api/text")
    def text() -> dict[str, str]:
        return {"text": file.text}

    @app.post("/api/edit")
    def edit() -> dict[str, Any]:
        operations = _body()["operations"]
        return studio.change(lambda: file.change(apply_operations(file.text, operations)))

    @app.post("/api/text")
    def replace_text() -> dict[str, Any]:
        new = str(_body()["text"]).replace("\r\n", "\n")
        return studio.change(lambda: file.change(new))

    @app.post("/api/<step>")
    def step(step: str) -> dict[str, Any]:
        steps = {"undo": file.undo, "redo": file.redo, "save": file.save}
        if step not in steps:
            raise NotFound
        return studio.change(steps[step])

    @app.post("/api/resolve")
    def resolve() -> dict[str, Any]:
        keep = bool(_body()["mine"])
        with studio.lock:
            kept = file.resolve(keep_mine=keep)
        return studio.change(lambda: None) | {"kept": kept.name}

    @app.post("/api/new")
    def new() -> dict[str, Any]:
        body = _body()
        made = read_example() if body.get("example") else write_new(body["title"], body["languages"])
        studio.notes = []
        return studio.change(lambda: file.change(made))

    @app.post("/api/import")
    def import_() -> dict[str, Any]:
        languages = request.args.getlist("language")
        label = request.args.get("label") or None
        made, notes = import_file(request.args["name"], request.get_data(), label, languages)
        studio.notes = notes
        return studio.change(lambda: file.change(made))


# -- sizes -----------------------------------------------------------------------------------------------


def _add_sizes(app: Flask, studio: Studio) -> None:
    @app.get("/api/size")
    def size() -> dict[str, Any]:
        version, text = studio.version, studio.file.text
        return describe_size(compute_size(text)) | {"version": version}

    @app.get("/api/suggestions")
    def suggestions() -> Response:
        version, text = studio.version, studio.file.text
        found = find_suggestions(text, lambda: studio.version == version)
        return Response(_lines(studio, found), mimetype="application/x-ndjson")

    @app.get("/api/accuracy")
    def accuracy() -> Response:
        return Response(_lines(studio, _simulate(studio.file.text)), mimetype="application/x-ndjson")


def _lines(studio: Studio, items: Iterator[dict[str, Any]]) -> Iterator[str]:
    """Yield a line of JSON for each item, and one with a message for an expected error."""
    with studio.job():
        try:
            for each in items:
                yield json.dumps(each) + "\n"
        except EXPECTED_ERRORS as error:
            yield json.dumps({"message": describe_error(error)}) + "\n"


def _simulate(text: str) -> Iterator[dict[str, Any]]:
    """Yield the number of simulated surveys so far, and at the end the accuracies."""
    done, ended, outcome = 0, threading.Event(), []
    stopped = threading.Event()

    def advance(count: int) -> None:
        nonlocal done
        done += count
        if stopped.is_set():
            raise Cancelled

    def run() -> None:
        try:
            outcome.append(simulate_accuracy(text, advance))
        except (Cancelled, *EXPECTED_ERRORS) as error:
            outcome.append(error)
        ended.set()

    threading.Thread(target=run, daemon=True).start()
    try:
        while not ended.wait(0.5):
            yield {"done": done}
    finally:
        stopped.set()
    if isinstance(outcome[0], Exception):
        raise outcome[0]
    yield {"table": outcome[0]}


# -- the page, the trial, and what is published ----------------------------------------------------------


def _add_trial(app: Flask, studio: Studio) -> None:
    @app.get("/api/preview")
    def preview() -> dict[str, Any]:
        return describe_preview(studio.file.text)

    @app.post("/api/trial")
    def start() -> dict[str, Any]:
        studio.end_pilot()
        with studio.job():
            pilot = Pilot(studio.file.text)
            with studio.lock:
                studio.pilot = pilot
        return studio.change(lambda: None)

    @app.get("/api/trial/people")
    def people() -> dict[str, Any]:
        pilot = _require(studio.pilot)
        count = min(max(request.args.get("count", 100, int), 1), 1000)
        return describe_plan(pilot.plan, pilot.url) | {"people": make_people(pilot.plan, count)}

    @app.get("/api/trial/count")
    def count() -> dict[str, int]:
        return {"reports": _require(studio.pilot).count()}

    @app.post("/api/trial/results")
    def results() -> dict[str, Any]:
        with studio.job():
            studio.results = _require(studio.pilot).render_results()
        return studio.change(lambda: None)

    @app.get("/results")
    def results_page() -> Response:
        if not studio.results:
            raise NotFound
        return Response(
            studio.results, headers={"Content-Security-Policy": _RESULTS_POLICY}, mimetype="text/html"
        )

    @app.post("/api/trial/end")
    def end() -> dict[str, Any]:
        studio.end_pilot()
        return studio.change(lambda: None)


def _require(pilot: Pilot | None) -> Pilot:
    if pilot is None:
        raise PublishError("the trial has ended: start it again")
    return pilot


def _add_publishing(app: Flask, studio: Studio) -> None:
    def make() -> dict[str, bytes]:
        with studio.lock:
            if not studio.file.is_saved:
                raise PublishError("save the survey first, so that what you publish is what the file says")
            text, path = studio.file.text, studio.file.path
        compile_survey(text)
        facts = describe_text(text)["facts"]
        return make_files(path, facts, Choices.read(request.args))

    @app.post("/api/publish/zip")
    def publish_zip() -> Response:
        with studio.job():
            content = zip_files(make())
        return Response(content, mimetype="application/zip")

    @app.post("/api/publish/folder")
    def publish_folder() -> dict[str, str]:
        with studio.job():
            return {"folder": str(write_folder(studio.file.path, make()))}

    @app.post("/api/publish/sign")
    def sign() -> dict[str, Any]:
        if not studio.file.is_saved:
            raise PublishError("save the survey first: a signature is of the file's plan")
        signed = sign_survey(studio.file.path)
        return studio.change(lambda: None) | {"signed": signed}
