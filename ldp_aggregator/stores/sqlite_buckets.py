"""Report ids in a SQLite file whose content does not depend on the order in which the ids were added.

The layout is linear hashing (Litwin 1980). A counter of n reports has ceil(n / LOAD) buckets, and a keyed
hash of an id names its bucket: simple tabulation, which spreads any ids evenly (Patrascu and Thorup 2012). A
bucket is one row: its reports sorted by id, padded to a fixed size that fills a page. So SQLite overwrites a
row in place, and no page holds two rows that could be ordered by their last change.
"""

from __future__ import annotations

import sqlite3
from bisect import bisect_left
from collections.abc import Collection, Iterable, Iterator

import numpy as np
from numpy.typing import NDArray

from ldp_aggregator.stores.base import IdsAndMarks, MarksById, byte_rows

SCHEMA = (
    "CREATE TABLE IF NOT EXISTS buckets (number INTEGER PRIMARY KEY, entries BLOB NOT NULL)",
    "CREATE TABLE IF NOT EXISTS internal (name TEXT PRIMARY KEY, value BLOB NOT NULL) WITHOUT ROWID",
    "INSERT OR IGNORE INTO internal VALUES ('hash key', randomblob(16384))",
)
"""A bucket's number is its counter's times 2^32, plus its own."""

LOAD = 65
"""Reports of a bucket on average. Between two splits some have twice as many, and they still fit a page."""

_CAPACITY = 168
"""Reports that fit a page of 4096 bytes."""

_ID, _ENTRY, _COUNT = 16, 24, 4
"""Bytes of an id, of an id with its mark, and of the number of entries before them."""

_SPAN = 1 << 32
_AT_ONCE = 64


class Buckets:
    """The report ids of one counter, within one transaction.

    Parameters
    ----------
    connection : sqlite3.Connection
    counter : int
        Its number.
    reports : int
        How many it has.
    """

    def __init__(self, connection: sqlite3.Connection, counter: int, reports: int) -> None:
        self._connection, self._reports = connection, reports
        self._first, self._count = counter * _SPAN, _buckets_of(reports)
        (key,) = connection.execute("SELECT value FROM internal WHERE name = 'hash key'").fetchone()
        self._table = np.frombuffer(key, "<u4").reshape(_ID, 256)
        self._entries: dict[int, bytes] = {}

    def find_recorded(self, ids: NDArray[np.uint8]) -> MarksById:
        """Return which of these ids are there, with their marks."""
        found, places = {}, self._places(ids).tolist()
        self._read(places)
        for name, bucket in zip(byte_rows(ids), places, strict=True):
            entries = self._entries[bucket]
            place = _position(entries, name)
            if entries[place : place + _ID] == name:
                found[name] = entries[place + _ID : place + _ENTRY]
        return found

    def add(self, ids: NDArray[np.uint8], marks: NDArray[np.uint8]) -> MarksById:
        """Add reports, or nothing if some are there already; return those."""
        self._split(_buckets_of(self._reports + len(ids)))
        known, places, held = {}, self._places(ids).tolist(), self._entries
        self._read(places)
        for name, mark, bucket in zip(byte_rows(ids), byte_rows(marks), places, strict=True):
            entries = held[bucket]
            place = _position(entries, name)
            if entries[place : place + _ID] == name:
                known[name] = entries[place + _ID : place + _ENTRY]
            else:
                held[bucket] = b"".join((entries[:place], name, mark, entries[place:]))
        if not known:
            self._write(sorted(held.items()))
        return known

    def fill(self, entries: NDArray[np.uint8]) -> None:
        """Write all reports of the counter, rows of id and mark that are sorted by id, where none is yet."""
        self._write(self._divide(entries))

    def _split(self, count: int) -> None:
        """Make as many buckets: each new one takes from an older one the ids that belong to it."""
        existing, made = self._count, range(self._count, count)
        divided = {_older(new, existing) for new in made}
        self._read(divided)
        self._count = count
        entries = b"".join(self._entries[bucket] for bucket in divided)
        self._entries.update(dict.fromkeys((*divided, *made), b""))
        self._entries.update(self._divide(np.frombuffer(entries, np.uint8).reshape(-1, _ENTRY)))

    def _divide(self, entries: NDArray[np.uint8]) -> Iterator[tuple[int, bytes]]:
        """Yield each bucket and its entries, which come in sorted order, maybe with others in between."""
        places = self._places(entries[:, :_ID])
        order = np.argsort(places, kind="stable")
        found, starts = np.unique(places[order], return_index=True)
        ends = [*starts.tolist()[1:], len(entries)]
        for bucket, start, end in zip(found.tolist(), starts.tolist(), ends, strict=False):
            yield bucket, entries[order[start:end]].tobytes()

    def _places(self, ids: NDArray[np.uint8]) -> NDArray[np.uint32]:
        """Return each id's bucket: as many low bits of its hash as name one that exists.

        The hash is tabulation with a secret table, so no sender can aim at one bucket.
        """
        hashes = np.bitwise_xor.reduce(self._table[np.arange(_ID), ids], axis=1)
        bits = (self._count - 1).bit_length()
        places = hashes & np.uint32((1 << bits) - 1)
        folded = hashes & np.uint32((1 << max(bits - 1, 0)) - 1)
        found: NDArray[np.uint32] = np.where(places < self._count, places, folded)
        return found

    def _read(self, buckets: Collection[int]) -> None:
        """Read the buckets that are not read yet, many at once."""
        missing = sorted(set(buckets) - self._entries.keys())
        self._entries.update(dict.fromkeys(missing, b""))
        for start in range(0, len(missing), _AT_ONCE):
            numbers = [self._first + bucket for bucket in missing[start : start + _AT_ONCE]]
            marks = ", ".join("?" * len(numbers))
            query = f"SELECT number, entries FROM buckets WHERE number IN ({marks})"  # noqa: S608
            for number, row in self._connection.execute(query, numbers):
                self._entries[number - self._first] = _unpack(row)

    def _write(self, buckets: Iterable[tuple[int, bytes]]) -> None:
        rows = ((self._first + bucket, _pack(entries)) for bucket, entries in buckets)
        self._connection.executemany("REPLACE INTO buckets VALUES (?, ?)", rows)


