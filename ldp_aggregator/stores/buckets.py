"""Report ids in a SQLite file whose content does not depend on the order in which the ids were added.

The layout is linear hashing (Litwin 1980). A counter of n reports has ceil(n / LOAD) buckets, and a keyed
hash of an id names its bucket: simple tabulation, which spreads any ids evenly (Patrascu and Thorup 2012). A
bucket is one row: its reports sorted by id, padded to a fixed size that fills a page. So SQLite overwrites a
row in place, and no page holds two rows that could be ordered by their last change.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Sequence
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from ldp_aggregator.stores.base import Known, Remembered, rows_of

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

Hashes = NDArray[np.uint32]


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

    def known(self, ids: NDArray[np.uint8]) -> Known:
        """Return which of these ids are there, with their marks."""
        found = {}
        for name, bucket in zip(rows_of(ids), self._places(self._hashes(ids)), strict=True):
            entries = self._read(bucket)
            place = _position(entries, name)
            if entries[place : place + _ID] == name:
                found[name] = entries[place + _ID : place + _ENTRY]
        return found

    def add(self, ids: NDArray[np.uint8], marks: NDArray[np.uint8]) -> Known:
        """Add reports, or nothing if some are there already; return those."""
        self._split(_buckets_of(self._reports + len(ids)))
        known, places = {}, self._places(self._hashes(ids))
        for name, mark, bucket in zip(rows_of(ids), rows_of(marks), places, strict=True):
            entries = self._read(bucket)
            place = _position(entries, name)
            if entries[place : place + _ID] == name:
                known[name] = entries[place + _ID : place + _ENTRY]
            else:
                self._entries[bucket] = b"".join((entries[:place], name, mark, entries[place:]))
        if not known:
            self._write(sorted(self._entries.items()))
        return known

    def fill(self, entries: NDArray[np.uint8]) -> None:
        """Write all reports of the counter, rows of id and mark that are sorted by id, where none is yet."""
        places = np.array(self._places(self._hashes(entries[:, :_ID])), dtype=np.int64)
        order = np.argsort(places, kind="stable")
        bounds = np.searchsorted(places[order], np.arange(self._count + 1)).tolist()
        self._write(
            (bucket, entries[order[start:end]].tobytes())
            for bucket, (start, end) in enumerate(pairwise(bounds))
        )

    def _split(self, count: int) -> None:
        """Make as many buckets: each new one takes from an older one the ids that belong to it."""
        for new in range(self._count, count):
            old = new - (1 << new.bit_length() - 1)
            entries = self._read(old)
            rows = np.frombuffer(entries, np.uint8).reshape(-1, _ENTRY)
            self._count = new + 1
            moves = np.array(self._places(self._hashes(rows[:, :_ID])), dtype=np.int64) == new
            self._entries[old], self._entries[new] = rows[~moves].tobytes(), rows[moves].tobytes()

    def _hashes(self, ids: NDArray[np.uint8]) -> Hashes:
        """Return 32 bits of each id, by tabulation: without the key no sender can aim at one bucket."""
        hashes: Hashes = np.bitwise_xor.reduce(self._table[np.arange(_ID), ids], axis=1)
        return hashes

    def _places(self, hashes: Hashes) -> list[int]:
        """Return each id's bucket: as many low bits of its hash as name one that exists."""
        bits = (self._count - 1).bit_length()
        places = hashes & np.uint32((1 << bits) - 1)
        folded = hashes & np.uint32((1 << max(bits - 1, 0)) - 1)
        listed: list[int] = np.where(places < self._count, places, folded).tolist()
        return listed

    def _read(self, bucket: int) -> bytes:
        if bucket not in self._entries:
            query = "SELECT entries FROM buckets WHERE number = ?"
            row = self._connection.execute(query, (self._first + bucket,)).fetchone()
            self._entries[bucket] = _unpack(row[0]) if row else b""
        return self._entries[bucket]

    def _write(self, buckets: Iterator[tuple[int, bytes]] | Sequence[tuple[int, bytes]]) -> None:
        rows = ((self._first + bucket, _pack(entries)) for bucket, entries in buckets)
        self._connection.executemany("REPLACE INTO buckets VALUES (?, ?)", rows)


def read_buckets(
    connection: sqlite3.Connection, counter: int, after: int, reports: int
) -> tuple[int, Remembered] | None:
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


def _position(entries: bytes, name: bytes) -> int:
    """Return where in the sorted entries an id is, or belongs."""
    low, high = 0, len(entries) // _ENTRY
    while low < high:
        middle = (low + high) // 2
        if entries[_ENTRY * middle : _ENTRY * middle + _ID] < name:
            low = middle + 1
        else:
            high = middle
    return _ENTRY * low


def _pack(entries: bytes) -> bytes:
    count = len(entries) // _ENTRY
    pages = max(1, -(-count // _CAPACITY))
    return (count.to_bytes(_COUNT, "little") + entries).ljust(_COUNT + pages * _CAPACITY * _ENTRY, b"\0")


def _unpack(row: bytes) -> bytes:
    return row[_COUNT : _COUNT + int.from_bytes(row[:_COUNT], "little") * _ENTRY]
