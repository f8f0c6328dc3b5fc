"""Counts requests by route, status and duration, for all workers of a collector together.

The counts are in memory that the master makes before it starts workers. No file holds them, and they vanish
with the last process. Each worker adds to one row, which no other process writes. A worker that is killed
leaves its counts to the worker that takes its row next, so counts never go back.

Only counts are kept, without surveys, addresses or times. There is no sum of durations: two readings around
one request would show its exact duration.
"""

from __future__ import annotations

import mmap
import os
import threading
from bisect import bisect_left
from collections.abc import Iterable, Iterator
from itertools import accumulate
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
STATUSES = (200, 204, 304, 400, 401, 403, 404, 405, 409, 410, 411, 413, 415, 429, 500, 503, 0)
"""The statuses that are counted; 0 stands for every other."""
DURATIONS = (0.005, 0.025, 0.1, 0.5, 1.0, 5.0, float("inf"))
"""The longest duration of each bucket, in seconds."""

_PAIRS = [(name, route) for name, routes in ROUTE_CLASSES.items() for route in routes.split()]
_STATUS_COLUMNS = {
    route: {status: place * len(STATUSES) + column for column, status in enumerate(STATUSES)}
    for place, (_, route) in enumerate(_PAIRS)
}
_BUCKET_COLUMNS = {
    name: len(_PAIRS) * len(STATUSES) + place * len(DURATIONS) for place, name in enumerate(ROUTE_CLASSES)
}
_RESTARTS = len(_PAIRS) * len(STATUSES) + len(ROUTE_CLASSES) * len(DURATIONS)
_PROCESS = _RESTARTS + 1
_COLUMN_COUNT = _PROCESS + 1
_COLUMNS_BY_ROUTE = {route: (_STATUS_COLUMNS[route], _BUCKET_COLUMNS[name]) for name, route in _PAIRS}


class Traffic:
    """The counts of the processes of one collector.

    Parameters
    ----------
    rows : int
        Number of processes that can count at the same time.
    """

    def __init__(self, rows: int = 1) -> None:
        memory = mmap.mmap(-1, rows * _COLUMN_COUNT * 8)  # forked processes share it
        self._rows = np.frombuffer(memory, np.int64).reshape(rows, _COLUMN_COUNT)
        self._free_rows = list(range(1, rows))
        self._row = memoryview(self._rows[0])
        self._lock = threading.Lock()

    def take_row(self) -> int:
        """Return a row for a new worker. Call this in the master."""
        return self._free_rows.pop() if self._free_rows else 0

    def release_row(self, row: int, *, restart: bool) -> None:
        """Free the row of a worker that has ended; count a restart if it was not asked to end."""
        self._rows[row, _PROCESS] = 0
        self._rows[row, _RESTARTS] += restart
        if row:
            self._free_rows.append(row)

    def use_row(self, shared: Traffic, row: int) -> None:
        """Count in a row of the master's memory from now on. Call this in the worker."""
        self._rows, self._row = shared._rows, memoryview(shared._rows[row])
        self._row[_PROCESS] = os.getpid()

    def add(self, route: str, status: int, seconds: float) -> None:
        """Count one request."""
        columns, buckets = _COLUMNS_BY_ROUTE.get(route) or _COLUMNS_BY_ROUTE["unknown"]
        with self._lock:
            self._row[columns.get(status, columns[0])] += 1
            self._row[buckets + bisect_left(DURATIONS, seconds)] += 1

    def requests(self) -> Iterator[tuple[str, int, int]]:
        """Yield route, status and number of requests."""
        totals = self._rows.sum(axis=0)
        for route, columns in _STATUS_COLUMNS.items():
            yield from ((route, status, int(totals[column])) for status, column in columns.items())

    def durations(self) -> Iterator[tuple[str, list[int]]]:
        """Yield each class of routes with its numbers of requests that took at most each of DURATIONS."""
        totals = self._rows.sum(axis=0)
        for name, first in _BUCKET_COLUMNS.items():
            yield name, list(accumulate(totals[first : first + len(DURATIONS)].tolist()))

    def restarts(self) -> int:
        """Return the number of workers that ended without being asked to."""
        return int(self._rows[:, _RESTARTS].sum())

    def processes(self) -> list[int]:
        """Return the process ids of the workers that handle requests."""
        return [process for process in self._rows[:, _PROCESS].tolist() if process]


def count_requests(app: Flask, traffic: Traffic) -> None:
    """Count every request of an application."""
    respond = app.wsgi_app

    def respond_and_count(environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        begin = perf_counter()

        def start(status: str, *rest: Any) -> Any:
            endpoint = environ["werkzeug.request"].endpoint or ""  # a hook of Flask would cost more
            traffic.add(endpoint.rpartition(".")[2], int(status[:3]), perf_counter() - begin)
            return start_response(status, *rest)

        return respond(environ, start)

    app.wsgi_app = respond_and_count  # type: ignore[method-assign]
