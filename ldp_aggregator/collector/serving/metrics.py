"""Prometheus metrics of the collector, by survey, not by question or answer: Prometheus keeps a history."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from datetime import UTC, date, datetime
from functools import partial
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
from encoders.proxies import count_refusals
from ldp_aggregator.collector.serving.traffic import (
    DURATIONS,
    RESTARTS,
    ROUTE_CLASSES,
    ROUTES,
    STATUSES,
    Traffic,
)
from ldp_aggregator.collector.settings import CollectorSettings
from ldp_aggregator.collector.shared_results import SharedCall
from ldp_aggregator.stores import Store, StoreError, StoreFailure
from ldp_aggregator.stores.operator_log import DELETED, find_last_backup, read_deletion_dates
from ldp_aggregator.stores.schedule import Phase, Schedule, read_all_schedules
from ldp_aggregator.stores.store import count_reports, token_namespace

STORE_SECONDS = 3.0
"""How long a response waits for the store; Prometheus waits 10 s for a response by default."""
_MIB = 1 << 20
_Attempt = tuple[list[Metric], StoreError | None]


class StoreReader:
    """Reads the store in separate threads; while it hangs, all responses wait for the same call."""

    def __init__(self) -> None:
        self._readiness, self._metrics = (SharedCall[_Attempt](STORE_SECONDS) for _ in range(2))

    def read(self, store: Store, check_ready: Callable[[], None]) -> list[Metric]:
        metrics: list[Metric] = []
        error: StoreError | None = StoreError("", StoreFailure.TIMEOUT)
        with suppress(TimeoutError):
            _, error = self._readiness.result(partial(_attempt, check_ready))
            metrics, other = self._metrics.result(partial(_attempt, partial(_read_store, store)))
            error = error or other
        failure = error.reason if error else None
        ready = GaugeMetricFamily("ldp_ready", "Whether reports can be counted", failure is None)
        failures = GaugeMetricFamily("ldp_not_ready", "1 for the reason why not", labels=["reason"])
        for reason in StoreFailure:
            failures.add_metric([reason], reason is failure)
        lost = GaugeMetricFamily("ldp_survey_lost", "1 if the store lost data of a survey", labels=["survey"])
        for survey in error.surveys if error else ():
            lost.add_metric([survey], 1)
        return [ready, failures, lost, *metrics]


def _attempt(read: Callable[[], list[Metric] | None]) -> _Attempt:
    try:
        return read() or [], None
    except StoreError as error:
        return [], error


def _read_store(store: Store) -> list[Metric]:
    reports = CounterMetricFamily("ldp_reports", "Reports counted", labels=["survey"])
    rejections = CounterMetricFamily("ldp_rejections", "Reports rejected", labels=["survey", "reason"])
    tokens = GaugeMetricFamily("ldp_tokens", "Invitations made", labels=["survey"])
    phases = GaugeMetricFamily("ldp_survey_phase", "1 for the phase of a survey", labels=["survey", "phase"])
    schedules = read_all_schedules(store)
    now = time.time()
    plans, totals = store.plans(), store.all_totals()
    refused = {survey: store.rejections(survey) for survey in plans}
    deleted = store.notes(DELETED)  # read last: a deletion meanwhile must not look like a loss of reports
    for survey in plans.keys() - deleted.keys():
        schedule = schedules.get(survey, Schedule())
        reports.add_metric([survey], count_reports(schedule.correct(totals.get(survey, {}))))
        for reason, count in refused[survey].items():
            rejections.add_metric([survey, reason], count)
        tokens.add_metric([survey], count_reports(totals.get(token_namespace(survey), {})))
        current = schedule.phase(now)
        for phase in Phase:
            phases.add_metric([survey, phase], phase is current)
    days = read_deletion_dates(store)
    due = _dates("ldp_deletion_due", "Start of the day in about.retention", "survey", days)
    backup = GaugeMetricFamily("ldp_last_backup_timestamp_seconds", "Time of the last backup")
    if (last := find_last_backup(store)) is not None:
        backup.add_metric([], last)
    space = [
        _bytes(f"ldp_store_{name}_bytes", "Space of the store", size) for name, size in store.space().items()
    ]
    return [reports, rejections, tokens, phases, due, backup, *space]


def _dates(name: str, what: str, label: str, days: Mapping[str, date | None]) -> Metric:
    times = GaugeMetricFamily(f"{name}_timestamp_seconds", what, labels=[label])
    for key, day in days.items():
        if day:
            times.add_metric([key], datetime.combine(day, datetime.min.time(), UTC).timestamp())
    return times


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
    with suppress(OSError):
        return int(Path(f"/proc/{process}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    return 0


def render_metrics(of_store: Iterable[Metric], traffic: Traffic, settings: CollectorSettings) -> bytes:
    build = InfoMetricFamily("ldp_build", "The build that runs", value=vars(find_build()))
    expiry = {each.name: each.expires for each in settings.tokens}
    tokens = _dates("ldp_token_expiry", "Start of the day on which a token expires", "token", expiry)
    metrics = [build, *of_store, *_process_metrics(traffic), tokens]
    if (refusals := count_refusals(settings.proxy_refusals)) is not None:
        metrics.append(CounterMetricFamily("ldp_proxy_refusals", "Requests refused by the proxy", refusals))
    return generate_latest(SimpleNamespace(collect=lambda: metrics))
