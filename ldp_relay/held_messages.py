"""The database of messages that wait, are being passed on, or were passed on: one SQLite file.

A message is named by the hash of its bytes. Rows are in the order of these names, so the file does not show
in which order messages arrived. Never restore this file from a copy: messages that have left would leave
again, in another crowd.
"""

from __future__ import annotations

import hashlib
import os
import sqlite3
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from time import time

from ldp_relay.release import draw_batches

_BUSY_SECONDS = 30.0
_SCHEMA = """
CREATE TABLE IF NOT EXISTS messages (
    name BLOB PRIMARY KEY, survey TEXT NOT NULL, content BLOB, batch INTEGER, position INTEGER
) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS waiting ON messages (survey) WHERE content NOT NULL AND batch IS NULL;
CREATE INDEX IF NOT EXISTS leaving ON messages (batch, position) WHERE content NOT NULL AND batch NOT NULL;
CREATE TABLE IF NOT EXISTS batches (
    number INTEGER PRIMARY KEY, survey TEXT NOT NULL, hour INTEGER NOT NULL, size INTEGER NOT NULL,
    networks INTEGER NOT NULL
);
CREATE TABLE IF NOT EXISTS events (
    survey TEXT, event TEXT, count INTEGER NOT NULL, PRIMARY KEY (survey, event)
) WITHOUT ROWID;
"""
# A row without content is a message that is gone: passed on if it has a batch, else withdrawn or dropped.
_WAITING = "content NOT NULL AND batch IS NULL AND survey = ?"
_SELECT_WAITING = f"SELECT name FROM messages WHERE {_WAITING}"  # noqa: S608
_DROP_WAITING = f"UPDATE messages SET content = NULL WHERE {_WAITING}"  # noqa: S608
_COUNTS = """
SELECT COUNT(*), SUM(content NOT NULL AND batch IS NULL), SUM(content NOT NULL AND batch NOT NULL),
    SUM(content IS NULL AND batch NOT NULL) FROM messages WHERE survey = ?
"""


@dataclass
class _Ticket:
    """A message that a request wants to be held."""

    survey: str
    inner: bytes
    closes: int
    state: str = ""
    error: Exception | None = None


@dataclass(frozen=True)
class Passage:
    """One array of messages that a collector gets in one request."""

    survey: str
    names: list[bytes] = field(repr=False)
    body: bytes = field(repr=False)


