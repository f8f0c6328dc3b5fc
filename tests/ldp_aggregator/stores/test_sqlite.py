"""Behaviour specific to SQLite: files without the order of arrival, a full disk, concurrent opening."""

import multiprocessing
import random
import re
import shutil
import sqlite3
import threading
import time
from collections.abc import Iterable
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest

from ldp_aggregator.stores import StoreError
from ldp_aggregator.stores.sqlite import SQLiteStore
from ldp_aggregator.stores.sqlite_buckets import MEAN_REPORTS_PER_BUCKET
from tests.support.batches import record
from tests.support.servers import wait_for


def ids(start: int, size: int) -> dict[bytes, bytes]:
    return {number.to_bytes(16, "big"): bytes(8) for number in range(start, start + size)}


def test_a_full_disk_loses_no_report_and_the_store_recovers_with_free_space(tmp_path):
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


def _is_ready_without_room(path: str) -> None:
    """Check that a store refuses reports and readiness while its files cannot grow."""
    import resource

    store = SQLiteStore(path)
    store.check_ready()
    limit = Path(f"{path}-wal").stat().st_size
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit, resource.RLIM_INFINITY))
    for refused in (store.check_ready, lambda: record(store, "sleep", "q", ids(0, 1), np.array([1]))):
        with pytest.raises(StoreError):
            refused()
    resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    store.check_ready()
    assert record(store, "sleep", "q", ids(0, 1), np.array([1])) == {}
    store.close()


@pytest.mark.slow
def test_a_store_that_cannot_write_is_not_ready(tmp_path):
    pytest.importorskip("resource")
    process = multiprocessing.get_context("spawn").Process(
        target=_is_ready_without_room, args=(str(tmp_path / "store.db"),)
    )
    process.start()
    process.join(30)
    assert process.exitcode == 0


def _leaves_no_file_without_room(path: str, limit: int) -> None:
    """Check that a new store whose files cannot grow beyond the limit leaves no file."""
    import resource

    resource.setrlimit(resource.RLIMIT_FSIZE, (limit, resource.RLIM_INFINITY))
    with pytest.raises(StoreError):
        SQLiteStore(path)
    assert list(Path(path).parent.iterdir()) == []


@pytest.mark.slow
@pytest.mark.parametrize("limit", [1, 8192, 32768])
def test_a_new_store_that_cannot_write_leaves_no_file_and_no_log(tmp_path, limit):
    pytest.importorskip("resource")
    process = multiprocessing.get_context("spawn").Process(
        target=_leaves_no_file_without_room, args=(str(tmp_path / "store.db"), limit)
    )
    process.start()
    process.join(30)
    assert process.exitcode == 0


@pytest.mark.slow
def test_opening_waits_for_another_process_that_creates_the_file(tmp_path):
    path = str(tmp_path / "store.db")
    other = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
    other.execute("BEGIN IMMEDIATE")
    # SQLite refuses a change of the journal mode immediately, for any timeout
    threading.Timer(0.2, other.execute, ["COMMIT"]).start()
    store = SQLiteStore(path)
    assert record(store, "sleep", "q", ids(0, 1), np.array([1])) == {}
    store.close()
    other.close()


def test_a_file_is_read_without_changing_it_even_after_a_crash(tmp_path):
    path = tmp_path / "odd name%20?.db"
    store = SQLiteStore(str(path))
    store.publish("sleep", b"{}")
    record(store, "sleep", "q", ids(0, 3), np.array([3]))
    left = {each.name: each.read_bytes() for each in tmp_path.iterdir() if not each.name.endswith("-shm")}
    assert len(left) == 2  # the counted reports are still in the log
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


def test_reading_does_not_turn_another_file_into_a_store(tmp_path):
    path = tmp_path / "other.db"
    path.touch()
    reading = SQLiteStore(str(path), read_only=True)
    with pytest.raises(StoreError, match="no such table"):
        reading.plans()
    reading.close()
    assert not path.stat().st_size


def random_ids(count: int, seed: int = 0) -> dict[bytes, bytes]:
    rng = random.Random(seed)
    return {rng.randbytes(16): rng.randbytes(8) for _ in range(count)}


def record_each(path: Path, entries: Iterable[tuple[bytes, bytes]]) -> None:
    """Record reports one by one, alternating between two questions."""
    store = SQLiteStore(str(path))
    for turn, (name, mark) in enumerate(entries):
        record(store, "sleep", "pq"[turn % 2], {name: mark}, np.array([1, 0]))
    store.close()
    with sqlite3.connect(path) as connection:  # random by design
        connection.execute("UPDATE internal SET value = zeroblob(16000) WHERE name = 'probe'")
    connection.close()


