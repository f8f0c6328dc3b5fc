"""A flush of buffered counts ends the writes of other threads, so that the store can be closed."""

from __future__ import annotations

import threading

import pytest

from encoders.errors import Reason
from ldp_aggregator.collector import intake
from ldp_aggregator.stores import MemoryStore


class SlowStore(MemoryStore):
    """A store whose writes wait for a signal."""

    def __init__(self) -> None:
        super().__init__()
        self.started, self.go_on, self.written = threading.Event(), threading.Event(), 0

    def add_rejections(self, survey: str, reason: str, count: int = 1) -> None:
        self.started.set()
        self.go_on.wait(10)
        self.written += count


@pytest.mark.slow
def test_a_flush_waits_for_a_write_that_is_under_way(monkeypatch):
    monkeypatch.setattr(intake, "REJECTION_SECONDS", 0)
    store = SlowStore()
    writes = intake.BufferedWrites("sleep", store)
    writes.add_rejections([next(iter(Reason))])
    assert store.started.wait(10)
    threading.Timer(0.2, store.go_on.set).start()
    writes.flush()
    assert store.written == 1
