"""The journal's file: opened for each act, brought up to date, set aside when it is damaged.

Nothing stays open between two acts, so nothing is shared with a forked child, and a fork waits for the act
of another thread to end: half a transaction must not be inherited.
"""

from __future__ import annotations

import itertools
import os
import sqlite3
import sys
import threading
import weakref
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path

from ldp_client.errors import JournalError

NEWER = "the journal was written by a newer version, or edited"
_BUSY_SECONDS = 10.0
_SYNCHRONOUS = "FULL"
_SCHEMA = (
    """
    CREATE TABLE surveys (
        survey  TEXT PRIMARY KEY,
        family  TEXT NOT NULL,
        url     TEXT NOT NULL,
        digest  TEXT NOT NULL,
        signer  TEXT NOT NULL DEFAULT '',
        epsilon TEXT NOT NULL DEFAULT '0',
        state   TEXT NOT NULL,
        reason  TEXT NOT NULL DEFAULT '',
        plan    BLOB,
        report  BLOB
    )
    """,
    "CREATE INDEX families ON surveys (family)",
    "CREATE INDEX waiting ON surveys (survey) WHERE state = 'queued'",
)
_UPGRADES = {
    0: (
        "ALTER TABLE answers ADD COLUMN family TEXT NOT NULL DEFAULT ''",
        "UPDATE answers SET family = survey",
    ),
    1: (
        *_SCHEMA,
        """INSERT INTO surveys (survey, family, url, digest, epsilon, report, state, reason)
           SELECT survey, family, url, digest, epsilon, report, state, reason FROM answers""",
        "DROP TABLE answers",
    ),
}
_VERSION = 2
_DAMAGE = (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)
_SET_ASIDE = ".damaged"
_PARTS = ("", "-journal")  # SQLite's rollback journal belongs to its database
_numbers = itertools.count()

_turn = threading.RLock()
"""Held during every act on a journal, and by a fork: a child must not inherit half a transaction."""


class JournalFile:
    """One SQLite file, or a stand-in in memory.

    Parameters
    ----------
    path : path, optional
        By default ``$LDP_JOURNAL``, else the platform's place for application data.
        ":memory:" forgets everything with the process.

    Raises
    ------
    JournalError
        If the path is empty. All else that is wrong with it shows when it is used.
    """

    def __init__(self, path: str | os.PathLike[str] | None = None) -> None:
        self._path = "" if path is None else os.fsdecode(path)
        if path is not None and not self._path:
            raise JournalError("the journal needs a path: an empty one would forget each report")
        self._memory: sqlite3.Connection | None = None
        self._number = next(_numbers)
        if self._path == ":memory:":
            self._memory = sqlite3.connect(self._path, isolation_level=None, check_same_thread=False)
            # not at exit: the sender's thread may be reading it, which would crash the interpreter
            weakref.finalize(self, self._memory.close).atexit = False
        elif self._path:
            # made absolute once: a process that changes its directory must find the same journal again
            self._path = os.path.abspath(self._path)

    @property
    def path(self) -> str:
        """Where it is: a file's absolute path, or ":memory:"."""
        if not self._path:
            self._path = os.path.abspath(default_path())
        return self._path

    @property
    def key(self) -> str:
        """Equal for journals that are one file."""
        return f":memory:{self._number}" if self._memory else self.path

    def forget_damaged(self) -> None:
        """Delete a damaged journal that was set aside, and with it what this device knew of its answers.

        From then on a survey may be answered, and its epsilon be spent, a second time.
        """
        for part in _PARTS:
            with _clear(), suppress(FileNotFoundError):
                os.remove(f"{self.path}{_SET_ASIDE}{part}")

    @contextmanager
    def transaction(self, writes: bool = True) -> Iterator[sqlite3.Connection]:
        """Hold the file's lock; commit on success, roll back on any error."""
        with _turn, _clear():
            try:
                with self._connection() as connection:
                    connection.execute("BEGIN IMMEDIATE" if writes else "BEGIN")
                    self._require_whole()
                    try:
                        yield connection
                        connection.execute("COMMIT")
                    finally:
                        if connection.in_transaction:  # a full disk has ended it already
                            connection.execute("ROLLBACK")
            except sqlite3.DatabaseError as error:
                if getattr(error, "sqlite_errorcode", 0) & 0xFF in _DAMAGE:
                    self._set_aside()
                raise

    @contextmanager
    def _connection(self) -> Iterator[sqlite3.Connection]:
        if self._memory is not None:
            _upgrade(self._memory)
            yield self._memory
            return
        self._require_whole()
        Path(self.path).parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        if not os.access(self.path, os.W_OK):  # else: closing would unlock, by POSIX, what an outer act holds
            os.close(os.open(self.path, os.O_RDWR | os.O_CREAT, 0o600))  # for this person's eyes only
        with closing(sqlite3.connect(self.path, timeout=_BUSY_SECONDS, isolation_level=None)) as connection:
            connection.execute(f"PRAGMA synchronous = {_SYNCHRONOUS}")
            connection.execute("PRAGMA secure_delete = ON")
            _upgrade(connection)
            yield connection

    def _set_aside(self) -> None:
        """Rename a damaged file. While it lies there nothing is reported, since nobody knows what was."""
        for part in _PARTS if self._memory is None else ():
            with suppress(OSError):
                os.replace(f"{self.path}{part}", f"{self.path}{_SET_ASIDE}{part}")
        self._require_whole()

    def _require_whole(self) -> None:
        if self._memory is None and os.path.exists(self.path + _SET_ASIDE):
            raise JournalError(
                "the journal was damaged and set aside, so this device no longer knows what it answered, and "
                "reports nothing: `ldp-client purge --damaged` forgets those answers and starts afresh",
                "journal-damaged",
            )


