"""Counts requests by route, status and duration, for all workers of a collector together.

The master makes the memory of the counts before it starts workers; no file holds them. Each worker adds to a
row that no other process writes, and leaves it to the next one. There is no sum of durations: two readings
around one request would show its exact duration.
"""

from __future__ import annotations

import mmap
import os
import threading
from bisect import bisect_left
from collections.abc import Iterable
from time import perf_counter
from typing import TYPE_CHECKING, Any

import numpy as np
from flask import Flask

if TYPE_CHECKING:
    from _typeshed.wsgi import StartResponse, WSGIEnvironment

ROUTE_CLASSES = {
    "reports": "reports sealed",
    "plans": "surveys plan texts signature openapi form_page script "
    "plan_preflight texts_preflight signature_preflight reports_preflight",
    "operator": "snapshot estimates estimates_table progress progress_page metrics root asset",
    "probes": "livez readyz",
    "unknown": "unknown",
}
"""The names of the views, by the class whose durations are counted together."""
ROUTES = {route: name for name, routes in ROUTE_CLASSES.items() for route in routes.split()}
_NUMBERS = (200, 204, 304, 400, 401, 403, 404, 405, 409, 410, 411, 413, 415, 429, 500, 503)
STATUSES = (*map(str, _NUMBERS), "other")
DURATIONS = (0.005, 0.025, 0.1, 0.5, 1.0, 5.0, float("inf"))
"""The longest duration of each bucket, in seconds."""
RESTARTS, _PROCESS = ("workers", "restarts"), ("workers", "process")
_KEYS: list[tuple[str, str | float]] = [(route, status) for route in ROUTES for status in STATUSES]
_KEYS += [(name, bound) for name in ROUTE_CLASSES for bound in DURATIONS]
_COLUMNS = {key: column for column, key in enumerate([*_KEYS, RESTARTS, _PROCESS])}


class Traffic:
    """The counts of the processes of one collector; `rows` processes can count at the same time."""

    def __init__(self, rows: int = 1) -> None:
        memory = mmap.mmap(-1, rows * len(_COLUMNS) * 8)  # forked processes share it
        self._rows = np.frombuffer(memory, np.int64).reshape(rows, len(_COLUMNS))
        self._free_rows = list(range(1, rows))
        self._row = memoryview(self._rows[0])
        self._lock = threading.Lock()

    def take_row(self) -> int:
        return self._free_rows.pop() if self._free_rows else 0

    def release_row(self, row: int, *, restart: bool) -> None:
        """Free the row of a worker that has ended; count a restart if it was not asked to end."""
        self._rows[row, _COLUMNS[_PROCESS]] = 0
        self._rows[row, _COLUMNS[RESTARTS]] += restart
        self._free_rows += [row] if row else []

    def use_row(self, shared: Traffic, row: int) -> None:
        """Count in a row of the master's memory from now on. Call this in the worker."""
        self._rows, self._row = shared._rows, memoryview(shared._rows[row])
        self._row[_COLUMNS[_PROCESS]] = os.getpid()

    def add(self, route: str, status: str, seconds: float) -> None:
        route = route if route in ROUTES else "unknown"
        column = _COLUMNS.get((route, status), _COLUMNS[route, "other"])
        bucket = _COLUMNS[ROUTES[route], DURATIONS[bisect_left(DURATIONS, seconds)]]
        with self._lock:
            self._row[column] += 1
            self._row[bucket] += 1

    def totals(self) -> dict[tuple[str, str | float], int]:
        return dict(zip(_COLUMNS, self._rows.sum(axis=0).tolist(), strict=True))

    def processes(self) -> list[int]:
        return [process for process in self._rows[:, _COLUMNS[_PROCESS]].tolist() if process]


def count_requests(app: Flask, traffic: Traffic) -> None:
    respond = app.wsgi_app

    def respond_and_count(environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        begin = perf_counter()

        def start(status: str, *rest: Any) -> Any:
            endpoint = environ["werkzeug.request"].endpoint or ""  # a hook of Flask would cost more
            traffic.add(endpoint.rpartition(".")[2], status[:3], perf_counter() - begin)
            return start_response(status, *rest)

        return respond(environ, start)

    app.wsgi_app = respond_and_count  # type: ignore[method-assign]
