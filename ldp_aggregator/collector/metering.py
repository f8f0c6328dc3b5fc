"""What the poisoning meter counts of recorded reports, see :mod:`encoders.mechanisms.support_counters`.

The meter looks for patterns of many reports, and no answer depends on it. So a worker keeps payloads for some
seconds and counts them together; a crash costs the meter those seconds, and nobody a report.
"""

from __future__ import annotations

import threading
from contextlib import suppress

import numpy as np

from ldp_aggregator.collector.later import Later
from ldp_aggregator.reports.batch_reader import Bytes, Column
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
        self._kept: dict[int, list[Column]] = {}
        self._count = 0
        self._later = Later(self.flush)

    def add(self, column: Column) -> None:
        """Take reports that were recorded just now."""
        if column.question.mechanism.support_counters is None:
            return
        with self._lock:
            self._kept.setdefault(column.question.index, []).append(column)
            self._count += len(column.places)
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
                self._store.record([self._batch(columns) for columns in kept.values()])

    def _batch(self, columns: list[Column]) -> Batch:
        question = columns[0].question
        assert question.mechanism.support_counters is not None
        counted = question.mechanism.support_counters.count(
            np.concatenate([column.payloads for column in columns])
        )
        return Batch(self._survey, question.support_key, _none(16), _none(8), counted)


def _none(width: int) -> Bytes:
    """Return no rows: these counters have no reports of their own."""
    return np.empty((0, width), dtype=np.uint8)
