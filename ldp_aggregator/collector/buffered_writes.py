"""Delayed writes: counts of rejections, and the support counters of the poisoning check.

No response depends on them, so bad reports do not slow down others. A worker that is killed loses the last
seconds of both, but no report.
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Iterable
from contextlib import suppress

import numpy as np

from encoders.errors import Reason
from ldp_aggregator.background_task import BackgroundTask
from ldp_aggregator.reports.batch_reader import QuestionBatch
from ldp_aggregator.stores import Batch, Store, StoreError
from ldp_aggregator.stores.store import positions_by_server

REJECTION_SECONDS = 1.0
PAYLOAD_SECONDS = 5.0
MAX_BUFFERED_PAYLOADS = 5_000


class BufferedWrites:
    def __init__(self, survey: str, store: Store) -> None:
        self._survey, self._store = survey, store
        self._lock = threading.Lock()
        self._rejections: Counter[Reason] = Counter()
        self._columns: dict[int, list[QuestionBatch]] = {}
        self._payload_count = 0
        self._rejection_task = BackgroundTask(self._write_rejections)
        self._payload_task = BackgroundTask(self._write_support_counters)

    def add_rejections(self, reasons: Iterable[Reason]) -> None:
        with self._lock:
            self._rejections.update(reasons)
        if self._rejections:
            self._rejection_task.request(REJECTION_SECONDS)

    def add_recorded(self, batch: QuestionBatch) -> None:
        if batch.question.mechanism.support_counters is None:
            return
        with self._lock:
            self._columns.setdefault(batch.question.index, []).append(batch)
            self._payload_count += len(batch.positions)
            full = self._payload_count >= MAX_BUFFERED_PAYLOADS
        if full:
            self._write_support_counters()
        else:
            self._payload_task.request(PAYLOAD_SECONDS)

    def flush(self) -> None:
        """Write all buffered counts to the store now; afterwards, no thread writes any."""
        for task in (self._rejection_task, self._payload_task):
            task.cancel()
        self._write_rejections()
        self._write_support_counters()

    def _write_rejections(self) -> None:
        """Write the rejections; buffer them again if the store fails."""
        with self._lock:
            counts, self._rejections = self._rejections, Counter()
        for reason, count in counts.items():
            try:
                self._store.add_rejections(self._survey, reason, count)
            except StoreError:
                self.add_rejections(Counter({reason: count}))

    def _write_support_counters(self) -> None:
        """Write the support counters; if a server of the store fails, these reports are not in its own."""
        with self._lock:
            batches, self._columns, self._payload_count = self._columns, {}, 0
        with suppress(StoreError):
            written = [self._support_batch(each) for each in batches.values()]
            for positions in positions_by_server(self._store, written).values():
                with suppress(StoreError):
                    self._store.record([written[position] for position in positions])

    def _support_batch(self, batches: list[QuestionBatch]) -> Batch:
        question = batches[0].question
        assert question.mechanism.support_counters is not None
        return Batch(
            survey=self._survey,
            counter=question.support_key,
            ids=np.empty((0, 16), np.uint8),
            marks=np.empty((0, 8), np.uint8),
            tally=question.mechanism.support_counters.count(
                np.concatenate([batch.payloads for batch in batches])
            ),
        )
