"""The database of messages that wait, are being passed on, or were passed on: one SQLite file.

A message is named by the hash of its bytes. Rows are in the order of these names; only the file's log shows
in which order messages arrived since the last full hour. Never restore this file from a copy: messages that
have left would leave again, in another crowd.
"""

from __future__ import annotations

import hashlib
import os
import sqlite3
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from time import time

from ldp_relay.release import draw_batches

_BUSY_SECONDS = 30.0
_SCHEMA = """
CREATE TABLE IF NOT EXISTS surveys (number INTEGER PRIMARY KEY, digest TEXT NOT NULL UNIQUE);
CREATE TABLE IF NOT EXISTS messages (
    name BLOB PRIMARY KEY, survey INTEGER NOT NULL, content BLOB, batch INTEGER, position INTEGER
) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS held ON messages (survey, batch, position) WHERE content NOT NULL;
CREATE TABLE IF NOT EXISTS batches (
    number INTEGER PRIMARY KEY, survey INTEGER NOT NULL, hour INTEGER NOT NULL, size INTEGER NOT NULL
);
CREATE TABLE IF NOT EXISTS events (
    survey INTEGER NOT NULL, event TEXT NOT NULL, count INTEGER NOT NULL, PRIMARY KEY (survey, event)
) WITHOUT ROWID;
"""
# A row without content is a message that is gone: passed on if it has a batch, else withdrawn.
TOO_FEW, RECEIVED = "deleted, because too few came", "received"


@dataclass
class _Ticket:
    """A message that a request wants to be held."""

    digest: str
    inner: bytes
    closes: int
    state: str = ""
    error: Exception | None = None


@dataclass(frozen=True)
class Passage:
    """One array of messages that a collector gets in one request."""

    names: list[bytes] = field(repr=False)
    body: bytes = field(repr=False)


