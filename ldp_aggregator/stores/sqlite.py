"""The embedded store: one SQLite file, durable, shared by several workers.

Each act is one immediate transaction, synced to disk before it returns. A connection belongs to one
thread of one process and is opened on first use, so a server may fork after this object is made.
"""

from __future__ import annotations

import os
import sqlite3
import threading
import time
import weakref
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ldp_aggregator.stores.base import (
    DURABLE,
    PIECE,
    Batch,
    Int64Array,
    Known,
    Policy,
    Remembered,
    StoreError,
    Total,
    add,
    columns_of,
    no_survey,
    other_plan,
    rows_of,
)

_BUSY_SECONDS = 30.0
_SCHEMA = """
CREATE TABLE IF NOT EXISTS plans (survey TEXT PRIMARY KEY, plan BLOB NOT NULL) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS windows (survey TEXT PRIMARY KEY, window BLOB NOT NULL) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS counters (
    number INTEGER PRIMARY KEY, survey TEXT NOT NULL, name TEXT NOT NULL, n INTEGER NOT NULL,
    cells BLOB NOT NULL, UNIQUE (survey, name)
);
CREATE TABLE IF NOT EXISTS reports (
    counter INTEGER NOT NULL, id BLOB NOT NULL, mark BLOB NOT NULL, PRIMARY KEY (counter, id)
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS rejections (
    survey TEXT NOT NULL, reason TEXT NOT NULL, count INTEGER NOT NULL, PRIMARY KEY (survey, reason)
) WITHOUT ROWID;
"""


