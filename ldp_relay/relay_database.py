"""Opens the SQLite file of a relay; a file of an earlier version gets the present tables."""

from __future__ import annotations

import errno
import os
import secrets
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from importlib.resources import files
from pathlib import Path
from tempfile import TemporaryFile

from encoders.errors import LdpError

SECRET_BYTES = 32
_VERSION = 1
"""Stored in the file as SQLite's `user_version`; increase it if earlier builds cannot use the tables."""
_BUSY_SECONDS = 30.0
_CHECK_SECONDS, _CHECK_BYTES = 3.0, 1 << 20
_FAILURES = {errno.ENOENT: "file-missing", errno.ENOSPC: "disk-full", errno.EROFS: "read-only"}
FAILURES = (*_FAILURES.values(), "file-replaced", "locked", "disk-error")
"""The reasons of :func:`find_failure`."""
_TABLES = files(__package__).joinpath("relay_database.sql").read_text("utf-8").split(";")


def open_database(path: Path) -> sqlite3.Connection:
    """Open the file, or create it for its owner only; LdpError if a later version wrote it."""
    with suppress(FileExistsError):
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
    database = sqlite3.connect(path, timeout=_BUSY_SECONDS, isolation_level=None, check_same_thread=False)
    if database.execute("PRAGMA user_version").fetchone()[0] > _VERSION:
        database.close()
        raise LdpError(f"{path}: a later version of ldp-relay wrote this database: run that version again")
    for pragma in ("journal_mode = WAL", "synchronous = FULL", "secure_delete = ON"):
        database.execute(f"PRAGMA {pragma}")
    with transaction(database):
        _replace_positions(database)
        for statement in _TABLES:
            database.execute(statement)
        database.execute(f"PRAGMA user_version = {_VERSION}")
    return database


def find_failure(path: Path, opened: os.stat_result) -> str:
    """Return why the file cannot be written to, one of FAILURES; "" if it can.

    The check leaves nothing in the file: its log would show when the messages between two checks arrived.
    """
    try:
        if not os.path.samestat(path.stat(), opened):
            return "file-replaced"
        with TemporaryFile(dir=path.parent) as beside:
            beside.write(bytes(_CHECK_BYTES))
            beside.flush()
        url = f"{path.absolute().as_uri()}?mode=rw"  # creates no file
        with closing(sqlite3.connect(url, _CHECK_SECONDS, isolation_level=None, uri=True)) as database:
            database.execute("BEGIN IMMEDIATE")
    except OSError as error:
        return _FAILURES.get(error.errno or 0, "disk-error")
    except sqlite3.Error as error:
        return "locked" if error.sqlite_errorcode & 0xFF == sqlite3.SQLITE_BUSY else "disk-error"
    return ""


@contextmanager
def transaction(database: sqlite3.Connection) -> Iterator[None]:
    """Return a context that writes everything in it, or nothing."""
    database.execute("BEGIN IMMEDIATE")
    try:
        yield
        database.execute("COMMIT")
    except BaseException:
        if database.in_transaction:
            database.execute("ROLLBACK")
        raise


def _replace_positions(database: sqlite3.Connection) -> None:
    """Change a file whose rows have their places in a batch; what is left of a batch gets a new order."""
    messages, batches = (_columns(database, table) for table in ("messages", "batches"))
    if "position" not in messages:
        return
    if "rejected" not in batches:
        database.execute("ALTER TABLE batches ADD COLUMN rejected TEXT NOT NULL DEFAULT ''")
    database.execute("DROP INDEX IF EXISTS held")
    database.execute("ALTER TABLE messages DROP COLUMN position")
    database.execute("ALTER TABLE messages ADD COLUMN has_left INTEGER NOT NULL DEFAULT 0")
    database.execute(
        "UPDATE messages SET has_left = 1, batch = NULL WHERE content IS NULL AND batch NOT NULL"
    )
    database.execute("ALTER TABLE batches RENAME TO old_batches")
    database.execute(_TABLES[0])  # batches
    database.execute(
        "INSERT INTO batches (number, survey, hour, size, rejected) "
        "SELECT number, survey, hour, size, rejected FROM old_batches"
    )
    database.execute("DROP TABLE old_batches")
    for (number,) in database.execute("SELECT DISTINCT batch FROM messages WHERE batch NOT NULL").fetchall():
        secret = secrets.token_bytes(SECRET_BYTES)
        database.execute("UPDATE batches SET secret = ? WHERE number = ?", (secret, number))


def _columns(database: sqlite3.Connection, table: str) -> set[str]:
    return {row[1] for row in database.execute(f"PRAGMA table_info({table})")}
