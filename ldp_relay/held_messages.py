"""The database of messages that wait, are being passed on, or were passed on: one SQLite file.

A message is named by the hash of its bytes. Names stay as long as the file, so no message leaves twice,
whatever the clock says. The file shows in which order messages arrived only since the last full hour, when
all rows are written anew in the order of their names. Never restore this file from a copy: messages that have
left would leave again, in another crowd.
"""

from __future__ import annotations

import hashlib
import os
import sqlite3
import threading
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from time import time

from ldp_relay.networks import Admission
from ldp_relay.release import draw_batches

_BUSY_SECONDS = 30.0
_SCHEMA = """
CREATE TABLE IF NOT EXISTS surveys (number INTEGER PRIMARY KEY, digest TEXT NOT NULL UNIQUE);
CREATE TABLE IF NOT EXISTS messages (
    name BLOB PRIMARY KEY, survey INTEGER NOT NULL, content BLOB, batch INTEGER, position INTEGER
) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS held ON messages (survey, batch, position) WHERE content NOT NULL;
CREATE TABLE IF NOT EXISTS batches (
    number INTEGER PRIMARY KEY, survey INTEGER NOT NULL, hour INTEGER NOT NULL, size INTEGER NOT NULL,
    rejected INTEGER NOT NULL DEFAULT 0
);
CREATE TABLE IF NOT EXISTS codes (
    hash BLOB PRIMARY KEY, survey INTEGER NOT NULL, is_used INTEGER NOT NULL
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS events (
    survey INTEGER NOT NULL, event TEXT NOT NULL, count INTEGER NOT NULL, PRIMARY KEY (survey, event)
) WITHOUT ROWID;
"""
# A row without content is a message that is gone: passed on if it has a batch, else withdrawn or deleted.
# Which message used a code is not stored, but shows in the file until the next full hour.
TOO_FEW, RECEIVED = "deleted, because too few came", "received"


class Outcome(StrEnum):
    """What became of a message that a device sent."""

    NEW = "new"
    KNOWN = "known"
    """It is or was here."""
    CLOSED = "closed"
    LEFT = "passed-on"
    """It has left or is leaving, and cannot be withdrawn."""
    CODE_USED = "code-used"
    CODE_UNKNOWN = "code-unknown"
    FULL = "network-full"


@dataclass
class _Ticket:
    """A message that a request wants to be held."""

    digest: str
    inner: bytes
    closes: int
    code: bytes
    admission: Admission | None
    outcome: Outcome | None = None
    is_admitted: bool = False
    error: Exception | None = None