def read_buckets(
    connection: sqlite3.Connection, counter: int, after: int, reports: int
) -> tuple[int, IdsAndMarks] | None:
    """Return the last number and the reports of the next buckets after a number, -1 at first.

    These are about `reports` reports, of one bucket at least.

    After the last bucket, return None.
    """
    query = "SELECT number, entries FROM buckets WHERE number > ? AND number < ? ORDER BY number LIMIT ?"
    first, limit = counter * _SPAN, max(1, reports // (2 * LOAD))
    rows = connection.execute(query, (first + after, first + _SPAN, limit)).fetchall()
    if not rows:
        return None
    entries = np.frombuffer(b"".join(_unpack(each) for _, each in rows), np.uint8).reshape(-1, _ENTRY)
    return rows[-1][0] - first, (entries[:, :_ID], entries[:, _ID:])


def _buckets_of(reports: int) -> int:
    return max(1, -(-reports // LOAD))


def _older(bucket: int, existing: int) -> int:
    """Return the existing bucket that a new one takes its ids from, maybe by way of other new ones."""
    while bucket >= existing:
        bucket -= 1 << bucket.bit_length() - 1
    return bucket


def _position(entries: bytes, name: bytes) -> int:
    """Return where in the sorted entries an id is, or belongs."""
    starts = range(0, len(entries), _ENTRY)
    return _ENTRY * bisect_left(starts, name, key=lambda start: entries[start : start + _ID])


def _pack(entries: bytes) -> bytes:
    count = len(entries) // _ENTRY
    pages = max(1, -(-count // _CAPACITY))
    return (count.to_bytes(_COUNT, "little") + entries).ljust(_COUNT + pages * _CAPACITY * _ENTRY, b"\0")


def _unpack(row: bytes) -> bytes:
    return row[_COUNT : _COUNT + int.from_bytes(row[:_COUNT], "little") * _ENTRY]