class HeldMessages:
    """The messages of all surveys of a relay; a survey is named by its plan's digest.

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

    def hold(self, digest: str, inner: bytes, closes: int) -> bool:
        """Hold a message until it leaves; return False if the survey has closed.

        When this returns True, the message is on disk. A message that is or was here is not held again.
        Requests at the same time share one write to the disk.
        """
        ticket = _Ticket(digest, inner, closes)
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
                numbers = {digest: self._number(digest) for digest in {each.digest for each in tickets}}
                received = dict.fromkeys(numbers.values(), 0)
                for each in tickets:
                    each.state = "held" if now < each.closes else "closed"
                    if each.state == "held":
                        row = (_name(each.inner), numbers[each.digest], each.inner)
                        sql = "INSERT OR IGNORE INTO messages (name, survey, content) VALUES (?, ?, ?)"
                        received[row[1]] += self._database.execute(sql, row).rowcount
                for survey, count in received.items():
                    self._count(survey, RECEIVED, count)
        except Exception as error:
            for each in tickets:
                each.state, each.error = "failed", error

    def withdraw(self, digest: str, inner: bytes, closes: int) -> bool | None:
        """Delete a message, and refuse it from now on.

        Return False if it has left or is leaving, and None if the survey has closed and its name is deleted.
        """
        with self._lock, self._transaction():
            survey, name = self._number(digest), _name(inner)
            sql = "SELECT batch, content FROM messages WHERE name = ?"
            batch, content = self._database.execute(sql, (name,)).fetchone() or (None, None)
            if batch is not None:
                return False
            if content is None and time() >= closes:  # the names of messages that have left are deleted
                return None
            self._database.execute("REPLACE INTO messages (name, survey) VALUES (?, ?)", (name, survey))
            return True

    def release(self, digest: str, batch: int, *, is_closed: bool, hour: int) -> int:
        """Put messages that wait into batches, in one transaction; return the number of batches.

        Of a survey that has closed with fewer messages than a batch, the messages are deleted.
        """
        with self._lock, self._transaction():
            survey = self._number(digest)
            sql = "SELECT name FROM messages WHERE survey = ? AND batch IS NULL AND content NOT NULL"
            waiting = [name for (name,) in self._database.execute(sql, (survey,))]
            batches = draw_batches(waiting, batch, is_closed=is_closed)
            for names in batches:
                sql = "INSERT INTO batches (survey, hour, size) VALUES (?, ?, ?)"
                number = self._database.execute(sql, (survey, hour, len(names))).lastrowid
                # in the order of the rows, which is fast, and not of the positions
                placed = sorted(range(len(names)), key=names.__getitem__)
                rows = ((number, position, names[position]) for position in placed)
                self._database.executemany("UPDATE messages SET batch = ?, position = ? WHERE name = ?", rows)
            if is_closed:  # nothing is held any more, so no name is needed but of messages that leave
                if waiting and not batches:
                    self._count(survey, TOO_FEW, len(waiting))
                sql = "DELETE FROM messages WHERE survey = ? AND (batch IS NULL OR content IS NULL)"
                self._database.execute(sql, (survey,))
        self._empty_log()
        return len(batches)

    def next_passage(self, digest: str, most: int) -> Passage | None:
        """Return the next messages to pass on, at most `most` of one batch; None if there are none.

        The same messages are returned in the same order until they are marked as passed on.
        """
        sql = (
            "SELECT batch, name, content FROM messages WHERE survey = ? AND batch NOT NULL "
            "AND content NOT NULL ORDER BY batch, position LIMIT ?"
        )
        with self._lock:
            rows = self._database.execute(sql, (self._number(digest), most)).fetchall()
        rows = [(name, content) for batch, name, content in rows if batch == rows[0][0]]
        return Passage([name for name, _ in rows], b"".join(each for _, each in rows)) if rows else None

    def mark_passed_on(self, digest: str, passage: Passage, outcomes: Mapping[str, int]) -> None:
        """Delete the bytes of messages that the collector has counted, and add its counts by outcome."""
        with self._lock, self._transaction():
            names = [(name,) for name in passage.names]
            self._database.executemany("UPDATE messages SET content = NULL WHERE name = ?", names)
            for outcome, count in outcomes.items():
                self._count(self._number(digest), f"passed on, {outcome}", count)
        self._empty_log()

    def count_events(self, digest: str, events: Mapping[str, int]) -> None:
        """Add to counts that the operator reads."""
        with self._lock, self._transaction():
            for event, count in events.items():
                self._count(self._number(digest), event, count)

    def counts(self, digest: str) -> dict[str, int]:
        """Return the number of messages that wait and that leave, and the counts of all events."""
        with self._lock:
            survey = self._number(digest)
            sql = "SELECT COUNT(*), COUNT(batch) FROM messages WHERE survey = ? AND content NOT NULL"
            held, leaving = self._database.execute(sql, (survey,)).fetchone()
            return {RECEIVED: 0, "waiting": held - leaving, "leaving": leaving} | self._read_events(survey)

    def batches(self, digest: str) -> list[tuple[int, int]]:
        """Return the hour and the size of each batch."""
        with self._lock:
            sql = "SELECT hour, size FROM batches WHERE survey = ? ORDER BY number"
            return self._database.execute(sql, (self._number(digest),)).fetchall()

    def digests(self) -> list[str]:
        """Return the digests of the plans that have messages which wait or leave."""
        with self._lock:
            held = "SELECT survey FROM messages WHERE content NOT NULL"
            sql = f"SELECT digest FROM surveys WHERE number IN ({held})"  # noqa: S608
            return [digest for (digest,) in self._database.execute(sql)]

    def _number(self, digest: str) -> int:
        self._database.execute("INSERT OR IGNORE INTO surveys (digest) VALUES (?)", (digest,))
        sql = "SELECT number FROM surveys WHERE digest = ?"
        return int(self._database.execute(sql, (digest,)).fetchone()[0])

    def _count(self, survey: int, event: str, count: int) -> None:
        sql = "INSERT INTO events VALUES (?, ?, ?) ON CONFLICT DO UPDATE SET count = count + excluded.count"
        self._database.execute(sql, (survey, event, count))

    def _read_events(self, survey: int) -> dict[str, int]:
        sql = "SELECT event, count FROM events WHERE survey = ? ORDER BY event"
        return dict(self._database.execute(sql, (survey,)).fetchall())

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

    def _empty_log(self) -> None:
        """Empty the write-ahead log, which has deleted messages, and all messages in the order of arrival."""
        with self._lock:
            self._database.execute("PRAGMA wal_checkpoint(TRUNCATE)")


def _name(inner: bytes) -> bytes:
    return hashlib.sha256(inner).digest()[:16]
