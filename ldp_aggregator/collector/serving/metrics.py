"""Prometheus metrics of the surveys, from the store, so that every worker says the same."""

from __future__ import annotations

import time
from collections.abc import Iterator

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from ldp_aggregator.collector.invitations import created
from ldp_aggregator.stores import Store, StoreError
from ldp_aggregator.stores.schedule import Phase, Schedule, read_all_schedules


class _Surveys(Collector):
    """Reads the counters when asked; a store that is away is a metric too."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def collect(self) -> Iterator[Metric]:
        up = GaugeMetricFamily("ldp_store_up", "Whether the store answers")
        try:
            found = self._surveys()
        except StoreError:
            found = []
        up.add_metric([], bool(found))
        yield up
        yield from found

    def _surveys(self) -> list[Metric]:
        store = self._store
        reports = CounterMetricFamily("ldp_reports", "Reports counted", labels=["survey"])
        rejections = CounterMetricFamily("ldp_rejections", "Reports rejected", labels=["survey", "reason"])
        tokens = GaugeMetricFamily("ldp_tokens", "Invitations made", labels=["survey"])
        phases = GaugeMetricFamily(
            "ldp_survey_phase", "1 for where a survey stands", labels=["survey", "phase"]
        )
        windows, now = read_all_schedules(store), time.time()
        for survey in store.plans():
            reports.add_metric([survey], sum(total.n for total in store.totals(survey).values()))
            for reason, count in store.rejections(survey).items():
                rejections.add_metric([survey, reason], count)
            tokens.add_metric([survey], created(store, survey))
            stands = windows.get(survey, Schedule()).phase(now)
            for phase in Phase:
                phases.add_metric([survey, phase], phase is stands)
        return [reports, rejections, tokens, phases]


def render_metrics(store: Store) -> bytes:
    """Return the metrics page."""
    registry = CollectorRegistry()
    registry.register(_Surveys(store))
    return generate_latest(registry)