@contextmanager
def _clear() -> Iterator[None]:
    try:
        yield
    except (sqlite3.Error, OSError) as error:
        raise JournalError(f"the journal cannot be used: {error}") from error


def default_path() -> Path:
    """Return ``$LDP_JOURNAL``, or where this platform keeps an application's data."""
    try:
        return _default_path()
    except RuntimeError as error:
        raise JournalError("there is no home directory for the journal: set LDP_JOURNAL") from error


def _default_path() -> Path:
    if named := os.environ.get("LDP_JOURNAL"):
        return Path(named).expanduser()
    if sys.platform == "darwin":
        base = Path.home() / "Library" / "Application Support"
    elif sys.platform == "win32":
        base = Path(os.environ.get("LOCALAPPDATA") or Path.home())
    else:
        chosen = os.environ.get("XDG_DATA_HOME", "")
        # the XDG specification: a relative path is to be ignored
        base = Path(chosen) if os.path.isabs(chosen) else Path.home() / ".local" / "share"
    return base / "ldp-client" / "journal.db"


def _upgrade(connection: sqlite3.Connection) -> None:
    """Create the table, or bring an older version's up to date."""
    if _version(connection) == _VERSION:
        return
    connection.execute("BEGIN IMMEDIATE")
    with connection:  # commits, or rolls back
        version = _version(connection)
        if version > _VERSION:
            raise JournalError(NEWER)
        new = version == 0 and not connection.execute("SELECT 1 FROM sqlite_master").fetchone()
        older = [step for old in range(version, _VERSION) for step in _UPGRADES[old]]
        for step in _SCHEMA if new else older:
            connection.execute(step)
        connection.execute(f"PRAGMA user_version = {_VERSION}")


def _version(connection: sqlite3.Connection) -> int:
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    return int(version)


def _renew() -> None:
    global _turn
    _turn = threading.RLock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=lambda: _turn.acquire(), after_in_parent=lambda: _turn.release(), after_in_child=_renew
    )
