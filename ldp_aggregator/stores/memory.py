"""A store in the memory of one process, for tests."""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from ldp_aggregator.stores.failure import SeenTotals
from ldp_aggregator.stores.sqlite import SQLiteStore
from ldp_aggregator.stores.sqlite_file import create_tables
from ldp_aggregator.stores.store import StorePolicy


class MemoryStore(SQLiteStore):
    """The tables of the SQLite store without a file, behind one lock."""

    def __init__(self) -> None:
        self._required, self.seen = {}, SeenTotals()
        self._lock = threading.RLock()
        self._only = sqlite3.connect(":memory:", isolation_level=None, check_same_thread=False)
        create_tables(self._only)

    @contextmanager
    def _connection(self) -> Iterator[sqlite3.Connection]:
        with self._lock:
            yield self._only

    def _require_file(self) -> None:
        pass

    def _request_checkpoint(self) -> None:
        pass

    def space(self) -> dict[str, int]:
        return {}

    def check_durability(self, policy: StorePolicy) -> str:
        return "all reports are lost when the process ends"

    def close(self) -> None:
        """Do nothing."""
