"""What the poisoning meter counts of recorded reports, see :mod:`encoders.mechanisms.support_counters`.

The meter looks for patterns of many reports, and no answer depends on it. So a worker keeps payloads for some
seconds and counts them together; a crash costs the meter those seconds, and nobody a report.
"""

from __future__ import annotations

import threading
from contextlib import suppress

import numpy as np

from ldp_aggregator.arrays import ByteArray
from ldp_aggregator.collector.later import Later
from ldp_aggregator.reports.batch_reader import QuestionBatch
from ldp_aggregator.stores import Batch, Store, StoreError

KEEP_SECONDS = 5.0
KEEP_REPORTS = 5_000


class Metering:
    """Collects payloads of one survey, and adds to its store's counters what the meter needs.

    Parameters
    ----------
    survey : str
    store : Store
    """

    def __init__(self, survey: str, store: Store) -> None:
        self._survey, self._store = survey, store
        self._lock = threading.Lock()
        self._kept: dict[int, list[QuestionBatch]] = {}
        self._count = 0
        self._later = Later(self.flush)

    def add(self, batch: QuestionBatch) -> None:
        """Take reports that were recorded just now."""
        if batch.question.mechanism.support_counters is None:
            return
        with self._lock:
            self._kept.setdefault(batch.question.index, []).append(batch)
            self._count += len(batch.positions)
            full = self._count >= KEEP_REPORTS
        if full:
            self.flush()
        else:
            self._later.ask(KEEP_SECONDS)

    def flush(self) -> None:
        """Count what was kept; should the store fail, the meter knows of fewer reports."""
        with self._lock:
            kept, self._kept, self._count = self._kept, {}, 0
        with suppress(StoreError):
            if kept:
                self._store.record([self._batch(batches) for batches in kept.values()])

    def _batch(self, batches: list[QuestionBatch]) -> Batch:
        question = batches[0].question
        assert question.mechanism.support_counters is not None
        counted = question.mechanism.support_counters.count(
            np.concatenate([batch.payloads for batch in batches])
        )
        return Batch(self._survey, question.support_key, _none(16), _none(8), counted)


def _none(width: int) -> ByteArray:
    """Return no rows: these counters have no reports of their own."""
    return np.empty((0, width), dtype=np.uint8)
