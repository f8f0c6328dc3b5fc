"""Prometheus metrics: whether reports can be counted, the surveys, and the collector's processes.

Prometheus keeps the history of every metric. Metrics therefore distinguish surveys, but not questions or
answers. Sizes are in whole MiB, because smaller changes could show to which question a report belongs.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from datetime import UTC, datetime
from itertools import accumulate, product
from pathlib import Path
from types import SimpleNamespace

from prometheus_client import generate_latest
from prometheus_client.core import (
    CounterMetricFamily,
    GaugeMetricFamily,
    HistogramMetricFamily,
    InfoMetricFamily,
    Metric,
)

from encoders.build import find_build
from ldp_aggregator.collector.access_tokens import read_noted_tokens
from ldp_aggregator.collector.invitations import count_tokens
from ldp_aggregator.collector.serving.traffic import (
    DURATIONS,
    RESTARTS,
    ROUTE_CLASSES,
    ROUTES,
    STATUSES,
    Traffic,
)
from ldp_aggregator.stores import Store, StoreError, StoreFailure
from ldp_aggregator.stores.schedule import Phase, Schedule, read_all_schedules
from ldp_aggregator.stores.store import count_reports
from ldp_aggregator.stores.tombstone import read_deletion_dates

STORE_SECONDS = 3.0
"""How long a response waits for the store; Prometheus waits 10 s for a response by default."""
_MIB = 1 << 20


class StoreReader:
    """Reads the store in a separate thread; while it hangs, all responses wait for the same thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._thread: _ReadingThread | None = None

    def read(self, store: Store, check_ready: Callable[[], None]) -> list[Metric]:
        """Return the metrics of readiness and, if they can be read within STORE_SECONDS, of the store."""
        with self._lock:
            if self._thread is None or not self._thread.is_alive():
                self._thread = _ReadingThread(store, check_ready)
                self._thread.start()
            thread = self._thread
        thread.join(STORE_SECONDS)
        if thread.error:
            raise thread.error
        failure = thread.failure
        ready = GaugeMetricFamily("ldp_ready", "Whether reports can be counted", failure is None)
        failures = GaugeMetricFamily("ldp_not_ready", "1 for the reason why not", labels=["reason"])
        for reason in StoreFailure:
            failures.add_metric([reason], reason is failure)
        lost = GaugeMetricFamily("ldp_survey_lost", "1 if the store lost data of a survey", labels=["survey"])
        for survey in thread.lost:
            lost.add_metric([survey], 1)
        return [ready, failures, lost, *thread.metrics]


class _ReadingThread(threading.Thread):
    """What was read from the store so far."""

    def __init__(self, store: Store, check_ready: Callable[[], None]) -> None:
        super().__init__(daemon=True)
        self._store, self._check_ready = store, check_ready
        self.failure: StoreFailure | None = StoreFailure.TIMEOUT
        self.lost: tuple[str, ...] = ()
        self.metrics: list[Metric] = []
        self.error: Exception | None = None

    def run(self) -> None:
        try:
            try:
                self._check_ready()
                self.failure = None
            except StoreError as error:
                self.failure, self.lost = error.reason, error.surveys
            space = self._store.space().items()
            sizes = [_bytes(f"ldp_store_{name}_bytes", "Space of the store", size) for name, size in space]
            self.metrics = [*_survey_metrics(self._store), *sizes]
        except StoreError as error:
            self.failure = self.failure or error.reason
        except Exception as error:
            self.error = error


def _survey_metrics(store: Store) -> list[Metric]:
    reports = CounterMetricFamily("ldp_reports", "Reports counted", labels=["survey"])
    rejections = CounterMetricFamily("ldp_rejections", "Reports rejected", labels=["survey", "reason"])
    tokens = GaugeMetricFamily("ldp_tokens", "Invitations made", labels=["survey"])
    phases = GaugeMetricFamily("ldp_survey_phase", "1 for the phase of a survey", labels=["survey", "phase"])
    schedules = read_all_schedules(store)
    now = time.time()
    for survey in store.plans():
        schedule = schedules.get(survey, Schedule())
        reports.add_metric([survey], count_reports(schedule.correct(store.totals(survey))))
        for reason, count in store.rejections(survey).items():
            rejections.add_metric([survey, reason], count)
        tokens.add_metric([survey], count_tokens(store, survey))
        current = schedule.phase(now)
        for phase in Phase:
            phases.add_metric([survey, phase], phase is current)
    return [reports, rejections, tokens, phases, *_read_dates(store)]


def _read_dates(store: Store) -> Iterator[Metric]:
    """Yield when each survey is to be deleted, and when each token expires, unless there is no date."""
    tokens = {each.name: each.expires for each in read_noted_tokens(store) if each.expires}
    for name, text, label, days in (
        ("ldp_deletion_due", "Start of the day in about.retention", "survey", read_deletion_dates(store)),
        ("ldp_token_expiry", "Start of the day on which a token expires", "token", tokens),
    ):
        times = GaugeMetricFamily(f"{name}_timestamp_seconds", text, labels=[label])
        for key, day in days.items():
            times.add_metric([key], datetime.combine(day, datetime.min.time(), UTC).timestamp())
        yield times


def _process_metrics(traffic: Traffic) -> list[Metric]:
    totals, processes = traffic.totals(), traffic.processes()
    requests = CounterMetricFamily("ldp_requests", "Requests", labels=["route", "status"])
    for route, status in product(ROUTES, STATUSES):
        if totals[route, status] or status[0] == "5":  # errors from zero on: the first one is an increase
            requests.add_metric([route, status], totals[route, status])
    durations = HistogramMetricFamily("ldp_request_seconds", "Durations of requests", labels=["class"])
    for name in ROUTE_CLASSES:
        counts = accumulate(totals[name, bound] for bound in DURATIONS)
        bounds = [str(bound).replace("inf", "+Inf") for bound in DURATIONS]
        durations.add_metric([name], list(zip(bounds, counts, strict=True)), None)
    return [
        requests,
        durations,
        CounterMetricFamily("ldp_worker_restarts", "Workers that ended unasked", totals[RESTARTS]),
        GaugeMetricFamily("ldp_workers", "Workers that handle requests", len(processes)),
        _bytes("ldp_memory_bytes", "Memory of all workers", sum(map(_resident_bytes, processes))),
        GaugeMetricFamily("ldp_time_seconds", "The clock of the collector", time.time()),
    ]


def _bytes(name: str, what: str, size: int) -> Metric:
    return GaugeMetricFamily(name, f"{what}, in whole MiB", size // _MIB * _MIB)


def _resident_bytes(process: int) -> int:
    """Return the memory of a process; 0 if it has ended, or the system does not tell."""
    with suppress(OSError):
        return int(Path(f"/proc/{process}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    return 0


def render_metrics(of_store: Iterable[Metric], traffic: Traffic, proxy_refusals: Path | None) -> bytes:
    """Return the metrics of the collector in the text format of Prometheus."""
    build = InfoMetricFamily("ldp_build", "The build that runs", value=vars(find_build()))
    metrics = [build, *of_store, *_process_metrics(traffic)]
    with suppress(OSError):
        if proxy_refusals:  # its size in bytes is the number of requests
            what, size = "Requests refused by the proxy", proxy_refusals.stat().st_size
            metrics.append(CounterMetricFamily("ldp_proxy_refusals", what, size))
    return generate_latest(SimpleNamespace(collect=lambda: metrics))
