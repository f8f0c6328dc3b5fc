"""The file of the SQLite store: connections and tables."""

from __future__ import annotations

import errno
import os
import sqlite3
import time
import weakref
from pathlib import Path

from ldp_aggregator.stores.failure import StoreError, StoreFailure
from ldp_aggregator.stores.sqlite_buckets import SCHEMA

_BUSY_SECONDS = 5.0
"""Longest wait for another process that has locked the file."""
_VERSION = 1
"""Stored in the file as SQLite's `user_version`."""

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
    *SCHEMA,
    f"PRAGMA user_version = {_VERSION}",
)


class ThreadConnection:
    """A connection and the process that opened it; closed when its thread ends."""

    def __init__(self, path: str, read_only: bool) -> None:
        self.pid, self.closed = os.getpid(), False
        self.connection = connect(path, _BUSY_SECONDS, "ro" if read_only else "rw")
        weakref.finalize(self, self.connection.close).atexit = False
        if not read_only:
            is_store(self.connection)  # raises before the first change to a file of another program
            _use_wal(self.connection)
            self.connection.execute("PRAGMA synchronous = FULL")
            self.connection.execute("PRAGMA secure_delete = ON")  # old content of a page shows the order

    def close(self) -> None:
        if self.pid == os.getpid():
            self.closed = True
            self.connection.close()


FileIdentity = tuple[int, int]
"""Device and number of a file, which it keeps if it is moved."""


def identify(path: str, former: FileIdentity | None = None) -> FileIdentity:
    """Return the identity of the file; raise StoreError if it is missing, or another one than `former`.

    A connection to a moved or deleted file still writes to it, and what it writes may be lost. A new
    connection to another file would read the log of the old one, which has the same name.
    """
    try:
        status = os.stat(path)
    except FileNotFoundError as error:
        raise StoreError(
            f"the SQLite file {path} does not exist: check the path", StoreFailure.FILE_MISSING
        ) from error
    if former not in (None, (status.st_dev, status.st_ino)):
        raise StoreError(
            "the SQLite file was replaced by another one: restart the collector to use that one",
            StoreFailure.FILE_REPLACED,
        )
    return status.st_dev, status.st_ino


def connect(path: str, busy_seconds: float, mode: str = "rw") -> sqlite3.Connection:
    return sqlite3.connect(
        f"{Path(path).absolute().as_uri()}?mode={mode}",
        timeout=busy_seconds,
        isolation_level=None,
        check_same_thread=False,
        uri=True,
    )


def create_private(path: str) -> bool:
    """Create the file with access for its owner only; return False if it exists.

    SQLite gives its log the same mode. A dangling symbolic link is not followed, because an attacker may have
    placed it. Raises StoreError if the folder does not exist.
    """
    folder = Path(path).parent
    if not folder.is_dir():
        raise StoreError(
            f"the folder {folder} does not exist: create it, or give another path", StoreFailure.FILE_MISSING
        )
    try:
        os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600))
    except FileExistsError:
        return False
    return True


def remove_file(path: str) -> None:
    """Delete a file, with the log that SQLite leaves if the disk is full."""
    for suffix in ("", "-wal", "-shm"):
        Path(path + suffix).unlink(missing_ok=True)


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


_FAILURES = {
    sqlite3.SQLITE_FULL: StoreFailure.DISK_FULL,
    sqlite3.SQLITE_READONLY: StoreFailure.READ_ONLY,
    sqlite3.SQLITE_BUSY: StoreFailure.LOCKED,
    sqlite3.SQLITE_LOCKED: StoreFailure.LOCKED,
    sqlite3.SQLITE_CORRUPT: StoreFailure.DAMAGED,
    sqlite3.SQLITE_NOTADB: StoreFailure.DAMAGED,
    sqlite3.SQLITE_IOERR: StoreFailure.DISK_ERROR,
    sqlite3.SQLITE_CANTOPEN: StoreFailure.NO_PERMISSION,
    sqlite3.SQLITE_PERM: StoreFailure.NO_PERMISSION,
    sqlite3.SQLITE_NOMEM: StoreFailure.OUT_OF_MEMORY,
}
"""Why the store cannot be used, by SQLite's primary error code."""
_OS_FAILURES = {
    errno.ENOSPC: StoreFailure.DISK_FULL,
    errno.EDQUOT: StoreFailure.DISK_FULL,
    errno.EROFS: StoreFailure.READ_ONLY,
    errno.EACCES: StoreFailure.NO_PERMISSION,
    errno.EPERM: StoreFailure.NO_PERMISSION,
    errno.EIO: StoreFailure.DISK_ERROR,
}


def classify_failure(error: Exception) -> StoreFailure:
    """Return the reason why the store cannot be used, from an error of SQLite or of the operating system."""
    if isinstance(error, OSError):
        return _OS_FAILURES.get(error.errno or 0, StoreFailure.OTHER)
    return _FAILURES.get(getattr(error, "sqlite_errorcode", 0) & 0xFF, StoreFailure.OTHER)


def is_store(connection: sqlite3.Connection) -> bool:
    """Return whether a file has a store's tables, or is empty; StoreError for any other content."""
    # one statement: another process may create the tables meanwhile
    version, tables, has_counters = connection.execute(
        "SELECT user_version, (SELECT count(*) FROM sqlite_master), "
        "EXISTS (SELECT 1 FROM sqlite_master WHERE name = 'counters') FROM pragma_user_version"
    ).fetchone()
    if not version and not tables:
        return False
    if version != _VERSION or not has_counters:
        raise StoreError(
            f"this SQLite file is not a store of version {_VERSION}: it belongs to another program, or is a "
            f"store of version {version}: use the release that wrote it, or give another file"
        )
    return True


def create_tables(connection: sqlite3.Connection) -> None:
    """Create all tables in an empty file, unless another process was faster."""
    for statement in _SCHEMA:
        connection.execute(statement)
