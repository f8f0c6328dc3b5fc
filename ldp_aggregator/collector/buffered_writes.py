"""How many reports were refused, by reason: told to the store together, about a second later.

A refusal needs no sync of the disk: whoever posts garbage is answered without keeping others from theirs. A
worker that is killed forgets the last second's.
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Iterable

from encoders.errors import Reason
from ldp_aggregator.collector.later import Later
from ldp_aggregator.stores import Store, StoreError

KEEP_SECONDS = 1.0


class Rejections:
    """Counts the rejections of one survey.

    Parameters
    ----------
    survey : str
    store : Store
    """

    def __init__(self, survey: str, store: Store) -> None:
        self._survey, self._store = survey, store
        self._lock = threading.Lock()
        self._counts: Counter[Reason] = Counter()
        self._later = Later(self.flush)

    def add(self, reasons: Iterable[Reason]) -> None:
        """Count some."""
        self._add(Counter(reasons))

    def flush(self) -> None:
        """Tell the store; what it cannot be told now is told later."""
        with self._lock:
            counts, self._counts = self._counts, Counter()
        for reason, count in counts.items():
            try:
                self._store.add_rejections(self._survey, reason, count)
            except StoreError:
                self._add(Counter({reason: count}))

    def _add(self, counts: Counter[Reason]) -> None:
        with self._lock:
            self._counts.update(counts)
        if counts:
            self._later.ask(KEEP_SECONDS)
