"""Emptying the log of SQLite's file: what waits for it, and for how long."""

from __future__ import annotations

import multiprocessing
import sqlite3
import threading
import time
from pathlib import Path

import numpy as np
import pytest

from ldp_aggregator.stores.sqlite import SQLiteStore
from tests.support.batches import record

_ONE = np.array([1])


def store_with_reader(path: Path) -> tuple[SQLiteStore, sqlite3.Connection]:
    """Return a store whose log cannot be emptied until the second connection is closed."""
    store = SQLiteStore(str(path))
    record(store, "sleep", "q", {bytes(16): bytes(8)}, _ONE)
    reader = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
    reader.execute("BEGIN")
    reader.execute("SELECT * FROM plans").fetchall()
    record(store, "sleep", "q", {b"1" * 16: bytes(8)}, _ONE)
    return store, reader


def test_emptying_the_log_does_not_wait_for_a_reader(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ldp_aggregator.stores.sqlite._CHECKPOINT_BUSY_SECONDS", 20.0)
    store, reader = store_with_reader(tmp_path / "store.db")
    start = time.monotonic()
    assert store._empty_log() is not None
    assert time.monotonic() - start < 10
    reader.close()
    assert store._empty_log() is None
    store.close()


@pytest.mark.slow
def test_closing_a_store_waits_for_a_reader_and_then_leaves_no_log(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    store, reader = store_with_reader(path)
    threading.Timer(0.5, reader.close).start()
    store.close()
    assert list(tmp_path.iterdir()) == [path]


def test_closing_a_store_does_not_wait_for_ever(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ldp_aggregator.stores.sqlite._CLOSE_SECONDS", 0.3)
    store, reader = store_with_reader(tmp_path / "store.db")
    start = time.monotonic()
    store.close()
    assert time.monotonic() - start < 5
    reader.close()
    SQLiteStore(str(tmp_path / "store.db")).close()
    assert [path.name for path in tmp_path.iterdir()] == ["store.db"]


def _record_in_child(store: SQLiteStore) -> None:
    record(store, "sleep", "q", {b"2" * 16: bytes(8)}, _ONE)
    store.close()


@pytest.mark.slow
def test_a_child_forked_while_the_log_is_emptied_can_record(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if "fork" not in multiprocessing.get_all_start_methods():
        pytest.skip("needs fork")
    store, begun = SQLiteStore(str(tmp_path / "store.db")), threading.Event()
    empty_log = store._empty_log

    def slow() -> float | None:
        begun.set()
        time.sleep(0.5)
        return empty_log()

    store._checkpoint.cancel()
    monkeypatch.setattr(store._checkpoint, "_run", slow)
    store._checkpoint.request(0)
    assert begun.wait(10)
    child = multiprocessing.get_context("fork").Process(target=_record_in_child, args=(store,))
    child.start()
    child.join(10)
    if child.is_alive():
        child.kill()
    assert child.exitcode == 0
    record(store, "sleep", "q", {b"3" * 16: bytes(8)}, _ONE)
    assert store.totals("sleep")["q"].n == 2
    store.close()
