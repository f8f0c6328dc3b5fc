"""The embedded store: one durable SQLite file, shared by several workers.

Each write is one immediate transaction, synced to disk before it returns. A connection belongs to one thread
of one process and is opened on first use, so a server may fork after it has made this object. The write-ahead
log holds reports in order of arrival; a background task empties it some seconds after a report.
"""

from __future__ import annotations

import os
import sqlite3
import threading
import time
import weakref
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager, suppress
from pathlib import Path

from encoders.file_kind import describe_other
from ldp_aggregator.arrays import ByteArray
from ldp_aggregator.background_task import BackgroundTask
from ldp_aggregator.stores import sqlite_counters, sqlite_file, store
from ldp_aggregator.stores.failure import Loss, SeenTotals, StoreError, require_whole
from ldp_aggregator.stores.operator_log import DELETED, deleted_survey_error
from ldp_aggregator.stores.sqlite_buckets import find_ids, read_buckets

_CHECKPOINT_SECONDS = 15.0
"""How long a report may stay in the write-ahead log before the log is emptied."""

_RETRY_SECONDS = 5.0

_CHECKPOINT_BUSY_SECONDS = 0.1
"""How long emptying the log may block other writers while it waits for readers of the log."""

_CLOSE_SECONDS = 5.0
"""How long `close` waits for readers of the log."""

_PROBE_STATEMENT = "REPLACE INTO internal VALUES ('probe', randomblob(16000))"
"""Changes about as many pages as one report."""


