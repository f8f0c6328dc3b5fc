"""Prometheus metrics of a relay: the counts of `ldp-relay status`, and no finer.

Prometheus keeps the history of each metric. Numbers that change with each person are therefore read once an
hour, and the time of a delivery is its hour: no history shows when somebody sent a message.
"""

from __future__ import annotations

from collections.abc import Iterator
from time import time

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from encoders.proxies import count_refusals
from encoders.survey.unsealing import breaks_promise
from ldp_relay.held_messages import DELIVERED, FAILED, LAST_DELIVERY, HeldMessages, Outcome
from ldp_relay.relay_database import FAILURES
from ldp_relay.relay_settings import RelayedSurvey, RelaySettings
from ldp_relay.release import HOUR_SECONDS

_GAUGE, _COUNTER = GaugeMetricFamily, CounterMetricFamily
_METRICS: dict[str, tuple[type[GaugeMetricFamily | CounterMetricFamily], str, list[str]]] = {
    "waiting": (_GAUGE, "Messages that wait", []),
    "leaving": (_GAUGE, "Messages of batches that are passed on", []),
    "received": (_COUNTER, "Messages that were held", []),
    "refused": (_COUNTER, "Messages that were refused", ["reason"]),
    "deleted": (_COUNTER, "Messages that were deleted because too few came", []),
    "deliveries": (_COUNTER, "Requests to the collector", ["result"]),
    "last delivery": (_GAUGE, "The hour in which the collector last took messages", []),
    "passed on": (_COUNTER, "Messages that the collector has taken", ["outcome"]),
    "batches": (_COUNTER, "Batches", []),
    "broken batches": (_COUNTER, "Batches for which the promise did not hold", []),
}
"""By the part of an event before the comma: the kind of its metric, and the label for the part after it."""
_HOURLY = ("waiting", "received", "refused")
"""What changes with each person."""
_ALWAYS = {DELIVERED: 0, FAILED: 0, f"refused, {Outcome.FULL}": 0}
"""Counted from zero on, so that the first is an increase."""


class RelayMetrics(Collector):
    """Reads the metrics at each request; those of surveys only if the relay is ready."""

    def __init__(self, settings: RelaySettings, held: HeldMessages) -> None:
        self._surveys, self._held = list(settings.surveys.values()), held
        self._proxy_refusals = settings.proxy_refusals
        self._hourly: tuple[float, dict[str, dict[str, int]], int | None] = 0, {}, None

    def collect(self) -> Iterator[Metric]:
        failure = self._held.find_failure()
        yield GaugeMetricFamily("ldp_relay_ready", "Whether messages can be held", not failure)
        reasons = GaugeMetricFamily("ldp_relay_not_ready", "1 for the reason why not", labels=["reason"])
        for reason in FAILURES:
            reasons.add_metric([reason], reason == failure)
        yield reasons
        if not failure:
            yield from self._survey_metrics()

    def _survey_metrics(self) -> Iterator[Metric]:
        counts = {each.plan.id: self._count(each) for each in self._surveys}
        if self._hourly[0] != (hour := time() // HOUR_SECONDS):
            self._hourly = hour, counts, count_refusals(self._proxy_refusals)
        for kind, (family, text, labels) in _METRICS.items():
            name = f"ldp_relay_{kind.replace(' ', '_')}" + "_timestamp_seconds" * (kind == LAST_DELIVERY)
            metric = family(name, text, labels=["survey", *labels])
            for survey in counts:
                found = (self._hourly[1] if kind in _HOURLY else counts)[survey]
                for event, count in found.items():
                    if event.partition(", ")[0] == kind:
                        metric.add_metric([survey, event.partition(", ")[2]][: 1 + len(labels)], count)
            yield metric
        if (refusals := self._hourly[2]) is not None:
            yield CounterMetricFamily("ldp_relay_proxy_refusals", "Requests refused by the proxy", refusals)

    def _count(self, survey: RelayedSurvey) -> dict[str, int]:
        batches = self._held.batches(survey.plan.digest)
        broken = sum(breaks_promise(survey.relay, size, rejected) for _, size, rejected in batches)
        counts = self._held.counts(survey.plan.digest)
        return _ALWAYS | counts | {"batches": len(batches), "broken batches": broken}
