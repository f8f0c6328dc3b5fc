"""The messages that wait, are being passed on, or were passed on: one SQLite file.

A message is an opened envelope, with a sealed message for each column, named by the hash of its bytes. Those
of a pool are mixed with each other alone: of a survey, named by the digest of its plan, or of a wave,
DIGEST/WAVE. Names stay as long as the file, so no message leaves twice, whatever the clock says. The file
shows in which order messages arrived only since the last full hour. Never restore it from a copy: messages
that have left would leave again, in another crowd.
"""

from __future__ import annotations

import hashlib
import secrets
import sqlite3
import threading
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from enum import StrEnum
from itertools import accumulate
from pathlib import Path
from time import time
from typing import Any

from ldp_relay.networks import Admission
from ldp_relay.relay_database import SECRET_BYTES, find_failure, open_database, transaction
from ldp_relay.release import HOUR_SECONDS, draw_batches, order_columns

TOO_FEW, RECEIVED = "deleted, because too few came", "received"
DELIVERED, FAILED = "deliveries, ok", "deliveries, failed"
LAST_DELIVERY = "last delivery"
"""The hour of the last request that the collector has answered, in Unix seconds."""


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
    pool: str
    inner: bytes
    closes: int
    code: bytes
    admission: Admission | None
    outcome: Outcome | None = None
    is_admitted: bool = False
    error: Exception | None = None


@dataclass(frozen=True)
class Passage:
    """The records that a collector gets in one request; a record has a message of each column."""

    pool: str
    batch: int
    size: int
    rejected: list[int]
    """How many messages of each column of the batch the collector has rejected before."""
    first: int
    """How many records of the batch were passed on before."""
    records: int
    is_last: bool
    """Whether no records of the batch are left."""
    body: bytes = field(repr=False)


