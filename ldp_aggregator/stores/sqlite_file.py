"""The file of the SQLite store: connections, tables, and the upgrade of files of earlier versions."""

from __future__ import annotations

import os
import sqlite3
import time
import weakref
from contextlib import suppress
from pathlib import Path

import numpy as np

from ldp_aggregator.stores import sqlite_buckets as buckets
from ldp_aggregator.stores.base import StoreError

_BUSY_SECONDS = 30.0
_ENTRY_BYTES = 24
"""Size of an entry: id and mark."""

_SCHEMA = (
    "CREATE TABLE IF NOT EXISTS plans (survey TEXT PRIMARY KEY, plan BLOB NOT NULL) WITHOUT ROWID",
    "CREATE TABLE IF NOT EXISTS texts (survey TEXT PRIMARY KEY, texts BLOB NOT NULL) WITHOUT ROWID",
    "CREATE TABLE IF NOT EXISTS windows (survey TEXT PRIMARY KEY, window BLOB NOT NULL) WITHOUT ROWID",
    """CREATE TABLE IF NOT EXISTS counters (
        number INTEGER PRIMARY KEY, survey TEXT NOT NULL, name TEXT NOT NULL, n INTEGER NOT NULL,
        cells BLOB NOT NULL, UNIQUE (survey, name)
    )""",
    """CREATE TABLE IF NOT EXISTS rejections (
        survey TEXT NOT NULL, reason TEXT NOT NULL, count INTEGER NOT NULL, PRIMARY KEY (survey, reason)
    ) WITHOUT ROWID""",
    *buckets.SCHEMA,
)
_REPORTS_VIEW = "CREATE VIEW reports AS SELECT number, entries FROM buckets"
"""Earlier versions kept ids in a table of this name. On a view they fail; they do not recount known ids."""


class ThreadConnection:
    """A connection and the process that opened it; closed when its thread ends."""

    def __init__(self, path: str, read_only: bool) -> None:
        self.pid, self.closed = os.getpid(), False
        self.connection = connect(path, _BUSY_SECONDS, "ro" if read_only else "rw")
        weakref.finalize(self, self.connection.close).atexit = False
        if not read_only:
            _use_wal(self.connection)
            self.connection.execute("PRAGMA synchronous = FULL")
            self.connection.execute("PRAGMA secure_delete = ON")  # old content of a page shows the order

    def close(self) -> None:
        """Close the connection, unless it belongs to the parent of this process."""
        if self.pid == os.getpid():
            self.closed = True
            self.connection.close()


def connect(path: str, busy_seconds: float, mode: str = "rw") -> sqlite3.Connection:
    """Open an existing file."""
    return sqlite3.connect(
        f"{Path(path).absolute().as_uri()}?mode={mode}",
        timeout=busy_seconds,
        isolation_level=None,
        check_same_thread=False,
        uri=True,
    )


def create_private(path: str) -> None:
    """Create the file with access for its owner only, unless it exists; SQLite gives its log the same mode.

    A dangling symbolic link is not followed, because an attacker may have placed it.
    """
    with suppress(FileExistsError):
        os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600))


def _use_wal(connection: sqlite3.Connection) -> None:
    """Switch to a write-ahead log; retries, because SQLite does not wait for a lock in this statement."""
    end = time.monotonic() + _BUSY_SECONDS
    while True:
        try:
            connection.execute("PRAGMA journal_mode = WAL")
            return
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY or time.monotonic() > end:
                raise
            time.sleep(0.01)


def reports_object_type(connection: sqlite3.Connection) -> str | None:
    """Return "view" for a file of this version, "table" for one of an earlier version, else None."""
    row = connection.execute("SELECT type FROM sqlite_master WHERE name = 'reports'").fetchone()
    return row[0] if row else None


def has_texts(connection: sqlite3.Connection) -> bool:
    """Return whether the file has the table of texts, which earlier versions did not create."""
    query = "SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = 'texts'"
    return connection.execute(query).fetchone() is not None


def create_or_upgrade(connection: sqlite3.Connection) -> None:
    """Create all tables; convert the ids of an earlier version, which kept one row per id."""
    kind = reports_object_type(connection)
    for statement in _SCHEMA:
        connection.execute(statement)
    if kind == "table":
        for number, n in connection.execute("SELECT number, n FROM counters").fetchall():
            query = "SELECT id, mark FROM reports WHERE counter = ? ORDER BY id"
            entries = bytearray()
            for name, mark in connection.execute(query, (number,)):
                entries += name + mark
            if len(entries) != n * _ENTRY_BYTES:
                raise StoreError(
                    f"this file of an earlier version is damaged: counter {number} has {n} reports, but "
                    f"{len(entries) / _ENTRY_BYTES:g} ids; restore it from a backup"
                )
            if entries:
                reports = np.frombuffer(entries, np.uint8).reshape(-1, _ENTRY_BYTES)
                buckets.Buckets(connection, number, n).fill(reports)
        connection.execute("DROP TABLE reports")
    if kind != "view":
        connection.execute(_REPORTS_VIEW)
