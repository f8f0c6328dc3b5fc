"""What is SQLite's alone: a full disk, a first opening by two at once, reading without changing."""

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


def test_a_file_is_read_without_changing_it_even_one_that_a_crash_left_behind(tmp_path: Path) -> None:
    path = tmp_path / "odd name%20?.db"
    store = SQLiteStore(str(path))
    store.publish("sleep", b"{}")
    record(store, "sleep", "q", ids(0, 3), np.array([3]))
    left = {each.name: each.read_bytes() for each in tmp_path.iterdir() if not each.name.endswith("-shm")}
    assert len(left) == 2  # what was counted is in the log still
    crashed = tmp_path / "crashed"
    crashed.mkdir()
    for name, data in left.items():
        (crashed / name).write_bytes(data)
    store.close()
    reading = SQLiteStore(str(crashed / path.name), read_only=True)
    assert (reading.plans(), reading.totals("sleep")["q"].n) == ({"sleep": b"{}"}, 3)
    with pytest.raises(StoreError, match="readonly"):
        record(reading, "sleep", "q", ids(3, 1), np.array([1]))
    reading.close()
    assert left == {name: (crashed / name).read_bytes() for name in left}


def test_a_file_that_is_no_store_is_not_made_one_by_reading(tmp_path: Path) -> None:
    path = tmp_path / "other.db"
    path.touch()
    reading = SQLiteStore(str(path), read_only=True)
    with pytest.raises(StoreError, match="no such table"):
        reading.plans()
    reading.close()
    assert not path.stat().st_size