class SQLiteStore:
    """Counters in one file; see :class:`~ldp_aggregator.stores.store.Store`.

    The file is created if it is missing, unless `create` is false; with `read_only` it must be a store and
    stays unchanged. Cells are stored as little-endian 64-bit integers.
    """

    def __init__(self, path: str, read_only: bool = False, create: bool = True) -> None:
        self._path = path
        self._read_only = read_only
        self._required: dict[str, bytes] = {}
        self.seen = SeenTotals()
        self._file: sqlite_file.FileIdentity | None = None
        self._thread_local = threading.local()
        self._connections: weakref.WeakSet[sqlite_file.ThreadConnection] = weakref.WeakSet()
        self._checkpoint = BackgroundTask(self._empty_log)
        with ExitStack() as undo, self._errors():
            if create and not read_only and sqlite_file.create_private(path):
                undo.callback(sqlite_file.remove_file, path)  # else a full disk would leave an empty file
                undo.callback(self.close)
            with self._connection() as connection:
                has_tables = sqlite_file.is_store(connection)
            if not (read_only or has_tables):
                with self._transaction() as connection:
                    sqlite_file.create_tables(connection)
            undo.pop_all()
        if not read_only:
            self._request_checkpoint()  # a killed process may have left a log

    def publish(self, survey: str, plan: bytes, counters: Sequence[str] = ()) -> None:
        with self._transaction() as connection:
            if tombstone := sqlite_counters.read_notes(connection, DELETED, survey).get(survey):
                raise deleted_survey_error(survey, tombstone)
            stored = connection.execute("SELECT plan FROM plans WHERE survey = ?", (survey,)).fetchone()
            document = store.mark_plan(plan, counters)
            if stored and store.unmark_plan(stored[0]) != plan:
                if totals := sqlite_counters.read_totals(connection, survey):
                    raise store.changed_plan_error(survey, totals)
                connection.execute("DELETE FROM texts WHERE survey = ?", (survey,))
            if stored != (document,):
                connection.execute("REPLACE INTO plans VALUES (?, ?)", (survey, document))

    def plans(self, survey: str | None = None) -> dict[str, bytes]:
        with self._errors(), self._connection() as connection:
            stored = sqlite_counters.read_by_survey(connection, "plans", survey)
        return {name: store.unmark_plan(plan) for name, plan in stored.items()}

    def lost_plans(self) -> set[str]:
        with self._snapshot() as connection:
            return sqlite_counters.find_lost_plans(connection)

    def require_survey(self, survey: str, plan: bytes, counters: Sequence[str] = ()) -> None:
        self._required[survey] = plan

    def notes(self, kind: str, name: str | None = None) -> dict[str, bytes]:
        with self._errors(), self._connection() as connection:
            return sqlite_counters.read_notes(connection, kind, name)

    def set_note(self, kind: str, name: str, note: bytes, once: bool = False) -> None:
        with self._transaction() as connection:
            sqlite_counters.write_note(
                connection, kind, name, note, "INSERT OR IGNORE" if once else "REPLACE"
            )

    def unpublish(self, survey: str) -> None:
        with self._transaction() as connection:
            connection.execute("DELETE FROM plans WHERE survey = ?", (survey,))

    def erase(self, survey: str) -> None:
        """Delete a survey in many transactions, so that other surveys can count; see :meth:`Store.erase`."""
        remains = True
        while remains:
            with self._transaction() as connection:
                remains = sqlite_counters.delete_part(connection, survey)
        self._request_checkpoint()

    def record(self, batches: Sequence[store.Batch]) -> list[store.MarksById]:
        with self._transaction() as connection:
            surveys = {batch.survey for batch in batches} & self._required.keys()
            require_whole(
                {}, sqlite_counters.find_missing(connection, {name: self._required[name] for name in surveys})
            )
            counted = [sqlite_counters.record_batch(connection, batch, self.seen) for batch in batches]
        for batch, (_, n) in zip(batches, counted, strict=True):
            self.seen.see(batch.survey, batch.counter, n)
        self._request_checkpoint()
        return [known for known, _ in counted]

    def server_of(self, _survey: str, _counter: str) -> str:
        return ""

    def find_recorded(self, survey: str, ids: Mapping[str, ByteArray]) -> dict[str, store.MarksById]:
        with self._snapshot() as connection:
            counters = {name: sqlite_counters.find_counter(connection, survey, name) for name in ids}
            return {
                name: find_ids(connection, *counter[:2], ids[name]) if counter else {}
                for name, counter in counters.items()
            }

    def totals(self, survey: str) -> dict[str, store.Total]:
        with self._errors(), self._connection() as connection:
            return sqlite_counters.read_totals(connection, survey)

    def counters(self, survey: str) -> set[str]:
        with self._snapshot() as connection:
            return sqlite_counters.read_counter_names(connection, survey)

    def all_totals(self) -> dict[str, dict[str, store.Total]]:
        with self._snapshot() as connection:
            surveys = connection.execute("SELECT DISTINCT survey FROM counters").fetchall()
            return {survey: sqlite_counters.read_totals(connection, survey) for (survey,) in surveys}

    def report_ids(self, survey: str, counter: str) -> Iterator[store.IdsAndMarks]:
        last = -1
        while True:
            with self._snapshot() as connection:
                counter_row = sqlite_counters.find_counter(connection, survey, counter)
                buckets = (
                    read_buckets(connection, counter_row[0], last, store.REPORTS_PER_READ)
                    if counter_row
                    else None
                )
            if buckets is None:
                return
            last, ids_and_marks = buckets
            if len(ids_and_marks[0]):
                yield ids_and_marks

    def find_losses(
        self, survey: str, counters: Collection[str] = (), thorough: bool = True
    ) -> dict[str, Loss]:
        with self._snapshot() as connection:
            return sqlite_counters.find_losses(connection, survey, self.seen, thorough)

    def add_rejections(self, survey: str, reason: str, count: int = 1) -> None:
        with self._transaction() as connection:
            connection.execute(
                "INSERT INTO rejections SELECT ?, ?, ? "
                "WHERE NOT EXISTS (SELECT 1 FROM internal WHERE name = ?) "
                "ON CONFLICT DO UPDATE SET count = count + excluded.count",
                (survey, reason, count, sqlite_counters.note_row(DELETED, survey)),
            )

    def rejections(self, survey: str) -> dict[str, int]:
        with self._errors(), self._connection() as connection:
            query = "SELECT reason, count FROM rejections WHERE survey = ?"
            return dict(connection.execute(query, (survey,)).fetchall())

    def check_ready(self, closed: Collection[str] = ()) -> None:
        """Write and sync about as much as a report does, as a test; see :meth:`Store.check_ready`."""
        with self._transaction() as connection:
            connection.execute(_PROBE_STATEMENT)
            left_out = {*closed, *sqlite_counters.read_notes(connection, DELETED)}
            required = {k: v for k, v in self._required.items() if k.partition(".")[0] not in left_out}
            losses = {
                name: sqlite_counters.find_losses(connection, name, self.seen, thorough=False)
                for name in required
            }
            require_whole(losses, sqlite_counters.find_missing(connection, required))

    def space(self) -> dict[str, int]:
        with self._errors(), self._connection():  # which finds out whether the file is there
            disk = os.statvfs(self._path)
        return {"disk_free": disk.f_bavail * disk.f_frsize, "disk_size": disk.f_blocks * disk.f_frsize}

    def check_durability(self, policy: store.StorePolicy) -> str:
        return store.DURABLE

    def close(self) -> None:
        """Close this process's connections and empty the log, which SQLite deletes with the last connection.

        Waits some seconds for other programs that read the log. If they do not finish, the log stays until
        the next process opens the store for writing. No other thread may use the store during the call. A
        later use opens a new connection.
        """
        pending = self._checkpoint.cancel()
        for opened in list(self._connections):
            opened.close()
        if pending and not self._read_only:
            end = time.monotonic() + _CLOSE_SECONDS
            while self._empty_log() is not None and time.monotonic() < end:
                time.sleep(_CHECKPOINT_BUSY_SECONDS)

    def _request_checkpoint(self) -> None:
        self._checkpoint.request(_CHECKPOINT_SECONDS)

    def _empty_log(self) -> float | None:
        """Copy the log into the file and empty it; return the seconds until the next try if that fails."""
        with suppress(sqlite3.Error, StoreError):
            self._require_file()  # the log of another file has the same name
            with closing(sqlite_file.connect(self._path, _CHECKPOINT_BUSY_SECONDS)) as connection:
                connection.execute("PRAGMA synchronous = FULL")
                # the log's index keeps the order of pages until a new log begins; the probe begins one
                if _truncate_log(connection):
                    connection.execute(_PROBE_STATEMENT)
                    if _truncate_log(connection):
                        return None
        return _RETRY_SECONDS

    def _require_file(self) -> None:
        self._file = sqlite_file.identify(self._path, self._file)

    @contextmanager
    def _transaction(self) -> Iterator[sqlite3.Connection]:
        with self._errors(), self._connection() as connection:
            connection.execute("BEGIN IMMEDIATE")
            try:
                yield connection
                connection.execute("COMMIT")
                self._require_file()  # else the transaction may be in a deleted file
            finally:
                # leave no transaction open after an error; a full disk has ended it already
                if connection.in_transaction:
                    connection.execute("ROLLBACK")

    @contextmanager
    def _snapshot(self) -> Iterator[sqlite3.Connection]:
        with self._errors(), self._connection() as connection:
            connection.execute("BEGIN")
            try:
                yield connection
            finally:
                connection.execute("ROLLBACK")

    @contextmanager
    def _connection(self) -> Iterator[sqlite3.Connection]:
        """Yield this thread's connection, opened in this process, unless the file was moved or replaced."""
        opened: sqlite_file.ThreadConnection | None = getattr(self._thread_local, "opened", None)
        self._require_file()
        if opened is None or opened.closed or opened.pid != os.getpid():
            # keep an inherited connection open: closing it would release the parent's locks
            self._thread_local.inherited, self._thread_local.opened = (
                opened,
                sqlite_file.ThreadConnection(self._path, self._read_only),
            )
            self._connections.add(self._thread_local.opened)
        yield self._thread_local.opened.connection

    @contextmanager
    def _errors(self) -> Iterator[None]:
        try:
            yield
        except (sqlite3.Error, OSError) as error:
            other = ""
            if getattr(error, "sqlite_errorcode", 0) == sqlite3.SQLITE_NOTADB:
                # Never a file that SQLite uses: to close it would release SQLite's locks, and another process
                # that closes it would delete the log, with the reports that this one counts later.
                other = describe_other(Path(self._path), "database", "empty")
            message = f"the SQLite store cannot be used: {error}{other}"
            raise StoreError(message, sqlite_file.classify_failure(error)) from error


def _truncate_log(connection: sqlite3.Connection) -> bool:
    """Copy the log into the file and empty it; return False if a reader prevented that."""
    # PASSIVE does not wait; TRUNCATE holds the write lock while it waits
    busy, frames, copied = connection.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchone()
    if busy or copied < frames:
        return False
    (busy, _, _) = connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
    return not busy
