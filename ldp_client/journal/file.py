"""The journal's file: its path, opened for each transaction, renamed when it is damaged.

Nothing stays open between two transactions, so nothing is shared with a forked child. A fork waits for the
transaction of another thread to end: half a transaction must not be inherited.
"""

from __future__ import annotations

import itertools
import os
import sqlite3
import threading
import weakref
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path

from encoders.late_imports import LateImport
from ldp_client.errors import BAD_OPTION, JournalError
from ldp_client.journal.table import create_tables
from ldp_client.stored_consent import DAMAGED_SUFFIX, absolute_path, check_person, journal_path

_DESCRIBE_OTHER = LateImport("encoders.file_kind:describe_other")  # loaded after an error
_LOCK_TIMEOUT_SECONDS = 10.0
_SYNCHRONOUS = "EXTRA"
"""A commit is the removal of SQLite's own journal, and only this syncs the directory after it."""
_DAMAGE_ERROR_CODES = (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)
_FILE_SUFFIXES = ("", "-journal")  # SQLite's rollback journal belongs to its database
_memory_numbers = itertools.count()

_process_lock = threading.RLock()
"""Held during every transaction, and by a fork: a child must not inherit half a transaction."""


class JournalFile:
    """The SQLite file of a journal, or a database in memory.

    Raises JournalError if the path is empty, or the person's name is not valid. Other errors of the file are
    raised when it is used.
    """

    def __init__(self, path: str | os.PathLike[str] | None = None, person: str | None = None) -> None:
        try:
            self._path = "" if path is None else os.fsdecode(path)
        except TypeError as error:
            raise JournalError("journal must be the path of a file, or a Journal", BAD_OPTION) from error
        if path is not None and not self._path:
            raise JournalError(
                "the journal needs a path: with an empty one, every report would be forgotten", BAD_OPTION
            )
        self._person = check_person(person, path)
        self._memory: sqlite3.Connection | None = None
        self._number = next(_memory_numbers)
        if self._path == ":memory:":
            self._memory = sqlite3.connect(self._path, isolation_level=None, check_same_thread=False)
            # not at exit: the sender's thread may be reading it, which would crash the interpreter
            weakref.finalize(self, self._memory.close).atexit = False
        elif self._path:
            self._path = absolute_path(self._path)

    @property
    def path(self) -> str:
        """The file's absolute path, or ":memory:"."""
        if not self._path:
            self._path = journal_path(self._person)
        return self._path

    @property
    def key(self) -> str:
        """A string that is equal for two objects of one file."""
        return f":memory:{self._number}" if self._memory else self.path

    def exists(self) -> bool:
        """Return whether the journal's file exists; never raises an error."""
        try:
            return self._memory is not None or os.path.exists(self.path)
        except JournalError:
            return False

    def forget_damaged(self) -> bool:
        """Delete a damaged journal file that was renamed; return whether there was one.

        This also deletes the record of which surveys this device answered. So a survey may then be answered,
        and its epsilon spent, a second time.
        """
        existed = os.path.exists(self.path + DAMAGED_SUFFIX)
        for suffix in _FILE_SUFFIXES:
            with _journal_errors(), suppress(FileNotFoundError):
                os.remove(f"{self.path}{DAMAGED_SUFFIX}{suffix}")
        return existed

    @contextmanager
    def _transaction(self, writes: bool = True) -> Iterator[sqlite3.Connection]:
        """Return a context of one transaction: locks the file, commits on success, rolls back on errors."""
        with _process_lock, _journal_errors(), self._connect(writes) as connection:
            connection.execute("BEGIN IMMEDIATE" if writes else "BEGIN")
            try:
                self._require_undamaged()
                yield connection
                connection.execute("COMMIT")
            finally:
                if connection.in_transaction:  # a full disk has ended it already
                    connection.execute("ROLLBACK")

    @contextmanager
    def _connect(self, writes: bool) -> Iterator[sqlite3.Connection]:
        if self._memory is not None:
            self._create_tables(self._memory)
            yield self._memory
        elif writes or self.exists():
            with self._open_file() as connection:
                yield connection
        else:  # reading makes no file
            self._require_undamaged()
            with closing(sqlite3.connect(":memory:", isolation_level=None)) as empty:
                self._create_tables(empty)
                yield empty

    def _create_tables(self, connection: sqlite3.Connection) -> None:
        """Create the journal's tables in an empty file."""
        create_tables(connection)

    @contextmanager
    def _open_file(self) -> Iterator[sqlite3.Connection]:
        self._require_undamaged()
        file_id = _create_private_file(self.path)
        try:
            with closing(
                sqlite3.connect(self.path, timeout=_LOCK_TIMEOUT_SECONDS, isolation_level=None)
            ) as connection:
                connection.execute(f"PRAGMA synchronous = {_SYNCHRONOUS}")
                connection.execute("PRAGMA fullfsync = ON")  # macOS: past the disk's cache
                connection.execute("PRAGMA secure_delete = ON")
                self._create_tables(connection)
                yield connection
        except sqlite3.DatabaseError as error:
            if getattr(error, "sqlite_errorcode", 0) & 0xFF in _DAMAGE_ERROR_CODES:
                kinds = "binary", "database", "gzip", "reports", "text"
                if other := _DESCRIBE_OTHER.load()(Path(self.path), *kinds):
                    raise JournalError(f"this is not a journal: give another path{other}") from error
                self._rename_damaged(file_id)
            raise

    def _rename_damaged(self, file_id: tuple[int, int]) -> None:
        """Rename a damaged file. While the renamed file exists, nothing is reported: its answers are lost."""
        with suppress(OSError):
            if _file_id(os.stat(self.path)) == file_id:  # else another process was faster
                for suffix in _FILE_SUFFIXES:
                    os.replace(f"{self.path}{suffix}", f"{self.path}{DAMAGED_SUFFIX}{suffix}")
        self._require_undamaged()

    def _require_undamaged(self) -> None:
        if self._memory is None and os.path.exists(self.path + DAMAGED_SUFFIX):
            raise JournalError(
                "the journal was damaged and renamed, so it is unknown which surveys this device answered, "
                f"and nothing is reported: `ldp-client purge --damaged --journal {self.path}` deletes the "
                "damaged file and begins a new journal",
                "journal-damaged",
            )


def _create_private_file(path: str) -> tuple[int, int]:
    """Create the file, readable only by its owner, unless it exists; return its device and inode number."""
    Path(path).parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    if not os.access(path, os.W_OK):
        # never where the file is there: to close it would unlock, by POSIX, what an outer transaction holds
        os.close(os.open(path, os.O_RDWR | os.O_CREAT, 0o600))
    status = os.stat(path)
    if status.st_mode & 0o077:
        with suppress(OSError):  # another user owns the file
            os.chmod(path, 0o600)
    return _file_id(status)


def _file_id(status: os.stat_result) -> tuple[int, int]:
    return status.st_dev, status.st_ino


@contextmanager
def _journal_errors() -> Iterator[None]:
    """Return a context that raises errors of SQLite and of the operating system as JournalError."""
    try:
        yield
    except (sqlite3.Error, OSError) as error:
        # only the system's own text: another may quote anything
        why = type(error).__name__ if getattr(error, "errno", 0) is None else error
        raise JournalError(f"the journal cannot be used: {why}") from error


def _renew_process_lock() -> None:
    global _process_lock
    _process_lock = threading.RLock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=lambda: _process_lock.acquire(),
        after_in_parent=lambda: _process_lock.release(),
        after_in_child=_renew_process_lock,
    )
