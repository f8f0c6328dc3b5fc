"""The collector's log: one JSON object per line on stderr, with nothing about senders.

It contains the events and fields passed to :func:`log_event`. Messages of other libraries might quote a
request or an address, so at most their place in the code is written. Times are truncated to the hour: exact
times could be matched with a proxy's log.
"""

from __future__ import annotations

import json
import logging
import os
import re
import sys
import threading
import traceback
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from time import monotonic
from typing import Any

from ldp_aggregator.stores.failure import StoreError, StoreFailure

log = logging.getLogger("ldp.collector")

REPEAT_SECONDS = 5.0
"""How long the same error is not logged again, and how long a store must not fail before "store-back"."""

_SERVER = logging.getLogger("gunicorn.error")
_GUNICORN_EVENTS = {
    r"WORKER TIMEOUT \(pid:(?P<pid>\d+)": "worker-timeout",
    r"Worker \(pid:(?P<pid>\d+)\) was sent (?P<signal>\w+)": "worker-killed",
    r"Worker \(pid:(?P<pid>\d+)\) exited with code (?P<code>\d+)": "worker-failed",
    r"Connection in use": "address-in-use",
    r"Invalid address": "address-invalid",
    r"Can't connect to": "bind-failed",
    r"connection to": None,  # one of the three above reports the same
    r"Shutting down": None,  # logged by the server's hooks
    r"Reason: (?P<reason>[A-Za-z .]+)": "halted",
}
"""Our event for each message of gunicorn that is logged, by a pattern whose groups are its fields."""


def log_event(event: str, level: int = logging.INFO, **fields: Any) -> None:
    """Write an event of docs/monitoring.md; fields from a request are the survey's id and a reason only."""
    log.log(level, event, extra={"fields": fields})


def log_unexpected_error(error: BaseException) -> None:
    """Log the kind and place of an unexpected error, without its message, which might quote a report."""
    kind = type(error).__name__
    place = _error_location(error)
    with _lock:
        now = monotonic()
        if now - _last_logged.get((kind, place), -REPEAT_SECONDS) < REPEAT_SECONDS:
            return
        _last_logged[kind, place] = now
    log_event("unexpected-error", logging.ERROR, kind=kind, place=place)


_lock = threading.Lock()
_last_logged: dict[tuple[str, str], float] = {}
"""Time of the last log entry of an error, by kind and place."""


class StoreOutage:
    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._failed_at: float | None = None
        self._reasons: set[tuple[StoreFailure, tuple[str, ...]]] = set()

    def record_failure(self, error: StoreError) -> None:
        with self._lock:
            self._failed_at = monotonic()
            reason = (error.reason, error.surveys)
            first = reason not in self._reasons
            self._reasons.add(reason)
        if first:
            log_store_unavailable(error)

    def record_success(self) -> None:
        if self._failed_at is None:
            return
        with self._lock:
            if self._failed_at is None or monotonic() - self._failed_at < REPEAT_SECONDS:
                return
            self._failed_at = None
            self._reasons.clear()
        log_event("store-back", pid=os.getpid())


def log_store_unavailable(error: StoreError) -> None:
    fields = {"surveys": error.surveys} if error.surveys else {}
    kind = error_kind(error)
    log_event("store-unavailable", logging.ERROR, reason=error.reason, kind=kind, pid=os.getpid(), **fields)


def error_kind(error: BaseException) -> str:
    """Return the kind of an error's cause; messages of other libraries may hold addresses."""
    return type(error.__cause__ or error).__name__


class JsonLinesHandler(logging.Handler):
    def emit(self, record: logging.LogRecord) -> None:
        """Write one record if it may be logged; if writing fails, drop it and keep serving."""
        entry = _entry(record)
        if entry:
            now = datetime.now(UTC).strftime("%Y-%m-%dT%HZ")
            line = json.dumps({"hour": now, "level": record.levelname.lower(), **entry})
            with suppress(OSError, ValueError):  # a full disk, a closed terminal, a closed pipe
                sys.stderr.write(f"{line}\n")
                sys.stderr.flush()


def configure_logging() -> None:
    lines = JsonLinesHandler()
    logging.captureWarnings(True)
    logging.raiseExceptions = False
    for logger in (logging.getLogger(), _SERVER):  # gunicorn's does not propagate to the root
        logger.handlers = [lines]
    log.setLevel(logging.INFO)


def install_exception_hooks() -> None:
    sys.excepthook = lambda _, error, __: log_unexpected_error(error)
    threading.excepthook = lambda caught: log_unexpected_error(caught.exc_value or RuntimeError())
    sys.unraisablehook = lambda caught: log_unexpected_error(caught.exc_value or RuntimeError())


def _entry(record: logging.LogRecord) -> dict[str, Any] | None:
    if record.name == log.name:
        return {"event": record.msg, **getattr(record, "fields", {})}
    if record.name == _SERVER.name:
        for pattern, event in _GUNICORN_EVENTS.items():
            if found := re.match(pattern, record.getMessage()):
                fields = {k: int(v) if v.isdecimal() else v for k, v in found.groupdict().items()}
                return {"event": event, **fields} if event else None
    if record.levelno < logging.ERROR:
        return None
    error = record.exc_info[1] if record.exc_info else None
    if error is None:
        return {"event": "unexpected-error", "place": _short_location(record.pathname, record.lineno)}
    return {"event": "unexpected-error", "kind": type(error).__name__, "place": _error_location(error)}


def _error_location(error: BaseException) -> str:
    frames = traceback.extract_tb(error.__traceback__)
    return _short_location(frames[-1].filename, frames[-1].lineno or 0) if frames else "unknown"


def _short_location(path: str, line: int) -> str:
    return f"{Path(path).parent.name}/{Path(path).name}:{line}"