def pages_of(path: Path) -> list[bytes]:
    """Return the pages of a file, without the change counters of the first page."""
    data = bytearray(path.read_bytes())
    data[24:28] = data[92:96] = bytes(4)
    return [bytes(data[start : start + 4096]) for start in range(0, len(data), 4096)]


@pytest.mark.slow
def test_the_file_does_not_depend_on_the_order_of_reports(tmp_path):
    first, second = tmp_path / "first.db", tmp_path / "second.db"
    SQLiteStore(str(first)).close()
    shutil.copy(first, second)  # with the same hash key
    entries = list(random_ids(600).items())
    even, odd = entries[::2], entries[1::2]  # the same reports per question
    record_each(first, entries)
    random.Random(1).shuffle(even)
    record_each(second, (each for pair in zip(even, reversed(odd), strict=True) for each in pair))
    assert first.read_bytes().count(entries[7][0]) == 1
    assert pages_of(first) == pages_of(second)
    assert sorted(tmp_path.iterdir()) == [first, second]  # a clean stop leaves no log


@pytest.mark.slow
@pytest.mark.parametrize("size", [1, 40])
def test_after_a_checkpoint_no_file_shows_the_order_of_arrival(tmp_path, size):
    """Probability of a false alarm: below 1e-7 (a normal score beyond 5.6)."""
    store, entries = SQLiteStore(str(tmp_path / "store.db")), list(random_ids(800, size).items())
    for start in range(0, len(entries), size):
        record(store, "sleep", "q", dict(entries[start : start + size]), np.array([size]))
    assert store._empty_log() is None
    arrival = {name: turn for turn, (name, _) in enumerate(entries)}
    for path in tmp_path.iterdir():  # while the store is open
        data = path.read_bytes()
        found = [(place.start(), arrival[place[0]]) for place in re.finditer(_any_of(arrival), data)]
        assert len(found) == (len(entries) if path.name == "store.db" else 0)  # no old content of a page
        pages: dict[int, list[int]] = {0: [turn for _, turn in found]}  # 0: the whole file
        for offset, turn in found:
            pages.setdefault(1 + offset // 4096, []).append(turn)
        whole = [_rank_correlation(pages.pop(0))] if found else []
        assert all(abs(r) * np.sqrt(n - 1) < 5.6 for r, n in whole)
        within = [_rank_correlation(turns) for turns in pages.values() if len(turns) > 1]
        score = sum(r * (n - 1) for r, n in within) / np.sqrt(1 + sum(n - 1 for _, n in within))
        assert abs(score) < 5.6
    store.close()


def _any_of(names: Iterable[bytes]) -> re.Pattern[bytes]:
    return re.compile(b"|".join(map(re.escape, names)), re.DOTALL)


def _rank_correlation(turns: list[int]) -> tuple[float, int]:
    """Return Spearman's coefficient of arrival numbers and positions, and how many there are."""
    ranks = np.argsort(np.argsort(turns))
    return float(np.corrcoef(ranks, np.arange(len(turns)))[0, 1]), len(turns)


def _idle_worker(path: str, ready: object, stop: object) -> None:
    store = SQLiteStore(path)
    record(store, "sleep", "q", ids(1, 1), np.array([1]))
    ready.set()  # type: ignore[attr-defined]
    stop.wait(30)  # type: ignore[attr-defined]
    store.close()


@pytest.mark.slow
def test_an_idle_store_empties_its_log_while_others_have_it_open(tmp_path, monkeypatch):
    monkeypatch.setattr("ldp_aggregator.stores.sqlite._CHECKPOINT_SECONDS", 0.2)
    path, log = str(tmp_path / "store.db"), tmp_path / "store.db-wal"
    context = multiprocessing.get_context("spawn")
    ready, stop = context.Event(), context.Event()
    other = context.Process(target=_idle_worker, args=(path, ready, stop))
    other.start()
    assert ready.wait(30)
    store = SQLiteStore(path)
    thread = threading.Thread(target=lambda: (store.totals("sleep"), stop.wait(30)))  # keeps a connection
    thread.start()
    record(store, "sleep", "q", ids(2, 1), np.array([1]))
    assert log.stat().st_size
    wait_for(lambda: not log.stat().st_size)
    stop.set()
    thread.join()
    store.close()
    other.join(30)
    assert sorted(tmp_path.iterdir()) == [tmp_path / "store.db"]


def test_a_log_in_use_by_a_reader_is_emptied_when_the_reader_ends(tmp_path, monkeypatch):
    monkeypatch.setattr("ldp_aggregator.stores.sqlite._CHECKPOINT_SECONDS", 0.05)
    monkeypatch.setattr("ldp_aggregator.stores.sqlite._CHECKPOINT_BUSY_SECONDS", 0.05)
    monkeypatch.setattr("ldp_aggregator.stores.sqlite._RETRY_SECONDS", 0.05)
    store, log = SQLiteStore(str(tmp_path / "store.db")), tmp_path / "store.db-wal"
    reader = sqlite3.connect(tmp_path / "store.db", isolation_level=None)
    reader.execute("BEGIN")
    reader.execute("SELECT * FROM plans").fetchall()
    record(store, "sleep", "q", ids(0, 1), np.array([1]))
    assert store._empty_log() is not None
    assert record(store, "sleep", "q", ids(1, 1), np.array([1])) == {}
    reader.close()
    wait_for(lambda: not log.stat().st_size)
    store.close()


@pytest.mark.parametrize("read_only", [False, True])
@pytest.mark.parametrize("statement", ["PRAGMA user_version = 7", "CREATE TABLE reports (id)"])
def test_a_file_of_another_version_or_program_is_refused_and_stays(tmp_path, statement, read_only):
    path = tmp_path / "store.db"
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute(statement)
    with pytest.raises(StoreError, match=r"not a store of version 1.*use the release that wrote it"):
        SQLiteStore(str(path), read_only)
    with closing(sqlite3.connect(path)) as connection:
        assert not connection.execute("SELECT 1 FROM sqlite_master WHERE name = 'plans'").fetchone()


def test_similar_ids_do_not_share_a_bucket(tmp_path):
    """Probability of a false alarm: below 1e-7 (twice the highest mean, 130, is more than 10 sd off)."""
    store = SQLiteStore(str(tmp_path / "store.db"))
    record(store, "sleep", "q", ids(0, 10_000), np.array([1]))
    with store._connection() as connection:
        sizes = [
            int.from_bytes(row[:4], "little") for (row,) in connection.execute("SELECT entries FROM buckets")
        ]
    assert sum(sizes) == 10_000
    assert max(sizes) < 4 * MEAN_REPORTS_PER_BUCKET
    store.close()


# -- emptying the log: what waits for it, and for how long ----------------------------------------


def store_with_reader(path: Path) -> tuple[SQLiteStore, sqlite3.Connection]:
    """Return a store whose log cannot be emptied until the second connection is closed."""
    store = SQLiteStore(str(path))
    record(store, "sleep", "q", {bytes(16): bytes(8)}, np.array([1]))
    reader = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
    reader.execute("BEGIN")
    reader.execute("SELECT * FROM plans").fetchall()
    record(store, "sleep", "q", {b"1" * 16: bytes(8)}, np.array([1]))
    return store, reader


def test_emptying_the_log_does_not_wait_for_a_reader(tmp_path, monkeypatch):
    monkeypatch.setattr("ldp_aggregator.stores.sqlite._CHECKPOINT_BUSY_SECONDS", 200.0)
    store, reader = store_with_reader(tmp_path / "store.db")
    start = time.monotonic()
    assert store._empty_log() is not None
    assert time.monotonic() - start < 100
    reader.close()
    assert store._empty_log() is None
    store.close()


@pytest.mark.slow
def test_closing_a_store_waits_for_a_reader_and_then_leaves_no_log(tmp_path):
    path = tmp_path / "store.db"
    store, reader = store_with_reader(path)
    threading.Timer(0.5, reader.close).start()
    store.close()
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.slow
def test_closing_a_store_does_not_wait_for_ever(tmp_path, monkeypatch):
    monkeypatch.setattr("ldp_aggregator.stores.sqlite._CLOSE_SECONDS", 0.3)
    store, reader = store_with_reader(tmp_path / "store.db")
    start = time.monotonic()
    store.close()
    assert time.monotonic() - start < 60
    reader.close()
    SQLiteStore(str(tmp_path / "store.db")).close()
    assert [path.name for path in tmp_path.iterdir()] == ["store.db"]


def _record_in_child(store: SQLiteStore) -> None:
    record(store, "sleep", "q", {b"2" * 16: bytes(8)}, np.array([1]))
    store.close()


@pytest.mark.slow
def test_a_child_forked_while_the_log_is_emptied_can_record(tmp_path, monkeypatch):
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
    assert begun.wait(120)
    child = multiprocessing.get_context("fork").Process(target=_record_in_child, args=(store,))
    child.start()
    child.join(120)
    if child.is_alive():
        child.kill()
    assert child.exitcode == 0
    record(store, "sleep", "q", {b"3" * 16: bytes(8)}, np.array([1]))
    assert store.totals("sleep")["q"].n == 2
    store.close()
