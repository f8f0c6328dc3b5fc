"""Prometheus metrics of a relay, and the reason why it cannot hold messages now.

Prometheus keeps the history of each metric. Numbers that change with each person are therefore read once an
hour, and the time of a delivery is its hour: no history shows when somebody sent a message.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from threading import Thread
from time import time

from prometheus_client import generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from encoders.survey.unsealing import breaks_promise
from ldp_relay.held_messages import (
    DELIVERED,
    FAILED,
    LAST_DELIVERY,
    LEAVING,
    RECEIVED,
    TOO_FEW,
    WAITING,
    HeldMessages,
    Outcome,
)
from ldp_relay.relay_database import FAILURES
from ldp_relay.relay_settings import RelayedSurvey
from ldp_relay.release import HOUR_SECONDS

STOPPED = "release-stopped"
"""A thread that releases messages or passes them on has ended, which is a fault in the program."""
_SURVEY = ["survey"]
_Counts = dict[str, int]


class RelayMetrics(Collector):
    """Reads the metrics at each request.

    Parameters
    ----------
    surveys : iterable of RelayedSurvey
    held : HeldMessages
    threads : sequence of Thread
        What :func:`ldp_relay.delivery.start` has started.
    """

    def __init__(
        self, surveys: Iterable[RelayedSurvey], held: HeldMessages, threads: Sequence[Thread] = ()
    ) -> None:
        self._surveys, self._held, self._threads = list(surveys), held, threads
        self._hourly: tuple[int, list[_Counts]] = 0, []

    def find_failure(self) -> str:
        """Return the reason why messages cannot be held or passed on now, in one word; "" if they can."""
        if not all(each.is_alive() for each in self._threads):
            return STOPPED
        return self._held.find_failure()

    def render(self) -> bytes:
        """Return the metrics in the text format of Prometheus."""
        return generate_latest(self)

    def collect(self) -> Iterator[Metric]:
        """Yield the metrics; those of surveys only if the database can be read."""
        failure = self.find_failure()
        yield GaugeMetricFamily("ldp_relay_ready", "Whether messages can be held", not failure)
        reasons = GaugeMetricFamily("ldp_relay_not_ready", "1 for the reason why not", labels=["reason"])
        for reason in (STOPPED, *FAILURES):
            reasons.add_metric([reason], reason == failure)
        yield reasons
        if not failure:
            yield from self._survey_metrics()

    def _survey_metrics(self) -> list[Metric]:
        now, hour = self._read_counts(), int(time() // HOUR_SECONDS)
        if self._hourly[0] != hour:
            self._hourly = hour, now
        messages = GaugeMetricFamily("ldp_relay_messages", "Messages held", labels=["survey", "state"])
        received = CounterMetricFamily("ldp_relay_received", "Messages held so far", labels=_SURVEY)
        deleted = CounterMetricFamily("ldp_relay_deleted", "Messages of too small a batch", labels=_SURVEY)
        refused = CounterMetricFamily("ldp_relay_refusals", "Messages refused", labels=["survey", "reason"])
        passed = CounterMetricFamily("ldp_relay_passed_on", "Answers counted", labels=["survey", "outcome"])
        sent = CounterMetricFamily("ldp_relay_deliveries", "Requests sent", labels=["survey", "result"])
        last = GaugeMetricFamily("ldp_relay_last_delivery_timestamp_seconds", "Its hour", labels=_SURVEY)
        batches = CounterMetricFamily("ldp_relay_batches", "Batches that left", labels=_SURVEY)
        broken = CounterMetricFamily("ldp_relay_broken_batches", "Batches without promise", labels=_SURVEY)
        for survey, counts, of_people in zip(self._surveys, now, self._hourly[1], strict=True):
            name, sizes = survey.plan.id, self._held.batches(survey.plan.digest)
            messages.add_metric([name, WAITING], of_people[WAITING])
            messages.add_metric([name, LEAVING], counts[LEAVING])
            received.add_metric([name], of_people[RECEIVED])
            deleted.add_metric([name], counts.get(TOO_FEW, 0))
            _add_events(refused, name, "refused, ", {f"refused, {Outcome.FULL}": 0} | of_people)
            _add_events(passed, name, "passed on, ", counts)
            _add_events(sent, name, "deliveries, ", {DELIVERED: 0, FAILED: 0} | counts)
            if LAST_DELIVERY in counts:
                last.add_metric([name], counts[LAST_DELIVERY])
            batches.add_metric([name], len(sizes))
            broken.add_metric([name], sum(breaks_promise(survey.relay, *each[1:]) for each in sizes))
        return [messages, received, deleted, refused, passed, sent, last, batches, broken]

    def _read_counts(self) -> list[_Counts]:
        return [self._held.counts(each.plan.digest) for each in self._surveys]


def _add_events(metric: CounterMetricFamily, survey: str, prefix: str, counts: _Counts) -> None:
    for event, count in counts.items():
        if event.startswith(prefix):
            metric.add_metric([survey, event.removeprefix(prefix)], count)
