"""The collector's log: one JSON object a line on stderr, with nothing about senders.

Only the events and fields passed to :func:`log_event` are written. Of a message from another library, which
might quote a request or an address, at most its place in the code is written. Times are truncated to the
hour: a finer one could be matched with a proxy's log.
"""

from __future__ import annotations

import json
import logging
import re
import sys
import threading
import traceback
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from time import monotonic
from typing import Any

log = logging.getLogger("ldp.collector")

REPEAT_SECONDS = 5.0
"""How long the same error is not logged again, and a store must not fail to be logged as back."""

_SERVER = logging.getLogger("gunicorn.error")
_GUNICORN_EVENTS = {
    r"WORKER TIMEOUT \(pid:(?P<pid>\d+)": "worker-timeout",
    r"Worker \(pid:(?P<pid>\d+)\) was sent (?P<signal>\w+)": "worker-killed",
    r"Worker \(pid:(?P<pid>\d+)\) exited with code (?P<code>\d+)": "worker-failed",
    r"Connection in use": "address-in-use",
    r"Invalid address": "address-invalid",
    r"Can't connect to": "bind-failed",
    r"connection to": None,  # said by one of the three as well
    r"Shutting down": None,  # logged by the server's hooks
    r"Reason: (?P<reason>[A-Za-z .]+)": "halted",
}
"""Messages of gunicorn that are logged: our event by a pattern whose groups are its fields."""


def log_event(event: str, level: int = logging.INFO, **fields: Any) -> None:
    """Write an event.

    Parameters
    ----------
    event : str
        A stable word; docs/monitoring.md lists them.
    level : int
        Of :mod:`logging`.
    fields : Any
        For JSON; never anything of a request but the survey's id and a reason.
    """
    log.log(level, event, extra={"fields": fields})


def log_unexpected_error(error: BaseException) -> None:
    """Write the kind and place of an error that should not have been: its message might quote a report."""
    kind = type(error).__name__
    place = _error_location(error)
    with _lock:
        now = monotonic()
        last = _last_logged.get((kind, place))
        due = last is None or now - last >= REPEAT_SECONDS
        if due:
            _last_logged[kind, place] = now
    if due:
        log_event("unexpected-error", logging.ERROR, kind=kind, place=place)


_lock = threading.Lock()
_last_logged: dict[tuple[str, str], float] = {}
"""When an error was last logged, by kind and place."""


class StoreOutage:
    """Tells once that the store is away and once that it is back, however many requests notice."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._failed_at: float | None = None

    def record_failure(self, error: Exception) -> None:
        """Note that the store could not be used."""
        with self._lock:
            first, self._failed_at = self._failed_at is None, monotonic()
        if first:
            log_event("store-unavailable", logging.ERROR, kind=error_kind(error))

    def record_success(self) -> None:
        """Note that the store was used."""
        if self._failed_at is None:
            return
        with self._lock:
            if self._failed_at is None or monotonic() - self._failed_at < REPEAT_SECONDS:
                return
            self._failed_at = None
        log_event("store-back")


def error_kind(error: BaseException) -> str:
    """Return what kind of error is behind one: the texts of other libraries may hold addresses."""
    return type(error.__cause__ or error).__name__


class JsonLinesHandler(logging.Handler):
    """Writes records as lines of JSON; without a `stream`, which gunicorn would hand to the application."""

    def emit(self, record: logging.LogRecord) -> None:
        """Write one record, if it may be and can be: a log may be lost, a service may not."""
        entry = _entry(record)
        if entry:
            now = datetime.now(UTC).strftime("%Y-%m-%dT%HZ")
            line = json.dumps({"hour": now, "level": record.levelname.lower(), **entry})
            with suppress(OSError, ValueError):  # a full disk, a terminal that is gone, a closed pipe
                sys.stderr.write(f"{line}\n")
                sys.stderr.flush()


def configure_logging() -> None:
    """Write all that this process and its workers have to say as lines of JSON."""
    lines = JsonLinesHandler()
    logging.captureWarnings(True)
    logging.raiseExceptions = False
    for logger in (logging.getLogger(), _SERVER):  # gunicorn keeps its own from the root
        logger.handlers = [lines]
    log.setLevel(logging.INFO)


def install_exception_hooks() -> None:
    """Write also what nobody caught that way; before anything is served, Python may say more."""
    sys.excepthook = lambda _, error, __: log_unexpected_error(error)
    threading.excepthook = lambda caught: log_unexpected_error(caught.exc_value or RuntimeError())
    sys.unraisablehook = lambda caught: log_unexpected_error(caught.exc_value or RuntimeError())


def _entry(record: logging.LogRecord) -> dict[str, Any] | None:
    """Return the fields of a record that may be logged; None if it is not logged."""
    if record.name == log.name:
        return {"event": record.msg, **getattr(record, "fields", {})}
    if record.name == _SERVER.name:
        for pattern, event in _GUNICORN_EVENTS.items():
            if found := re.match(pattern, record.getMessage()):
                return {"event": event, **_parse_numbers(found.groupdict())} if event else None
    if record.levelno < logging.ERROR:
        return None
    error = record.exc_info[1] if record.exc_info else None
    if error is None:
        return {"event": "unexpected-error", "place": _short_location(record.pathname, record.lineno)}
    return {"event": "unexpected-error", "kind": type(error).__name__, "place": _error_location(error)}


def _parse_numbers(fields: dict[str, str]) -> dict[str, str | int]:
    return {name: int(value) if value.isdecimal() else value for name, value in fields.items()}


def _error_location(error: BaseException) -> str:
    frames = traceback.extract_tb(error.__traceback__)
    return _short_location(frames[-1].filename, frames[-1].lineno or 0) if frames else "unknown"


def _short_location(path: str, line: int) -> str:
    return f"{Path(path).parent.name}/{Path(path).name}:{line}"
