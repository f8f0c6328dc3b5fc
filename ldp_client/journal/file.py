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
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from pathlib import Path

from ldp_client.errors import JournalError
from ldp_client.journal.path import check_person, path_of_person
from ldp_client.survey_identity import origin_of_url

NEWER = "the journal was written by a newer version, or edited"
_BUSY_SECONDS = 10.0
_SYNCHRONOUS = "EXTRA"
"""A commit is the removal of SQLite's own journal, and only this syncs the directory after it."""
_SCHEMA = (
    """
    CREATE TABLE surveys (
        survey    TEXT NOT NULL,
        origin    TEXT NOT NULL,
        family    TEXT NOT NULL,
        url       TEXT NOT NULL,
        digest    TEXT NOT NULL,
        signer    TEXT NOT NULL DEFAULT '',
        epsilon   TEXT NOT NULL DEFAULT '0',
        state     TEXT NOT NULL,
        reason    TEXT NOT NULL DEFAULT '',
        closed_at REAL,
        plan      BLOB,
        report    BLOB,
        PRIMARY KEY (survey, origin)
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
        "ALTER TABLE answers ADD COLUMN signer TEXT NOT NULL DEFAULT ''",
        "ALTER TABLE answers ADD COLUMN plan BLOB",
        "ALTER TABLE answers RENAME TO surveys",
    ),
    2: (
        "ALTER TABLE surveys RENAME TO former",
        "DROP INDEX IF EXISTS families",
        "DROP INDEX IF EXISTS waiting",
        *_SCHEMA,
        """INSERT INTO surveys (
               survey, origin, family, url, digest, signer, epsilon, state, reason, plan, report
           )
           SELECT
               survey, origin_of_url(url), family, url, digest, signer, epsilon, state, reason, plan, report
           FROM former""",
        "DROP TABLE former",
    ),
}
_VERSION = 3
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
    path, person
        As for :class:`~ldp_client.journal.Journal`.

    Raises
    ------
    JournalError
        If the path is empty, or the person's name is not valid. All else that is wrong with the file shows
        when it is used.
    """

    def __init__(self, path: str | os.PathLike[str] | None = None, person: str | None = None) -> None:
        self._path = "" if path is None else os.fsdecode(path)
        if path is not None and not self._path:
            raise JournalError("the journal needs a path: an empty one would forget each report")
        self._person = check_person(person, path)
        self._memory: sqlite3.Connection | None = None
        self._number = next(_numbers)
        if self._path == ":memory:":
            self._memory = sqlite3.connect(self._path, isolation_level=None, check_same_thread=False)
            # not at exit: the sender's thread may be reading it, which would crash the interpreter
            weakref.finalize(self, self._memory.close).atexit = False
        elif self._path:
            self._path = _absolute(self._path)

    @property
    def path(self) -> str:
        """Where it is: a file's absolute path, or ":memory:"."""
        if not self._path:
            default = _absolute(default_path())
            self._path = path_of_person(default, self._person) if self._person else default
        return self._path

    @property
    def key(self) -> str:
        """Equal for files that are one."""
        return f":memory:{self._number}" if self._memory else self.path

    def exists(self) -> bool:
        """Tell whether there is anything to read; never raises."""
        try:
            return self._memory is not None or os.path.exists(self.path)
        except JournalError:
            return False

    def forget_damaged(self) -> bool:
        """Delete what was set aside; tell whether there was anything."""
        found = os.path.exists(self.path + _SET_ASIDE)
        for part in _PARTS:
            with _clear(), suppress(FileNotFoundError):
                os.remove(f"{self.path}{_SET_ASIDE}{part}")
        return found

    @contextmanager
    def transaction(self, writes: bool = True) -> Iterator[sqlite3.Connection]:
        """Hold the file's lock; commit on success, roll back on any error."""
        with _turn, _clear(), self._connection(writes) as connection:
            connection.execute("BEGIN IMMEDIATE" if writes else "BEGIN")
            self._require_whole()
            try:
                yield connection
                connection.execute("COMMIT")
            finally:
                if connection.in_transaction:  # a full disk has ended it already
                    connection.execute("ROLLBACK")

    @contextmanager
    def _connection(self, writes: bool) -> Iterator[sqlite3.Connection]:
        if self._memory is not None:
            _upgrade(self._memory)
            yield self._memory
        elif writes or self.exists():
            with self._opened() as connection:
                yield connection
        else:  # reading makes no file
            self._require_whole()
            with closing(sqlite3.connect(":memory:", isolation_level=None)) as empty:
                _upgrade(empty)
                yield empty

    @contextmanager
    def _opened(self) -> Iterator[sqlite3.Connection]:
        self._require_whole()
        which = _make_private(self.path)
        try:
            with closing(
                sqlite3.connect(self.path, timeout=_BUSY_SECONDS, isolation_level=None)
            ) as connection:
                connection.execute(f"PRAGMA synchronous = {_SYNCHRONOUS}")
                connection.execute("PRAGMA fullfsync = ON")  # macOS: past the disk's cache
                connection.execute("PRAGMA secure_delete = ON")
                _upgrade(connection)
                yield connection
        except sqlite3.DatabaseError as error:
            if getattr(error, "sqlite_errorcode", 0) & 0xFF in _DAMAGE:
                self._set_aside(which)
            raise

    def _set_aside(self, which: tuple[int, int]) -> None:
        """Rename a damaged file. While it lies there nothing is reported, since nobody knows what was."""
        with suppress(OSError):
            if _identity(os.stat(self.path)) == which:  # else another process was faster
                for part in _PARTS:
                    os.replace(f"{self.path}{part}", f"{self.path}{_SET_ASIDE}{part}")
        self._require_whole()

    def _require_whole(self) -> None:
        if self._memory is None and os.path.exists(self.path + _SET_ASIDE):
            raise JournalError(
                "the journal was damaged and set aside, so this device no longer knows what it answered, and "
                f"reports nothing: `ldp-client purge --damaged --journal {self.path}` forgets those answers "
                "and starts afresh",
                "journal-damaged",
            )


def _absolute(path: str | os.PathLike[str]) -> str:
    """Resolve a path once: a changed directory or a second name must lead to the same journal."""
    try:
        return os.path.realpath(os.path.expanduser(path))
    except (OSError, ValueError) as error:
        raise JournalError(f"no path for a journal: {error}") from error


def _make_private(path: str) -> tuple[int, int]:
    """Make the file if there is none, for this person's eyes only; return what tells it from others."""
    Path(path).parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    if not os.access(path, os.W_OK):
        # never where the file is there: to close it would unlock, by POSIX, what an outer act holds
        os.close(os.open(path, os.O_RDWR | os.O_CREAT, 0o600))
    found = os.stat(path)
    if found.st_mode & 0o077:
        with suppress(OSError):  # not hers to change
            os.chmod(path, 0o600)
    return _identity(found)


def _identity(found: os.stat_result) -> tuple[int, int]:
    return found.st_dev, found.st_ino


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
    connection.create_function("origin_of_url", 1, origin_of_url, deterministic=True)
    connection.execute("BEGIN IMMEDIATE")
    with connection:  # commits, or rolls back
        for step in _steps(connection):
            connection.execute(step)
        connection.execute(f"PRAGMA user_version = {_VERSION}")


def _steps(connection: sqlite3.Connection) -> Sequence[str]:
    """Return what leads from the file's tables to today's."""
    version = _version(connection)
    tables = {name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
    if version == 0 and not tables:
        return _SCHEMA
    if version not in range(_VERSION + 1):
        raise JournalError(NEWER)
    if ("answers" if version < 2 else "surveys") not in tables:
        raise JournalError("this file is another application's database, no journal")
    return [step for old in range(version, _VERSION) for step in _UPGRADES[old]]


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
