"""Prometheus metrics: whether reports can be counted, the surveys, and the collector's processes.

Prometheus keeps the history of every metric. Metrics therefore distinguish surveys, but not questions or
answers. Sizes are in whole MiB, because smaller changes could show to which question a report belongs.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import Future
from contextlib import suppress
from pathlib import Path

from prometheus_client import generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily, Metric
from prometheus_client.registry import Collector

from ldp_aggregator.collector.invitations import count_tokens
from ldp_aggregator.collector.serving.traffic import DURATIONS, Traffic
from ldp_aggregator.stores import Store, StoreError, StoreFailure
from ldp_aggregator.stores.schedule import Phase, Schedule, read_all_schedules
from ldp_aggregator.stores.store import count_reports

STORE_SECONDS = 3.0
"""How long a response waits for the store; Prometheus waits 10 s for a response by default."""
_MIB = 1 << 20


class StoreMetrics:
    """Reads the store in a separate thread; while it hangs, all responses wait for the same thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._reading = Reading()
        self._reading.done.set_result(None)

    def read(self, store: Store, check_ready: Callable[[], None]) -> Reading:
        """Return what could be read within STORE_SECONDS."""
        with self._lock:
            if self._reading.done.done():
                self._reading = Reading()
                threading.Thread(target=self._reading.run, args=(store, check_ready), daemon=True).start()
            reading = self._reading
        with suppress(TimeoutError):
            reading.done.result(STORE_SECONDS)
        return reading


class Reading:
    """What a thread has read from the store so far."""

    def __init__(self) -> None:
        self.failure: StoreFailure | None = StoreFailure.TIMEOUT
        self.metrics: list[Metric] = []
        self.done: Future[None] = Future()

    def run(self, store: Store, check_ready: Callable[[], None]) -> None:
        """Read; what was read before the store failed or hung is kept."""
        try:
            self.failure = _find_failure(check_ready)
            try:
                self.metrics = [*_survey_metrics(store), *_space_metrics(store.space())]
            except StoreError as error:
                self.failure = self.failure or error.reason
            self.done.set_result(None)
        except Exception as error:
            self.done.set_exception(error)


def _find_failure(check_ready: Callable[[], None]) -> StoreFailure | None:
    try:
        check_ready()
    except StoreError as error:
        return error.reason
    return None


def _survey_metrics(store: Store) -> list[Metric]:
    reports = CounterMetricFamily("ldp_reports", "Reports counted", labels=["survey"])
    rejections = CounterMetricFamily("ldp_rejections", "Reports rejected", labels=["survey", "reason"])
    tokens = GaugeMetricFamily("ldp_tokens", "Invitations made", labels=["survey"])
    phases = GaugeMetricFamily("ldp_survey_phase", "1 for the phase of a survey", labels=["survey", "phase"])
    schedules = read_all_schedules(store)
    now = time.time()
    for survey in store.plans():
        reports.add_metric([survey], count_reports(store.totals(survey)))
        for reason, count in store.rejections(survey).items():
            rejections.add_metric([survey, reason], count)
        tokens.add_metric([survey], count_tokens(store, survey))
        current = schedules.get(survey, Schedule()).phase(now)
        for phase in Phase:
            phases.add_metric([survey, phase], phase is current)
    return [reports, rejections, tokens, phases]


def _space_metrics(space: Mapping[str, int]) -> list[Metric]:
    return [_bytes(f"ldp_store_{name}_bytes", "Space of the store", size) for name, size in space.items()]


def _readiness_metrics(failure: StoreFailure | None) -> list[Metric]:
    ready = GaugeMetricFamily("ldp_ready", "Whether reports can be counted", failure is None)
    failures = GaugeMetricFamily("ldp_not_ready", "1 for the reason why not", labels=["reason"])
    for reason in StoreFailure:
        failures.add_metric([reason], reason is failure)
    return [ready, failures]


def _process_metrics(traffic: Traffic) -> list[Metric]:
    requests = CounterMetricFamily("ldp_requests", "Requests", labels=["route", "status"])
    for route, status, count in traffic.requests():
        if count or status >= 500:  # from zero on, so that the first error is an increase
            requests.add_metric([route, str(status or "other")], count)
    durations = HistogramMetricFamily("ldp_request_seconds", "Durations of requests", labels=["class"])
    for name, counts in traffic.durations():
        bounds = [str(bound).replace("inf", "+Inf") for bound in DURATIONS]
        durations.add_metric([name], list(zip(bounds, counts, strict=True)), None)
    processes = traffic.processes()
    return [
        requests,
        durations,
        CounterMetricFamily("ldp_worker_restarts", "Workers that ended unasked", traffic.restarts()),
        GaugeMetricFamily("ldp_workers", "Workers that handle requests", len(processes)),
        _bytes("ldp_memory_bytes", "Memory of all workers", sum(map(_resident_bytes, processes))),
        GaugeMetricFamily("ldp_time_seconds", "The clock of the collector", time.time()),
    ]


def _proxy_metrics(file: Path | None) -> list[Metric]:
    """Return the number of requests that the proxy has refused, which is the size of its file in bytes."""
    with suppress(OSError):
        if file is not None:
            size = file.stat().st_size
            return [
                CounterMetricFamily("ldp_proxy_refusals", "Requests that the proxy refused with 429", size)
            ]
    return []


def _bytes(name: str, what: str, size: int) -> Metric:
    return GaugeMetricFamily(name, f"{what}, in whole MiB", size // _MIB * _MIB)


def _resident_bytes(process: int) -> int:
    """Return the memory of a process; 0 if it has ended, or the system does not tell."""
    with suppress(OSError):
        return int(Path(f"/proc/{process}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    return 0


class _Families(Collector):
    """Hands metrics to prometheus_client."""

    def __init__(self, metrics: Iterable[Metric]) -> None:
        self._metrics = metrics

    def collect(self) -> Iterable[Metric]:
        return self._metrics


def render_metrics(reading: Reading, traffic: Traffic, proxy_refusals: Path | None) -> bytes:
    """Return the metrics of the collector in the text format of Prometheus."""
    metrics = [
        *_readiness_metrics(reading.failure),
        *reading.metrics,
        *_process_metrics(traffic),
        *_proxy_metrics(proxy_refusals),
    ]
    return generate_latest(_Families(metrics))