class SQLiteStore:
    """Counters in one file; see :class:`~ldp_aggregator.stores.base.Store`.

    Parameters
    ----------
    path : str
        Created if absent. Cells are stored as little-endian 64-bit integers.
    read_only : bool
        Whether the file, which has to be a store already, stays as it is.
    """

    def __init__(self, path: str, read_only: bool = False) -> None:
        self._path, self._read_only = path, read_only
        self._mine = threading.local()
        if not read_only:
            with self._errors(), self._connection() as connection:
                connection.executescript(_SCHEMA)

    def publish(self, survey: str, plan: bytes) -> None:
        """See :meth:`Store.publish`."""
        with self._transaction() as connection:
            connection.execute("INSERT OR IGNORE INTO plans VALUES (?, ?)", (survey, plan))
            kept = connection.execute("SELECT plan FROM plans WHERE survey = ?", (survey,)).fetchone()
            if kept[0] != plan:
                raise other_plan(survey)

    def plans(self) -> dict[str, bytes]:
        """See :meth:`Store.plans`."""
        with self._errors(), self._connection() as connection:
            return dict(connection.execute("SELECT survey, plan FROM plans").fetchall())

    def set_window(self, survey: str, window: bytes) -> None:
        """See :meth:`Store.set_window`."""
        with self._transaction() as connection:
            known = [name for (name,) in connection.execute("SELECT survey FROM plans")]
            if survey not in known:
                raise no_survey(survey, known)
            connection.execute("INSERT OR REPLACE INTO windows VALUES (?, ?)", (survey, window))

    def windows(self) -> dict[str, bytes]:
        """See :meth:`Store.windows`."""
        with self._errors(), self._connection() as connection:
            return dict(connection.execute("SELECT survey, window FROM windows").fetchall())

    def record(self, batches: Sequence[Batch]) -> list[Known]:
        """See :meth:`Store.record`: one transaction, so one sync of the disk, for all of them."""
        with self._transaction() as connection:
            return [_record(connection, batch) for batch in batches]

    def known(self, survey: str, ids: Mapping[str, NDArray[np.uint8]]) -> dict[str, Known]:
        """See :meth:`Store.known`."""
        query = "SELECT number FROM counters WHERE survey = ? AND name = ?"
        with self._errors(), self._connection() as connection:
            numbers = {name: connection.execute(query, (survey, name)).fetchone() for name in ids}
            return {
                name: _known(connection, number[0], rows_of(ids[name])) if number else {}
                for name, number in numbers.items()
            }

    def totals(self, survey: str) -> dict[str, Total]:
        """See :meth:`Store.totals`."""
        query = "SELECT name, n, cells FROM counters WHERE survey = ?"
        with self._errors(), self._connection() as connection:
            rows = connection.execute(query, (survey,)).fetchall()
        return {counter: Total(n, _unpack(cells)) for counter, n, cells in rows}

    def reports(self, survey: str, counter: str) -> Iterator[Remembered]:
        """See :meth:`Store.reports`: in the order of the ids, each piece in a transaction of its own."""
        query = (
            "SELECT id, mark FROM reports WHERE id > ? AND counter = "
            "(SELECT number FROM counters WHERE survey = ? AND name = ?) ORDER BY id LIMIT ?"
        )
        last: bytes | None = b""
        while last is not None:
            with self._errors(), self._connection() as connection:
                entries = dict(connection.execute(query, (last, survey, counter, PIECE)).fetchall())
            if entries:
                yield columns_of(entries)
            last = next(reversed(entries), None)

    def reject(self, survey: str, reason: str, count: int = 1) -> None:
        """See :meth:`Store.reject`."""
        with self._transaction() as connection:
            connection.execute(
                "INSERT INTO rejections VALUES (?, ?, ?) "
                "ON CONFLICT DO UPDATE SET count = count + excluded.count",
                (survey, reason, count),
            )

    def rejections(self, survey: str) -> dict[str, int]:
        """See :meth:`Store.rejections`."""
        with self._errors(), self._connection() as connection:
            query = "SELECT reason, count FROM rejections WHERE survey = ?"
            return dict(connection.execute(query, (survey,)).fetchall())

    def ready(self) -> None:
        """See :meth:`Store.ready`: takes the write lock and lets it go."""
        with self._transaction():
            pass

    def promise(self, policy: Policy) -> str:
        """See :meth:`Store.promise`: every commit is synced."""
        return DURABLE

    def close(self) -> None:
        """Close this thread's connection; the others close when their threads end."""
        opened = self._mine.__dict__.pop("opened", None)
        if opened is not None:
            opened.connection.close()

    @contextmanager
    def _transaction(self) -> Iterator[sqlite3.Connection]:
        with self._errors(), self._connection() as connection:
            connection.execute("BEGIN IMMEDIATE")
            try:
                yield connection
                connection.execute("COMMIT")
            finally:
                # whatever failed, the next act finds no transaction open; a full disk has ended it already
                if connection.in_transaction:
                    connection.execute("ROLLBACK")

    @contextmanager
    def _connection(self) -> Iterator[sqlite3.Connection]:
        """Yield this thread's connection, opened in this very process."""
        opened: _Opened | None = getattr(self._mine, "opened", None)
        if opened is None or opened.pid != os.getpid():
            # an inherited connection is kept aside unclosed: closing it would free the parent's locks
            self._mine.inherited, self._mine.opened = opened, _Opened(self._path, self._read_only)
        yield self._mine.opened.connection

    @contextmanager
    def _errors(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.Error as error:
            raise StoreError(f"the SQLite store cannot be used: {error}") from error


class _Opened:
    """A connection and the process that opened it; closed with the thread that it belongs to."""

    def __init__(self, path: str, read_only: bool) -> None:
        self.pid = os.getpid()
        place = f"{Path(path).absolute().as_uri()}?mode=ro" if read_only else path
        self.connection = sqlite3.connect(
            place, timeout=_BUSY_SECONDS, isolation_level=None, check_same_thread=False, uri=read_only
        )
        weakref.finalize(self, self.connection.close).atexit = False
        if not read_only:
            _use_wal(self.connection)
            self.connection.execute("PRAGMA synchronous = FULL")


def _use_wal(connection: sqlite3.Connection) -> None:
    """Switch to a write-ahead log; alone of all statements, this one does not wait for a lock by itself."""
    end = time.monotonic() + _BUSY_SECONDS
    while True:
        try:
            connection.execute("PRAGMA journal_mode = WAL")
            return
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY or time.monotonic() > end:
                raise
            time.sleep(0.01)


def _record(connection: sqlite3.Connection, batch: Batch) -> Known:
    counter, old = _counter(connection, batch)
    cells = add(old.cells, batch.tally)  # before anything is written
    rows = [(counter, *entry) for entry in batch.entries()]
    connection.execute("SAVEPOINT batch")
    before = connection.total_changes
    connection.executemany("INSERT OR IGNORE INTO reports VALUES (?, ?, ?)", rows)
    if connection.total_changes - before < len(rows):
        connection.execute("ROLLBACK TO batch")
        known = _known(connection, counter, rows_of(batch.ids))
    else:
        known = {}
        connection.execute(
            "UPDATE counters SET n = ?, cells = ? WHERE number = ?",
            (old.n + len(rows), cells.astype("<i8").tobytes(), counter),
        )
    connection.execute("RELEASE batch")
    return known


def _counter(connection: sqlite3.Connection, batch: Batch) -> tuple[int, Total]:
    """Return a counter's number and what it holds; make it if it is new."""
    query = "SELECT number, n, cells FROM counters WHERE survey = ? AND name = ?"
    row = connection.execute(query, (batch.survey, batch.counter)).fetchone()
    if row:
        return row[0], Total(row[1], _unpack(row[2]))
    empty = Total(0, np.zeros_like(batch.tally))
    made = connection.execute(
        "INSERT INTO counters (survey, name, n, cells) VALUES (?, ?, 0, ?)",
        (batch.survey, batch.counter, empty.cells.astype("<i8").tobytes()),
    )
    assert made.lastrowid is not None
    return made.lastrowid, empty


def _known(connection: sqlite3.Connection, counter: int, ids: Sequence[bytes]) -> Known:
    query = "SELECT mark FROM reports WHERE counter = ? AND id = ?"
    found = ((each, connection.execute(query, (counter, each)).fetchone()) for each in ids)
    return {report_id: row[0] for report_id, row in found if row}


def _unpack(cells: bytes) -> Int64Array:
    return np.frombuffer(cells, "<i8").astype(np.int64)