@dataclass(frozen=True)
class Passage:
    """One array of messages that a collector gets in one request."""

    batch: int
    """The number of their batch."""
    size: int
    """The number of messages of the batch."""
    rejected: int
    """How many of them the collector has rejected before."""
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
        columns = {row[1] for row in self._database.execute("PRAGMA table_info(batches)")}
        if "rejected" not in columns:  # a file of an earlier version
            self._database.execute("ALTER TABLE batches ADD COLUMN rejected INTEGER NOT NULL DEFAULT 0")

    def close(self) -> None:
        """Close the file."""
        with self._lock:
            self._database.close()

    def hold(
        self, digest: str, inner: bytes, closes: int, code: bytes = b"", admission: Admission | None = None
    ) -> Outcome:
        """Hold a message until it leaves; with a code, only if no other message has used that.

        A new message needs the admission of its sender's network.

        When this returns NEW or KNOWN, the message is on disk, or was. Requests at the same time share one
        write to the disk.
        """
        ticket = _Ticket(digest, inner, closes, code, admission)
        with self._queue_lock:
            self._queue.append(ticket)
        with self._lock:
            if ticket.outcome is None and not ticket.error:  # else another request wrote it with its own
                with self._queue_lock:
                    tickets, self._queue = self._queue, []
                self._write(tickets)
        if ticket.error or ticket.outcome is None:
            raise ticket.error or sqlite3.OperationalError("the message was not written")
        return ticket.outcome

    def _write(self, tickets: list[_Ticket]) -> None:
        try:
            with _give_back(tickets), self._transaction():
                now = time()  # inside, so that the last release of a survey finds all messages that were held
                numbers = {digest: self._number(digest) for digest in {each.digest for each in tickets}}
                outcomes = [self._insert(each, numbers[each.digest], now) for each in tickets]
                found = zip(tickets, outcomes, strict=True)
                new = Counter(each.digest for each, outcome in found if outcome is Outcome.NEW)
                for digest, count in new.items():
                    self._count(numbers[digest], RECEIVED, count)
            for each, outcome in zip(tickets, outcomes, strict=True):
                each.outcome = outcome
        except Exception as error:
            for each in tickets:
                each.error = error

    def _insert(self, ticket: _Ticket, survey: int, now: float, *, is_withdrawn: bool = False) -> Outcome:
        """Insert a message, unless it is known, the survey has closed, or its code or network forbids it."""
        name = name_of(ticket.inner)
        sql = "SELECT 1 FROM messages WHERE name = ?"
        if self._database.execute(sql, (name,)).fetchone():
            return Outcome.KNOWN
        if now >= ticket.closes:
            return Outcome.CLOSED
        if ticket.code:
            sql = "SELECT is_used FROM codes WHERE hash = ? AND survey = ?"
            row = self._database.execute(sql, (ticket.code, survey)).fetchone()
            if row is None or row[0]:
                return Outcome.CODE_USED if row else Outcome.CODE_UNKNOWN
        if ticket.admission:
            if not ticket.admission.acquire():
                return Outcome.FULL
            ticket.is_admitted = True
        if ticket.code:
            self._database.execute("UPDATE codes SET is_used = 1 WHERE hash = ?", (ticket.code,))
        sql = "INSERT INTO messages (name, survey, content) VALUES (?, ?, ?)"
        self._database.execute(sql, (name, survey, None if is_withdrawn else ticket.inner))
        return Outcome.NEW

    def add_codes(self, digest: str, hashes: Iterable[bytes]) -> None:
        """Add codes, of which each lets one message be held; only their hashes are kept."""
        with self._lock, self._transaction():
            survey = self._number(digest)
            rows = ((each, survey) for each in sorted(hashes))
            self._database.executemany("INSERT INTO codes VALUES (?, ?, 0)", rows)

    def withdraw(
        self, digest: str, inner: bytes, closes: int, code: bytes = b"", admission: Admission | None = None
    ) -> Outcome:
        """Delete a message, and refuse it from now on; one that is not here is refused like a new one.

        Returns KNOWN or NEW if the message does not leave, and LEFT if it does.
        """
        ticket = _Ticket(digest, inner, closes, code, admission)
        with self._lock, _give_back([ticket]), self._transaction():
            survey, name = self._number(digest), name_of(inner)
            row = self._database.execute("SELECT batch FROM messages WHERE name = ?", (name,)).fetchone()
            if row is None:
                return self._insert(ticket, survey, time(), is_withdrawn=True)
            if row[0] is not None:
                return Outcome.LEFT
            self._database.execute("UPDATE messages SET content = NULL WHERE name = ?", (name,))
            return Outcome.KNOWN

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
            if is_closed and waiting and not batches:
                self._count(survey, TOO_FEW, len(waiting))
                sql = "UPDATE messages SET content = NULL WHERE survey = ? AND batch IS NULL"
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
            if not rows:
                return None
            rows = [row for row in rows if row[0] == rows[0][0]]
            sql = "SELECT size, rejected FROM batches WHERE number = ?"
            size, rejected = self._database.execute(sql, (rows[0][0],)).fetchone()
        names, body = [row[1] for row in rows], b"".join(row[2] for row in rows)
        return Passage(rows[0][0], size, rejected, names, body)

    def mark_passed_on(self, digest: str, passage: Passage, outcomes: Mapping[str, int]) -> None:
        """Delete the bytes and places of messages that the collector has counted, and add up its counts."""
        with self._lock, self._transaction():
            names = [(name,) for name in passage.names]
            sql = "UPDATE messages SET content = NULL, position = NULL WHERE name = ?"
            self._database.executemany(sql, names)
            sql = "UPDATE batches SET rejected = rejected + ? WHERE number = ?"
            self._database.execute(sql, (outcomes.get("rejected", 0), passage.batch))
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
            found = {RECEIVED: 0, "waiting": held - leaving, "leaving": leaving} | self._read_events(survey)
            sql = "SELECT COUNT(*), SUM(is_used) FROM codes WHERE survey = ?"
            codes, used = self._database.execute(sql, (survey,)).fetchone()
            return found | ({"codes": codes, "codes used": used} if codes else {})

    def batches(self, digest: str) -> list[tuple[int, int, int]]:
        """Return the hour, the size and the number of rejected messages of each batch."""
        with self._lock:
            sql = "SELECT hour, size, rejected FROM batches WHERE survey = ? ORDER BY number"
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

    def forget_arrivals(self) -> None:
        """Write all rows anew in the order of their names, because a page shows in which order they came."""
        with self._lock:
            self._database.execute("VACUUM")
        self._empty_log()

    def _empty_log(self) -> None:
        """Empty the write-ahead log, which has deleted messages, and all messages in the order of arrival."""
        with self._lock:
            [(is_busy, *_)] = self._database.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
        if is_busy:
            raise sqlite3.OperationalError("another process reads the log, which is not empty")


@contextmanager
def _give_back(tickets: list[_Ticket]) -> Iterator[None]:
    """Take back the admissions of messages that are not held."""
    try:
        yield
    except BaseException:
        for each in tickets:
            if each.admission and each.is_admitted:
                each.admission.release()
        raise


def name_of(inner: bytes) -> bytes:
    """Return the name of a message."""
    return hashlib.sha256(inner).digest()[:16]