class HeldMessages:
    """The messages of all surveys of a relay.

    Parameters
    ----------
    path : Path
        The SQLite file; it is created if it is missing, for its owner only.

    Raises
    ------
    sqlite3.Error, OSError
        From all methods, if the file cannot be used. Nothing is then held, released or deleted.
    """

    def __init__(self, path: Path) -> None:
        with suppress(FileExistsError):
            os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
        self._lock, self._queue_lock = threading.Lock(), threading.Lock()
        self._queue: list[_Ticket] = []
        self._database = sqlite3.connect(
            path, timeout=_BUSY_SECONDS, isolation_level=None, check_same_thread=False
        )
        for pragma in ("journal_mode = WAL", "synchronous = FULL", "secure_delete = ON"):
            self._database.execute(f"PRAGMA {pragma}")
        self._database.executescript(_SCHEMA)

    def close(self) -> None:
        """Close the file."""
        with self._lock:
            self._database.close()

    def hold(self, survey: str, inner: bytes, closes: int) -> bool:
        """Hold a message until it leaves; return False if the survey has closed.

        When this returns True, the message is on disk. A message that is or was here is not held again.
        Requests at the same time share one write to the disk.
        """
        ticket = _Ticket(survey, inner, closes)
        with self._queue_lock:
            self._queue.append(ticket)
        with self._lock:
            if not ticket.state:  # else another request wrote it together with its own
                with self._queue_lock:
                    tickets, self._queue = self._queue, []
                self._write(tickets)
        if ticket.error:
            raise ticket.error
        return ticket.state == "held"

    def _write(self, tickets: list[_Ticket]) -> None:
        try:
            with self._transaction():
                now = time()  # inside, so that the last release of a survey finds all messages that were held
                for each in tickets:
                    each.state = "held" if now < each.closes else "closed"
                    if each.state == "held":
                        row = (_name(each.inner), each.survey, each.inner)
                        sql = "INSERT OR IGNORE INTO messages (name, survey, content) VALUES (?, ?, ?)"
                        self._database.execute(sql, row)
        except Exception as error:
            for each in tickets:
                each.state, each.error = "failed", error

    def withdraw(self, survey: str, inner: bytes) -> bool:
        """Delete a message, and refuse it from now on; return False if it is in a batch."""
        with self._lock, self._transaction():
            name = _name(inner)
            row = self._database.execute("SELECT batch FROM messages WHERE name = ?", (name,)).fetchone()
            if row and row[0] is not None:
                return False
            self._database.execute("REPLACE INTO messages (name, survey) VALUES (?, ?)", (name, survey))
            return True

    def release(
        self, survey: str, batch: int, *, is_closed: bool, hour: int, count_networks: Callable[[], int]
    ) -> int:
        """Put messages that wait into batches, in one transaction; return the number of batches.

        Of a survey that has closed with fewer messages than a batch, the messages are deleted.
        """
        with self._lock, self._transaction():
            found = self._database.execute(_SELECT_WAITING, (survey,))
            waiting = [name for (name,) in found]
            batches = draw_batches(waiting, batch, is_closed=is_closed)
            for names in batches:
                row = (survey, hour, len(names), count_networks())
                cursor = self._database.execute(
                    "INSERT INTO batches (survey, hour, size, networks) VALUES (?, ?, ?, ?)", row
                )
                rows = [(cursor.lastrowid, position, name) for position, name in enumerate(names)]
                self._database.executemany("UPDATE messages SET batch = ?, position = ? WHERE name = ?", rows)
            if is_closed and waiting and not batches:
                self._database.execute(_DROP_WAITING, (survey,))
                self._count(survey, "too-few", len(waiting))
        return len(batches)

    def next_passage(self, survey: str, most: int) -> Passage | None:
        """Return the next messages to pass on, at most `most` of one batch; None if there are none.

        The same messages are returned in the same order until they are marked as passed on.
        """
        with self._lock:
            first = self._database.execute(
                "SELECT batch, position FROM messages JOIN batches ON number = batch WHERE content NOT NULL "
                "AND batch NOT NULL AND batches.survey = ? ORDER BY batch, position LIMIT 1",
                (survey,),
            ).fetchone()
            if first is None:
                return None
            rows = self._database.execute(
                "SELECT name, content FROM messages WHERE content NOT NULL AND batch = ? AND position >= ? "
                "ORDER BY position LIMIT ?",
                (*first, most),
            ).fetchall()
        return Passage(survey, [name for name, _ in rows], b"".join(content for _, content in rows))

    def mark_passed_on(self, passage: Passage) -> None:
        """Delete the bytes of messages that the collector has counted; their names stay."""
        with self._lock, self._transaction():
            self._database.executemany(
                "UPDATE messages SET content = NULL WHERE name = ?", [(name,) for name in passage.names]
            )

    def forget(self, survey: str) -> None:
        """Delete the names of all messages of a survey that are gone."""
        with self._lock, self._transaction():
            self._database.execute("DELETE FROM messages WHERE survey = ? AND content IS NULL", (survey,))

    def count_event(self, survey: str, event: str, count: int = 1) -> None:
        """Add to a count that the operator reads, for example of refusals with one reason."""
        with self._lock, self._transaction():
            self._count(survey, event, count)

    def _count(self, survey: str, event: str, count: int) -> None:
        sql = "INSERT INTO events VALUES (?, ?, ?) ON CONFLICT DO UPDATE SET count = count + excluded.count"
        self._database.execute(sql, (survey, event, count))

    def counts(self, survey: str) -> dict[str, int]:
        """Return the numbers of messages that wait, are being passed on and are gone, and of all events."""
        with self._lock:
            numbers = self._database.execute(_COUNTS, (survey,)).fetchone()
            events = self._database.execute("SELECT event, count FROM events WHERE survey = ?", (survey,))
            named = dict(zip(("received", "waiting", "leaving", "passed on"), numbers, strict=True))
            return {name: number or 0 for name, number in named.items()} | dict(events.fetchall())

    def batches(self, survey: str) -> list[tuple[int, int, int]]:
        """Return the hour, the size and the estimated number of networks of each batch."""
        with self._lock:
            sql = "SELECT hour, size, networks FROM batches WHERE survey = ? ORDER BY number"
            return self._database.execute(sql, (survey,)).fetchall()

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        self._database.execute("BEGIN IMMEDIATE")
        try:
            yield
            self._database.execute("COMMIT")
        except BaseException:
            if self._database.in_transaction:
                self._database.execute("ROLLBACK")
            raise


def _name(inner: bytes) -> bytes:
    return hashlib.sha256(inner).digest()[:16]
