"""Stores report ids in a SQLite file whose content does not depend on the order in which they were added.

The layout is linear hashing (Litwin 1980). A counter of n reports has ceil(n / 65) buckets. A keyed hash of
an id selects its bucket: simple tabulation, which distributes any ids evenly (Patrascu and Thorup 2012). A
bucket is one row: its reports sorted by id, padded to a fixed size that fills a page. So SQLite overwrites a
row in place, and no page holds two rows whose order could show which one changed last.
"""

from __future__ import annotations

import sqlite3
from bisect import bisect_left
from collections.abc import Collection, Iterable, Iterator

import numpy as np
from numpy.typing import NDArray

from ldp_aggregator.arrays import ByteArray
from ldp_aggregator.stores.failure import CounterError, StoreFailure
from ldp_aggregator.stores.store import IdsAndMarks, MarksById, byte_rows

SCHEMA = (
    "CREATE TABLE IF NOT EXISTS buckets (number INTEGER PRIMARY KEY, entries BLOB NOT NULL)",
    "CREATE TABLE IF NOT EXISTS internal (name TEXT PRIMARY KEY, value BLOB NOT NULL) WITHOUT ROWID",
    "INSERT OR IGNORE INTO internal VALUES ('hash key', randomblob(16384))",
)
"""A row's number is the counter's number times 2^32, plus the bucket's index."""

MEAN_REPORTS_PER_BUCKET = 65
"""Average number of reports per bucket. Between two splits some have twice as many, which fit a page."""

_ENTRIES_PER_PAGE = 168
"""Entries that fit a page of 4096 bytes."""

_ID_BYTES = 16
_ENTRY_BYTES = 24
"""Size of an entry: id and mark."""
_COUNT_BYTES = 4
"""Size of the number of entries, which precedes them."""

_MAX_BUCKETS = 1 << 32
_BUCKETS_PER_QUERY = 64
_BUCKETS_PER_DELETION = 1000
"""Each transaction that deletes reports holds the write lock for some milliseconds."""


class Buckets:
    """The report ids of one counter with so many reports, given by its row number, within one transaction."""

    def __init__(self, connection: sqlite3.Connection, counter: int, reports: int) -> None:
        self._connection = connection
        self._reports = reports
        self._first = counter * _MAX_BUCKETS
        self._count = self._existing = _bucket_count(reports)
        (key,) = connection.execute("SELECT value FROM internal WHERE name = 'hash key'").fetchone()
        self._table = np.frombuffer(key, "<u4").reshape(_ID_BYTES, 256)
        self._entries: dict[int, bytes] = {}
        self._is_incomplete = False

    def find(self, ids: ByteArray) -> MarksById:
        marks_by_id: MarksById = {}
        buckets = self._bucket_of_each(ids).tolist()
        self._read(buckets)
        for name, bucket in zip(byte_rows(ids), buckets, strict=True):
            entries = self._entries[bucket]
            offset = _position(entries, name)
            if entries[offset : offset + _ID_BYTES] == name:
                marks_by_id[name] = entries[offset + _ID_BYTES : offset + _ENTRY_BYTES]
        return marks_by_id

    def add(self, ids: ByteArray, marks: ByteArray) -> MarksById:
        """Add reports, or none if some are known; return those. CounterError if an old bucket is missing."""
        self._split(_bucket_count(self._reports + len(ids)))
        known: MarksById = {}
        buckets = self._bucket_of_each(ids).tolist()
        self._read(buckets)
        if self._is_incomplete:
            raise CounterError("ids are missing in the SQLite file", StoreFailure.REPORTS_LOST)
        for name, mark, bucket in zip(byte_rows(ids), byte_rows(marks), buckets, strict=True):
            entries = self._entries[bucket]
            offset = _position(entries, name)
            if entries[offset : offset + _ID_BYTES] == name:
                known[name] = entries[offset + _ID_BYTES : offset + _ENTRY_BYTES]
            else:
                self._entries[bucket] = b"".join((entries[:offset], name, mark, entries[offset:]))
        if not known:
            self._write(sorted(self._entries.items()))
        return known

    def _split(self, count: int) -> None:
        """Increase the number of buckets to `count`; ids move from older buckets to new ones."""
        existing = self._count
        new_buckets = range(existing, count)
        divided = {_parent_bucket(new, existing) for new in new_buckets}
        self._read(divided)
        self._count = count
        entries = b"".join(self._entries[bucket] for bucket in divided)
        self._entries.update(dict.fromkeys((*divided, *new_buckets), b""))
        self._entries.update(self._divide(np.frombuffer(entries, np.uint8).reshape(-1, _ENTRY_BYTES)))

    def _divide(self, entries: ByteArray) -> Iterator[tuple[int, bytes]]:
        buckets = self._bucket_of_each(entries[:, :_ID_BYTES])
        order = np.argsort(buckets, kind="stable")
        bucket_numbers, starts = np.unique(buckets[order], return_index=True)
        ends = [*starts.tolist()[1:], len(entries)]
        for bucket, start, end in zip(bucket_numbers.tolist(), starts.tolist(), ends, strict=False):
            yield bucket, entries[order[start:end]].tobytes()

    def _bucket_of_each(self, ids: ByteArray) -> NDArray[np.uint32]:
        """Return each id's bucket: the low bits of its hash, one bit fewer if that bucket does not exist.

        The hash is tabulation with a secret table, so senders cannot choose a bucket.
        """
        hashes = np.bitwise_xor.reduce(self._table[np.arange(_ID_BYTES), ids], axis=1)
        bits = (self._count - 1).bit_length()
        buckets = hashes & np.uint32((1 << bits) - 1)
        folded = hashes & np.uint32((1 << max(bits - 1, 0)) - 1)
        existing: NDArray[np.uint32] = np.where(buckets < self._count, buckets, folded)
        return existing

    def _read(self, buckets: Collection[int]) -> None:
        missing = sorted(set(buckets) - self._entries.keys())
        expected = bool(self._reports) * sum(bucket < self._existing for bucket in missing)
        self._entries.update(dict.fromkeys(missing, b""))
        for start in range(0, len(missing), _BUCKETS_PER_QUERY):
            numbers = [self._first + bucket for bucket in missing[start : start + _BUCKETS_PER_QUERY]]
            marks = ", ".join("?" * len(numbers))
            query = f"SELECT number, entries FROM buckets WHERE number IN ({marks})"  # noqa: S608
            for number, row in self._connection.execute(query, numbers):
                self._entries[number - self._first] = _unpack(row)
                expected -= 1
        self._is_incomplete |= expected > 0

    def _write(self, buckets: Iterable[tuple[int, bytes]]) -> None:
        rows = ((self._first + bucket, _pack(entries)) for bucket, entries in buckets)
        self._connection.executemany("REPLACE INTO buckets VALUES (?, ?)", rows)