class HeldMessages:
    """The messages of all pools of a relay, in a SQLite file, which is created for its owner only.

    All methods raise sqlite3.Error or OSError if the file cannot be used. Nothing is then held, released or
    deleted.
    """

    def __init__(self, path: Path) -> None:
        self._lock, self._queue_lock = threading.Lock(), threading.Lock()
        self._queue: list[_Ticket] = []
        self._database = open_database(path)
        self._path, self._file = path, path.stat()
        self._orders: dict[int, tuple[int, list[list[bytes]]]] = {}
        """By pool, a batch that leaves, and the names of its messages in the order of each column."""

    def find_failure(self) -> str:
        """Return the reason why a message could not be held now, in one word; "" if it could."""
        return find_failure(self._path, self._file)

    def close(self) -> None:
        with self._lock:
            self._database.close()

    def hold(
        self, pool: str, inner: bytes, closes: int, code: bytes = b"", admission: Admission | None = None
    ) -> Outcome:
        """Hold a message until it leaves; with a code, only if no other message has used that.

        A new message needs the admission of its sender's network.

        When this returns NEW or KNOWN, the message is on disk, or was. Requests at the same time share one
        write to the disk.
        """
        ticket = _Ticket(pool, inner, closes, code, admission)
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
            with _give_back(tickets), transaction(self._database):
                now = time()  # inside, so that the last release of a pool finds all messages that were held
                numbers = {pool: self._number(pool) for pool in {each.pool for each in tickets}}
                outcomes = [self._insert(each, numbers[each.pool], now) for each in tickets]
                found = zip(tickets, outcomes, strict=True)
                new = Counter(each.pool for each, outcome in found if outcome is Outcome.NEW)
                for pool, count in new.items():
                    self._count(numbers[pool], RECEIVED, count)
            for each, outcome in zip(tickets, outcomes, strict=True):
                each.outcome = outcome
        except Exception as error:
            for each in tickets:
                each.error = error

    def _insert(self, ticket: _Ticket, pool: int, now: float, *, is_withdrawn: bool = False) -> Outcome:
        name = name_of(ticket.inner)
        sql = "SELECT 1 FROM messages WHERE name = ?"
        if self._database.execute(sql, (name,)).fetchone():
            return Outcome.KNOWN
        if now >= ticket.closes:
            return Outcome.CLOSED
        if ticket.code:
            sql = "SELECT is_used FROM codes WHERE hash = ? AND survey = ?"
            survey = self._number(ticket.pool.partition("/")[0])
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
        self._database.execute(sql, (name, pool, None if is_withdrawn else ticket.inner))
        return Outcome.NEW

    def add_codes(self, digest: str, hashes: Iterable[bytes]) -> None:
        """Add codes, of which each lets one message be held; only their hashes are kept."""
        with self._lock, transaction(self._database):
            survey = self._number(digest)
            rows = ((each, survey) for each in sorted(hashes))
            self._database.executemany("INSERT INTO codes VALUES (?, ?, 0)", rows)

    def withdraw(
        self, pool: str, inner: bytes, closes: int, code: bytes = b"", admission: Admission | None = None
    ) -> Outcome:
        """Delete a message, and refuse it from now on; one that is not here is refused like a new one.

        Returns KNOWN or NEW if the message does not leave, and LEFT if it does.
        """
        ticket = _Ticket(pool, inner, closes, code, admission)
        with self._lock, _give_back([ticket]), transaction(self._database):
            number, name = self._number(pool), name_of(inner)
            sql = "SELECT batch NOT NULL OR has_left FROM messages WHERE name = ?"
            row = self._database.execute(sql, (name,)).fetchone()
            if row is None:
                return self._insert(ticket, number, time(), is_withdrawn=True)
            if row[0]:
                return Outcome.LEFT
            self._database.execute("UPDATE messages SET content = NULL WHERE name = ?", (name,))
            return Outcome.KNOWN

    def release(self, pool: str, batch: int, *, is_closed: bool, hour: int) -> int:
        """Put waiting messages into batches, return their number; too few of a closed pool are deleted."""
        with self._lock, transaction(self._database):
            survey = self._number(pool)
            sql = "SELECT name FROM messages WHERE survey = ? AND batch IS NULL AND content NOT NULL"
            waiting = [name for (name,) in self._database.execute(sql, (survey,))]
            batches = draw_batches(waiting, batch, is_closed=is_closed)
            for names in batches:
                sql = "INSERT INTO batches (survey, hour, size, secret) VALUES (?, ?, ?, ?)"
                batch_row = (survey, hour, len(names), secrets.token_bytes(SECRET_BYTES))
                number = self._database.execute(sql, batch_row).lastrowid
                rows = ((number, name) for name in sorted(names))  # in the order of the rows, which is fast
                self._database.executemany("UPDATE messages SET batch = ? WHERE name = ?", rows)
            if is_closed and waiting and not batches:
                self._count(survey, TOO_FEW, len(waiting))
                sql = "UPDATE messages SET content = NULL WHERE survey = ? AND batch IS NULL"
                self._database.execute(sql, (survey,))
        self._empty_log()
        return len(batches)

    def next_passage(self, digest: str, most: int, sizes: Sequence[int]) -> Passage | None:
        """Return the next records of a survey to pass on, of one batch; None if there are none.

        They are at most `most`, and `sizes` are the lengths of the messages of each column. The same records
        are returned in the same order until they are marked as passed on, also after a restart. Raises
        OrderError if the orders of two columns are not independent.
        """
        sql = (
            "SELECT survey, number, size, secret, next_record, rejected, (SELECT digest FROM surveys "
            "WHERE number = survey) FROM batches WHERE survey IN (POOLS) AND secret NOT NULL ORDER BY number "
            "LIMIT 1"
        )
        with self._lock:
            rows = self._select(sql, digest)
        if not rows:
            return None
        survey, number, size, secret, start, rejected, pool = rows[0]
        orders = self._order(survey, number, secret, len(sizes))
        end = min(start + most, len(orders[0]))
        places = range(start, end)
        ends = list(accumulate(sizes, initial=0))
        columns = list(zip(orders, ends, sizes, strict=False))
        with self._lock:
            body = b"".join(
                self._cut(order[place], first, length) for place in places for order, first, length in columns
            )
        counts = [int(each) for each in rejected.split()] or [0] * len(sizes)
        return Passage(pool, number, size, counts, start, len(places), end == len(orders[0]), body)

    def _order(self, survey: int, number: int, secret: bytes, columns: int) -> list[list[bytes]]:
        """Return a batch's names in the order of each column, computed once; devices do not wait for it."""
        known, orders = self._orders.get(survey, (0, []))
        if known != number:
            sql = "SELECT name FROM messages WHERE survey = ? AND batch = ? AND content NOT NULL"
            with self._lock:
                names = [name for (name,) in self._database.execute(sql, (survey, number))]
            orders = order_columns(names, secret, columns)
            self._orders[survey] = number, orders
        return orders

    def _cut(self, name: bytes, first: int, length: int) -> bytes:
        sql = "SELECT substr(content, ?, ?) FROM messages WHERE name = ?"
        message: bytes = self._database.execute(sql, (first + 1, length, name)).fetchone()[0]
        return message

    def mark_passed_on(self, passage: Passage, outcomes: Mapping[str, int], rejected: Sequence[int]) -> None:
        """Note that the collector has counted records, and add up its counts.

        `outcomes` says how many messages it has recorded, knew already, or rejected, and `rejected` how many
        of each column. After the last records of a batch, the messages, their batch and its secret are
        deleted; only their names stay.
        """
        total = " ".join(str(sum(pair)) for pair in zip(passage.rejected, rejected, strict=True))
        with self._lock, transaction(self._database):
            survey = self._number(passage.pool)
            sql = "UPDATE batches SET next_record = ?, rejected = ? WHERE number = ? AND next_record = ?"
            values = (passage.first + passage.records, total, passage.batch, passage.first)
            if not self._database.execute(sql, values).rowcount:
                return  # another process has passed on the same records, and noted it
            if passage.is_last:
                sql = (
                    "UPDATE messages SET content = NULL, batch = NULL, has_left = 1 "
                    "WHERE survey = ? AND batch = ? AND content NOT NULL"
                )
                self._database.execute(sql, (survey, passage.batch))
                self._database.execute("UPDATE batches SET secret = NULL WHERE number = ?", (passage.batch,))
                self._orders.pop(survey, None)
            for outcome, count in outcomes.items():
                self._count(survey, f"passed on, {outcome}", count)
            self._count(survey, DELIVERED, 1)
            last = (survey, LAST_DELIVERY, int(time()) // HOUR_SECONDS * HOUR_SECONDS)
            self._database.execute("REPLACE INTO events VALUES (?, ?, ?)", last)
        self._empty_log()

    def count_events(self, digest: str, events: Mapping[str, int]) -> None:
        with self._lock, transaction(self._database):
            for event, count in events.items():
                self._count(self._number(digest), event, count)

    def counts(self, name: str) -> dict[str, int]:
        """Return how many messages of a pool or a survey wait and leave, and the counts of all events."""
        with self._lock:
            sql = "SELECT COUNT(*), COUNT(batch) FROM messages WHERE survey IN (POOLS) AND content NOT NULL"
            [(held, leaving)] = self._select(sql, name)
            sql = "SELECT event, SUM(count), MAX(count) FROM events WHERE survey IN (POOLS) GROUP BY event"
            found = {RECEIVED: 0, "waiting": held - leaving, "leaving": leaving}
            for event, count, latest in self._select(sql, name):
                found[event] = latest if event == LAST_DELIVERY else count
            sql = "SELECT COUNT(*), SUM(is_used) FROM codes WHERE survey IN (POOLS)"
            [(codes, used)] = self._select(sql, name)
            return found | ({"codes": codes, "codes used": used} if codes else {})

    def batches(self, name: str) -> list[tuple[int, int, int]]:
        """Return hour and size of each batch of a pool or a survey, and the rejected of its worst column."""
        with self._lock:
            sql = "SELECT hour, size, rejected FROM batches WHERE survey IN (POOLS) ORDER BY number"
            rows = self._select(sql, name)
        return [(hour, size, max(map(int, counts.split()), default=0)) for hour, size, counts in rows]

    def digests(self) -> set[str]:
        with self._lock:
            held = "SELECT survey FROM messages WHERE content NOT NULL"
            sql = f"SELECT digest FROM surveys WHERE number IN ({held})"  # noqa: S608
            return {name.partition("/")[0] for (name,) in self._database.execute(sql)}

    def _select(self, sql: str, name: str) -> list[Any]:
        """Return the rows of a query, in which POOLS are a pool, or all pools of a survey, by its digest."""
        pools = "SELECT number FROM surveys WHERE digest = ?1 OR digest LIKE ?1 || '/%'"
        return self._database.execute(sql.replace("POOLS", pools), (name,)).fetchall()

    def _number(self, name: str) -> int:
        self._database.execute("INSERT OR IGNORE INTO surveys (digest) VALUES (?)", (name,))
        sql = "SELECT number FROM surveys WHERE digest = ?"
        return int(self._database.execute(sql, (name,)).fetchone()[0])

    def _count(self, survey: int, event: str, count: int) -> None:
        sql = "INSERT INTO events VALUES (?, ?, ?) ON CONFLICT DO UPDATE SET count = count + excluded.count"
        self._database.execute(sql, (survey, event, count))

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
    try:
        yield
    except BaseException:
        for each in tickets:
            if each.admission and each.is_admitted:
                each.admission.release()
        raise


def name_of(inner: bytes) -> bytes:
    return hashlib.sha256(inner).digest()[:16]
