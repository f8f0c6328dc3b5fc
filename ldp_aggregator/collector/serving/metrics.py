"""Prometheus metrics of the surveys, from the store, so that every worker returns the same."""

from __future__ import annotations

import time
from collections.abc import Iterator
from datetime import UTC, datetime

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from ldp_aggregator.collector.access_tokens import read_noted_tokens
from ldp_aggregator.collector.invitations import count_tokens
from ldp_aggregator.stores import Store, StoreError
from ldp_aggregator.stores.retention import read_deletion_dates
from ldp_aggregator.stores.schedule import Phase, Schedule, read_all_schedules
from ldp_aggregator.stores.store import count_reports


class _SurveyCollector(Collector):
    """Reads the counters at each scrape; `ldp_store_up` is 0 if the store cannot be used."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def collect(self) -> Iterator[Metric]:
        up = GaugeMetricFamily("ldp_store_up", "Whether the store can be read")
        try:
            metrics = self._read_metrics()
        except StoreError:
            metrics = []
        up.add_metric([], bool(metrics))
        yield up
        yield from metrics

    def _read_metrics(self) -> list[Metric]:
        store = self._store
        reports = CounterMetricFamily("ldp_reports", "Reports counted", labels=["survey"])
        rejections = CounterMetricFamily("ldp_rejections", "Reports rejected", labels=["survey", "reason"])
        tokens = GaugeMetricFamily("ldp_tokens", "Invitations made", labels=["survey"])
        phases = GaugeMetricFamily(
            "ldp_survey_phase", "1 for the phase of a survey", labels=["survey", "phase"]
        )
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


def render_metrics(store: Store) -> bytes:
    """Return the metrics of the collector in the text format of Prometheus."""
    registry = CollectorRegistry()
    registry.register(_SurveyCollector(store))
    return generate_latest(registry)
