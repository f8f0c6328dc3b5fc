"""Limits reports or wrong tokens per address and minute, without storing addresses.

The counts are in a table of fixed size that many addresses share (a count-min sketch with conservative
updates: Cormode and Muthukrishnan 2005; Estan and Varghese 2002). Its key is used for one minute. Within that
minute, a reader of the process's memory can test an address against the table; then key and table are gone.
"""

from __future__ import annotations

import hashlib
import os
import struct
import threading
from array import array
from collections.abc import Callable, Sequence
from math import ceil
from time import monotonic

from encoders.proxies import Network, find_sender
from ldp_aggregator.background_task import BackgroundTask

WINDOW_SECONDS = 60
MAX_REQUESTS_PER_MINUTE = 60_000
"""The highest rate limit: a cell holds 16 bits."""
MAX_WRONG_TOKENS_PER_MINUTE = 10
"""Wrong tokens per address and minute; beyond, the address gets no page that needs a token."""
WRONG_TOKEN_TABLE_ROWS = 8
"""Enough rows that wrong tokens from other addresses lock nobody out: with 50,000 of them in a minute, from
5,000 addresses, an address without any is refused with probability below 1e-11."""
_CELLS_PER_ROW = 1 << 17
_ROW_COUNT = 4


class RateLimit:
    """Counts the requests of each address, from zero in each minute; a limit of 0 means no limit.

    A refused request is not counted, so a client that keeps to the rate after a flood is served. An address
    may be refused early if it shares all of its cells with busier ones: with 100,000 addresses at the limit
    in one minute that is one address in twelve, with 10,000 one in 30,000. The table has 256 KiB in each row;
    more rows refuse fewer addresses early. `clock` returns monotonic seconds.
    """

    def __init__(
        self,
        limit: int = 0,
        trusted: Sequence[Network] = (),
        clock: Callable[[], float] = monotonic,
        rows: int = _ROW_COUNT,
    ) -> None:
        self._limit = limit
        self._trusted = tuple(trusted)
        self._clock = clock
        self._row_count = rows
        self._lock = threading.Lock()
        self._window_end = -1.0
        self._key = b""
        self._rows: list[array[int]] = []
        self._reset_task = BackgroundTask(self._reset_if_over)

    def acquire(self, peer: str | None, forwarded: str = "", *, count: bool = True) -> int:
        """Count a request, unless its address is over the limit; with `count` false, only check the limit.

        `peer` is the address of the other end of the connection, and `forwarded` the X-Forwarded-For header.
        Returns the seconds until the next minute begins; 0 if the request is allowed.
        """
        if not self._limit:
            return 0
        address = find_sender(peer or "", forwarded, self._trusted)
        group = address.packed[:8] if address else b""  # 64 bits: all of IPv4, or one site of IPv6
        with self._lock:
            now = self._clock()
            if now >= self._window_end:
                if not count:
                    return 0
                self._window_end = now + WINDOW_SECONDS
                self._key = os.urandom(32)
                self._rows = [array("H", bytes(2 * _CELLS_PER_ROW)) for _ in range(self._row_count)]
            self._reset_task.request(self._window_end - now)
            if self._add(group, int(count)):
                return 0
            return ceil(self._window_end - now)

    def _reset_if_over(self) -> float | None:
        with self._lock:
            seconds_left = self._window_end - self._clock()
            if seconds_left > 0:
                return seconds_left
            self._key = b""
            self._rows = []
            return None

    def _add(self, group: bytes, amount: int) -> bool:
        """Add to the lowest cells of a group of addresses; return False if they are at the limit."""
        digest = hashlib.blake2b(group, digest_size=4 * self._row_count, key=self._key).digest()
        cells = [number % _CELLS_PER_ROW for number in struct.unpack(f"<{self._row_count}I", digest)]
        lowest = min(row[cell] for row, cell in zip(self._rows, cells, strict=True))
        if lowest >= self._limit:
            return False
        for row, cell in zip(self._rows, cells, strict=True):
            row[cell] = max(row[cell], lowest + amount)
        return True