def find_ids(connection: sqlite3.Connection, counter: int, reports: int, ids: ByteArray) -> MarksById:
    """Return which of these ids are stored, with their marks, even if the number of reports is damaged."""
    if fits_last_bucket(connection, counter, reports):
        return Buckets(connection, counter, reports).find(ids)
    found = read_buckets(connection, counter)
    stored = dict(zip(*map(byte_rows, found[1]), strict=True)) if found else {}
    return {name: stored[name] for name in byte_rows(ids) if name in stored}


def read_buckets(
    connection: sqlite3.Connection, counter: int, after: int = -1, reports: int | None = None
) -> tuple[int, IdsAndMarks] | None:
    """Return the last index and about `reports` reports of the buckets after `after`; None at the end."""
    query = "SELECT number, entries FROM buckets WHERE number > ? AND number < ? ORDER BY number LIMIT ?"
    first = counter * _MAX_BUCKETS
    limit = -1 if reports is None else max(1, reports // (2 * MEAN_REPORTS_PER_BUCKET))
    rows = connection.execute(query, (first + after, first + _MAX_BUCKETS, limit)).fetchall()
    if not rows:
        return None
    entries = np.frombuffer(b"".join(_unpack(each) for _, each in rows), np.uint8).reshape(-1, _ENTRY_BYTES)
    return rows[-1][0] - first, (entries[:, :_ID_BYTES], entries[:, _ID_BYTES:])


def count_ids(connection: sqlite3.Connection, counter: int) -> int:
    query = "SELECT substr(entries, 1, ?) FROM buckets WHERE number >= ? AND number < ?"
    first = counter * _MAX_BUCKETS
    rows = connection.execute(query, (_COUNT_BYTES, first, first + _MAX_BUCKETS))
    return sum(int.from_bytes(count, "little") for (count,) in rows)


def fits_last_bucket(connection: sqlite3.Connection, counter: int, reports: int) -> bool:
    """Return whether the last bucket of a counter is that of its number of reports, reading no other."""
    query = "SELECT max(number) FROM buckets WHERE number >= ? AND number < ?"
    first = counter * _MAX_BUCKETS
    (last,) = connection.execute(query, (first, first + _MAX_BUCKETS)).fetchone()
    return (last is None and not reports) or last == first + _bucket_count(reports) - 1


def delete_buckets(connection: sqlite3.Connection, counter: int) -> bool:
    first = counter * _MAX_BUCKETS
    query = "SELECT number FROM buckets WHERE number >= ? AND number < ? LIMIT ?"
    statement = f"DELETE FROM buckets WHERE number IN ({query})"  # noqa: S608
    found = connection.execute(statement, (first, first + _MAX_BUCKETS, _BUCKETS_PER_DELETION))
    return found.rowcount > 0


def _bucket_count(reports: int) -> int:
    return max(1, -(-reports // MEAN_REPORTS_PER_BUCKET))


def _parent_bucket(bucket: int, existing: int) -> int:
    while bucket >= existing:
        bucket -= 1 << bucket.bit_length() - 1
    return bucket


def _position(entries: bytes, name: bytes) -> int:
    starts = range(0, len(entries), _ENTRY_BYTES)
    return _ENTRY_BYTES * bisect_left(starts, name, key=lambda start: entries[start : start + _ID_BYTES])


def _pack(entries: bytes) -> bytes:
    count = len(entries) // _ENTRY_BYTES
    pages = max(1, -(-count // _ENTRIES_PER_PAGE))
    return (count.to_bytes(_COUNT_BYTES, "little") + entries).ljust(
        _COUNT_BYTES + pages * _ENTRIES_PER_PAGE * _ENTRY_BYTES, b"\0"
    )


def _unpack(row: bytes) -> bytes:
    return row[_COUNT_BYTES : _COUNT_BYTES + int.from_bytes(row[:_COUNT_BYTES], "little") * _ENTRY_BYTES]
