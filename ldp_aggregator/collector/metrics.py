"""Prometheus metrics of the surveys, from the store."""

from __future__ import annotations

from collections.abc import Iterator

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import CounterMetricFamily, Metric
from prometheus_client.registry import Collector

from ldp_aggregator.stores import Store


class _Surveys(Collector):
    """Reads the counters when asked."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def collect(self) -> Iterator[Metric]:
        reports = CounterMetricFamily("ldp_reports", "Reports counted", labels=["survey"])
        rejections = CounterMetricFamily("ldp_rejections", "Reports rejected", labels=["survey", "reason"])
        for survey in self._store.plans():
            reports.add_metric([survey], sum(total.n for total in self._store.totals(survey).values()))
            for reason, count in self._store.rejections(survey).items():
                rejections.add_metric([survey, reason], count)
        yield reports
        yield rejections


def render_metrics(store: Store) -> bytes:
    """Return the metrics page."""
    registry = CollectorRegistry()
    registry.register(_Surveys(store))
    return generate_latest(registry)
