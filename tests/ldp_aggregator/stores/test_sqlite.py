"""What SQLite alone can do wrong: a full disk, a first opening by two at once."""

from __future__ import annotations

import sqlite3
import threading
from pathlib import Path

import numpy as np
import pytest

from ldp_aggregator.stores import StoreError
from ldp_aggregator.stores.sqlite import SQLiteStore
from tests.counting import record


def ids(start: int, size: int) -> dict[bytes, bytes]:
    return {number.to_bytes(16, "big"): bytes(8) for number in range(start, start + size)}


def test_a_full_disk_loses_nothing_and_ends_with_the_shortage(tmp_path: Path) -> None:
    store = SQLiteStore(str(tmp_path / "store.db"))
    record(store, "sleep", "q", ids(0, 1), np.array([1]))
    with store._connection() as connection:
        (pages,) = connection.execute("PRAGMA page_count").fetchone()
        connection.execute(f"PRAGMA max_page_count = {pages}")
    for _ in range(2):
        with pytest.raises(StoreError, match="full"):
            record(store, "sleep", "q", ids(1, 2000), np.array([2000]))
    assert store.totals("sleep")["q"].n == 1
    with store._connection() as connection:
        connection.execute("PRAGMA max_page_count = 100000")
    assert record(store, "sleep", "q", ids(1, 2000), np.array([2000])) == {}
    assert store.totals("sleep")["q"].n == 2001
    store.close()


def test_a_new_file_that_another_process_is_writing_is_waited_for(tmp_path: Path) -> None:
    path = str(tmp_path / "store.db")
    other = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
    other.execute("BEGIN IMMEDIATE")
    # SQLite itself refuses to change the journal's mode at once, whatever the timeout
    threading.Timer(0.2, other.execute, ["COMMIT"]).start()
    store = SQLiteStore(path)
    assert record(store, "sleep", "q", ids(0, 1), np.array([1])) == {}
    store.close()
    other.close()
