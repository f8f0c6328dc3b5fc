"""One run of the studio: the file, the trial, and who is looking at them."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from encoders.errors import LdpError
from ldp_design.studio.checked import describe_text
from ldp_design.studio.pilot import Pilot
from ldp_design.studio.publish import describe_keys
from ldp_design.studio.workfile import WorkFile

_LOOK_SECONDS, _PING_SECONDS = 1.0, 5.0


class SessionError(LdpError):
    """Something that is needed first: a trial, or a saved survey without mistakes."""


class Session:
    """What the requests share; `lock` guards it. `version` grows with each change."""

    def __init__(self, file: WorkFile) -> None:
        self.file, self.lock, self.ended = file, threading.RLock(), threading.Event()
        self.version, self.results, self.frames = 0, b"", ""
        self.notes: list[str] = []
        self.is_published = False
        self._pilot: Pilot | None = None
        self._running, self._last_seen = 0, 0.0

    @contextmanager
    def running(self) -> Iterator[None]:
        """Return a context of a job or of a page that is open: the studio does not end meanwhile."""
        with self.lock:
            self._running += 1
        try:
            yield
        finally:
            with self.lock:
                self._running, self._last_seen = self._running - 1, time.monotonic()

    def idle_seconds(self) -> float:
        """Return for how long no page has been open and nothing has run; 0 before the first page."""
        with self.lock:
            return 0.0 if self._running or not self._last_seen else time.monotonic() - self._last_seen

    def change(self, run: Callable[[], object] = lambda: None) -> dict[str, Any]:
        """Change something, and return what the page shows."""
        with self.lock:
            run()
            self.version += 1
            return self.describe()

    def describe(self) -> dict[str, Any]:
        """Return what the page shows of the file."""
        with self.lock:
            file, pilot = self.file, self._pilot
            state = describe_text(file.text) | file.can_move
            return state | {
                "version": self.version,
                "edition": hash(file.text),  # saving and trials leave it
                "name": file.path.name,
                "path": str(file.path),
                "exists": file.saved is not None,
                "saved": file.is_saved,
                "conflict": file.conflict is not None,
                "kept": file.kept,
                "notice": file.notice,
                "draftProblem": file.problem,
                "notes": self.notes,
                "frames": self.frames,
                "keys": (keys := describe_keys(file.path, file.text)),
                "published": self.is_published or bool(keys["key"]),
                "trial": pilot and {"page": pilot.page, "results": hash(self.results)},  # 0 without results
                "isTrialOld": pilot is not None and pilot.source != file.text,
            }

    def published(self) -> tuple[Path, dict[str, Any]]:
        """Return the file and facts about its plan; raises SessionError if it cannot be published yet."""
        if not self.file.is_saved:
            raise SessionError("save the survey first, so that what you publish is what the file says")
        found = describe_text(self.file.text)
        if any(each["severity"] == "error" for each in found["problems"]):
            raise SessionError("correct the mistakes in the survey first")
        return self.file.path, found["facts"]

    def events(self) -> Iterator[str]:
        """Yield a line for each change of the file, and to find out whether the page is still there."""
        with self.running():
            seen, pinged = -1, 0.0
            while not self.ended.is_set():
                with self.lock, suppress(LdpError):  # the next save tells why the file cannot be read
                    self.version += self.file.look()
                if self.version != seen or time.monotonic() - pinged > _PING_SECONDS:
                    seen, pinged = self.version, time.monotonic()
                    yield f"data: {seen}\n\n"
                self.ended.wait(_LOOK_SECONDS)

    @property
    def pilot(self) -> Pilot:
        """The running trial; raises SessionError if there is none."""
        if self._pilot is None:
            raise SessionError("the trial has ended: start it again")
        return self._pilot

    def count_reports(self) -> int:
        """Return how many reports the trial has counted; 0 without a trial."""
        with suppress(OSError, SessionError):  # it is ending
            return self.pilot.count()
        return 0

    def render_results(self, language: str) -> None:
        """Compute the results of the trial; raises SessionError or CommandError."""
        self.results = self.pilot.render_results(language)

    def start_pilot(self) -> None:
        """Start a trial in place of the former one; raises SurveyError or CommandError."""
        self.end_pilot()
        self._pilot = Pilot(self.file.text)

    def end_pilot(self) -> None:
        """End the trial, if there is one."""
        with self.lock:
            pilot, self._pilot, self.results = self._pilot, None, b""
        if pilot:
            pilot.end()
