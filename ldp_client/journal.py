"""The journal: what this device has answered, on disk before anything is sent.

One small SQLite file holds, per survey, the plan's digest, the epsilon spent, and the report's bytes
until they are delivered. The raw row is never written. A report is made inside the transaction that
records it: two threads or processes can never both randomise, and what was not recorded was never sent.

Every act on a file opens its own connection, so nothing is shared with a forked child or another thread.
"""

from __future__ import annotations

import os
import sqlite3
import sys
import threading
import weakref
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path

from ldp_client.errors import JournalError
from ldp_client.receipt import State

_BUSY_SECONDS = 10.0
_SCHEMA = """
CREATE TABLE answers (
    survey  TEXT PRIMARY KEY,
    family  TEXT NOT NULL,
    digest  TEXT NOT NULL,
    url     TEXT NOT NULL,
    epsilon TEXT NOT NULL,
    report  BLOB,
    state   TEXT NOT NULL,
    reason  TEXT NOT NULL DEFAULT ''
) WITHOUT ROWID
"""


_VERSION = 1
_NEWER = "the journal was written by a newer version, or edited"


@dataclass(frozen=True, slots=True)
class Entry:
    """One survey's line in the journal; `report` is None once it was delivered or refused."""

    survey: str
    digest: str
    url: str
    epsilon: str
    report: bytes | None
    state: State
    reason: str


class Journal:
    """One file of answers, shared by all clients of a device.

    Parameters
    ----------
    path : path, optional
        By default ``$LDP_JOURNAL``, else the platform's place for application data.
        ":memory:" forgets everything with the process: for simulations and tests only.

    Raises
    ------
    JournalError
        If the path is empty.
    """

    def __init__(self, path: str | os.PathLike[str] | None = None) -> None:
        self._path = os.fsdecode(path if path is not None else default_path())
        if not self._path:
            raise JournalError("the journal needs a path: an empty one would forget each report")
        self._memory: sqlite3.Connection | None = None
        if self._path == ":memory:":
            self._memory = sqlite3.connect(self._path, isolation_level=None, check_same_thread=False)
            self._lock = threading.Lock()
            weakref.finalize(self, self._memory.close)
        else:
            # made absolute once: a process that changes its directory must find the same journal again
            self._path = os.path.abspath(self._path)

    def commit(
        self, survey: str, family: str, digest: str, url: str, epsilon: str, make: Callable[[], bytes]
    ) -> tuple[Entry, bool]:
        """Make and record this device's one report for a family of surveys, unless there is one already.

        Parameters
        ----------
        survey, family, digest, url, epsilon : str
            What is answered, by which plan, at which collector, and what it spends.
        make : callable
            Randomises; called at most once, while the journal is locked, and only if its result will
            be recorded in the same transaction.

        Returns
        -------
        entry : Entry
        created : bool
            False if a survey of the family had been answered before; then nothing was drawn, and the
            entry is that survey's.

        Raises
        ------
        JournalError
            If the journal cannot be written; the report, if made, is forgotten unsent.
        """
        with self._transaction() as connection:
            known = _find(connection, survey, family)
            if known:
                return known, False
            entry = Entry(survey, digest, url, epsilon, make(), State.QUEUED, "")
            connection.execute(
                "INSERT INTO answers (survey, family, digest, url, epsilon, report, state) "
                "VALUES (?, ?, ?, ?, ?, ?, ?)",
                (survey, family, digest, url, epsilon, entry.report, entry.state),
            )
        return entry, True

    def find(self, survey: str) -> Entry | None:
        """Return a survey's line, if this device answered it."""
        with self._transaction() as connection:
            return _find(connection, survey)

    def settle(self, survey: str, state: State, reason: str = "") -> None:
        """Note how a queued report ended, and forget its bytes; a later verdict changes nothing."""
        with self._transaction() as connection:
            connection.execute(
                "UPDATE answers SET state = ?, reason = ?, report = NULL "
                "WHERE survey = ? AND state = 'queued'",
                (state, reason, survey),
            )

    @contextmanager
    def _transaction(self) -> Iterator[sqlite3.Connection]:
        """Hold the file's write lock; commit on success, roll back on any error."""
        try:
            with self._connection() as connection:
                connection.execute("BEGIN IMMEDIATE")
                try:
                    _migrate(connection)
                    yield connection
                    connection.execute("COMMIT")
                finally:
                    if connection.in_transaction:  # a full disk has ended it already
                        connection.execute("ROLLBACK")
        except (sqlite3.Error, OSError) as error:
            raise JournalError(f"the journal cannot be used: {error}") from error

    @contextmanager
    def _connection(self) -> Iterator[sqlite3.Connection]:
        if self._memory is not None:
            with self._lock:
                yield self._memory
            return
        Path(self._path).parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        os.close(os.open(self._path, os.O_RDWR | os.O_CREAT, 0o600))  # for this person's eyes only
        with closing(sqlite3.connect(self._path, timeout=_BUSY_SECONDS, isolation_level=None)) as connection:
            connection.execute("PRAGMA synchronous = FULL")
            connection.execute("PRAGMA secure_delete = ON")
            yield connection


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


def _migrate(connection: sqlite3.Connection) -> None:
    """Create the table, or bring that of an older version up to date."""
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    if version == _VERSION:
        return
    if version > _VERSION:
        raise JournalError(_NEWER)
    if connection.execute("SELECT 1 FROM sqlite_master WHERE name = 'answers'").fetchone():
        connection.execute("ALTER TABLE answers ADD COLUMN family TEXT NOT NULL DEFAULT ''")
        connection.execute("UPDATE answers SET family = survey")
    else:
        connection.execute(_SCHEMA)
    connection.execute(f"PRAGMA user_version = {_VERSION}")


def _find(connection: sqlite3.Connection, survey: str, family: str | None = None) -> Entry | None:
    query = "SELECT survey, digest, url, epsilon, report, state, reason FROM answers "
    row = connection.execute(query + "WHERE survey = ? OR family = ?", (survey, family)).fetchone()
    if row is None:
        return None
    survey, digest, url, epsilon, report, state, reason = row
    if state not in list(State):
        raise JournalError(_NEWER)
    return Entry(survey, digest, url, epsilon, report, State(state), reason)
