"""Searches the data that a collector and its store keep for senders, their data, and times.

Ids and marks are kept by design. They are random bytes, so they are blanked before the search for times and
addresses: in the rest, a chance hit is rarer than one in a million runs.
"""

from __future__ import annotations

import re
import socket
import struct
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field

import numpy as np

_UNITS = {"seconds": 1, "milliseconds": 10**3, "microseconds": 10**6, "nanoseconds": 10**9}
_CLOCK = re.compile(rb"\d{4}-\d\d-\d\d[T ]\d\d:\d\d|\b\d\d:\d\d:\d\d\b")
_DIGITS = re.compile(rb"(?<!\d)(?:\d{10}|\d{13}|\d{16}|\d{19})(?!\d)")
_WORD = 8


@dataclass
class SentData:
    """All data that senders sent with their reports.

    Attributes
    ----------
    addresses : list of str
    words : list of str
        Values of headers and cookies, parts of paths.
    contents : list of bytes
        Reports, long payloads, bodies, true values: each complete and at least 8 bytes.
    kept : list of bytes
        Ids and marks, which are no traces.
    start, end : float
        Unix times in seconds.
    """

    addresses: list[str] = field(default_factory=list)
    words: list[str] = field(default_factory=list)
    contents: list[bytes] = field(default_factory=list)
    kept: list[bytes] = field(default_factory=list)
    start: float = 0.0
    end: float = 0.0


def traces(files: Mapping[str, bytes], sent_data: SentData) -> Iterator[str]:
    """Yield each kind of trace that was found, with its file, at most once per kind and file."""
    for name, data in files.items():
        for what in _kinds(name, data, sent_data):
            yield f"{what} in {name}"


def _kinds(name: str, data: bytes, sent_data: SentData) -> Iterator[str]:
    if next(find(data, sent_data.contents), None):
        yield "something as it was sent"
    lower = data.lower()
    if any(word.lower().encode() in lower for word in sent_data.words):
        yield "a word of a sender"
    if any(address.encode() in data for address in sent_data.addresses):
        yield "an address in text"
    rest = _without_checksums(name, _blanked(data, sent_data.kept))
    packed = [socket.inet_aton(address) for address in sent_data.addresses]
    if any(each in rest or each[::-1] in rest for each in packed):
        yield "a packed address"
    yield from _times(rest, int(sent_data.start) - 1, int(sent_data.end) + 2)
    if name.endswith(".incr.aof") and _short_time(rest, int(sent_data.start) - 1, int(sent_data.end) + 2):
        yield "a time of 4 bytes"


def find(data: bytes, wanted: Collection[bytes]) -> Iterator[tuple[int, bytes]]:
    """Yield the positions of byte strings, each at least 8 bytes long."""
    by_head: dict[bytes, list[bytes]] = {}
    for each in wanted:
        assert len(each) >= _WORD
        by_head.setdefault(each[:_WORD], []).append(each)
    heads = np.unique(np.frombuffer(b"".join(by_head), "<u8"))
    for offset in range(min(_WORD, len(data)) if len(heads) else 0):
        words = np.frombuffer(data, "<u8", (len(data) - offset) // _WORD, offset)
        nearest = np.minimum(np.searchsorted(heads, words), len(heads) - 1)
        for place in (np.flatnonzero(heads[nearest] == words) * _WORD + offset).tolist():
            for each in by_head[data[place : place + _WORD]]:
                if data.startswith(each, place):
                    yield place, each


def _blanked(data: bytes, kept: Collection[bytes]) -> bytes:
    rest = bytearray(data)
    for place, each in find(data, kept):
        rest[place : place + len(each)] = b" " * len(each)
    return bytes(rest)


def _without_checksums(name: str, data: bytes) -> bytes:
    """Blank the salts and checksums of SQLite's log and of Redis's dump, which are random bytes too."""
    rest = bytearray(data)
    if name.endswith("-wal") and len(data) > 32:
        page = int.from_bytes(data[8:12], "big")
        rest[16:32] = b" " * 16
        for frame in range(32, len(data), 24 + page):
            rest[frame + 8 : frame + 24] = b" " * 16
    if data.startswith(b"REDIS"):
        rest[-8:] = b" " * 8
    return bytes(rest)


def _times(data: bytes, start: int, end: int) -> Iterator[str]:
    if _CLOCK.search(data):
        yield "a time of day"
    if any(start <= int(run[0][:10]) < end for run in _DIGITS.finditer(data)):
        yield "a time in digits"
    for order in "<>":
        for offset in range(min(_WORD, len(data))):
            words = np.frombuffer(data, f"{order}u8", (len(data) - offset) // _WORD, offset)
            for unit, scale in _UNITS.items():
                if bool(((words >= start * scale) & (words < end * scale)).any()):
                    yield f"a time in {unit}"
            with np.errstate(invalid="ignore"):
                floats = words.view(f"{order}f8")
                if bool(((floats >= start) & (floats < end)).any()):
                    yield "a time as a float"


def _short_time(data: bytes, start: int, end: int) -> bool:
    """Search for Unix times in 4 bytes; four printable characters are treated as text."""
    return any(
        re.search(rb"[^ -~\r\n]", spelled) and spelled in data
        for second in range(start, end)
        for spelled in (struct.pack("<I", second), struct.pack(">I", second))
    )
