"""How many reports or wrong tokens an address may send in a minute, counted without keeping addresses.

Only a table of fixed size is kept, which many addresses share (a count-min sketch with conservative
updates: Cormode and Muthukrishnan 2005; Estan and Varghese 2002), under a key that lives for one minute and
in this process alone. It holds neither addresses nor hashes of them. Who reads the process's memory within
that minute can try an address against it; afterwards nothing is left to try.
"""

from __future__ import annotations

import hashlib
import os
import re
import struct
import threading
from array import array
from collections.abc import Callable, Sequence
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address
from math import ceil
from time import monotonic

from ldp_aggregator.background_task import BackgroundTask

Address = IPv4Address | IPv6Address
Network = IPv4Network | IPv6Network

WINDOW_SECONDS = 60
MAX_REQUESTS_PER_MINUTE = 60_000
"""The highest rate: a cell holds 16 bits."""
MAX_WRONG_TOKENS_PER_MINUTE = 10
"""The most wrong tokens of an address in a minute; then it gets no page that needs a token."""
WRONG_TOKEN_TABLE_ROWS = 8
"""So many rows that wrong tokens from other addresses lock nobody out: with 50,000 of them in a minute, from
5,000 addresses, the chance that an address without any is refused is below 1e-11."""
_CELLS_PER_ROW = 1 << 17
_ROW_COUNT = 4
_ADDRESS_WITH_PORT = re.compile(r"\[([^\]]*)\](?::[0-9]+)?|([0-9.]+):[0-9]+")
"""An address as some balancers write it: 192.0.2.1:5678, [2001:db8::1]:5678 or [2001:db8::1]."""


class RateLimit:
    """Counts requests by address, each minute anew.

    A refused request is not counted, so a client that keeps to the rate after a flood is served. An address
    may be refused early if all of its cells are shared with busier ones: with 100,000 addresses at the limit
    in one minute that is one address in twelve, with 10,000 one in 30,000.

    Parameters
    ----------
    limit : int
        Requests of an address in a minute; 0 means any number.
    trusted : sequence of networks
        The proxies that are believed when they say for whom they ask.
    clock : callable
        Seconds.
    rows : int
        Rows of the table, 256 KiB each: the more, the fewer addresses are refused early.
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
        """Count a request, unless it is one too many.

        Parameters
        ----------
        peer : str or None
            The other end of the connection.
        forwarded : str
            Its X-Forwarded-For.
        count : bool
            If false, the request is looked up and not counted.

        Returns
        -------
        int
            Seconds to wait until the next minute begins; 0 if the request may pass.
        """
        if not self._limit:
            return 0
        group = _address_group(find_sender(peer or "", forwarded, self._trusted))
        with self._lock:
            now = self._clock()
            if now >= self._window_end:
                if not count:
                    return 0
                self._begin_window(now)
            self._reset_task.request(self._window_end - now)
            if self._add(group, int(count)):
                return 0
            return ceil(self._window_end - now)

    def _begin_window(self, now: float) -> None:
        self._window_end = now + WINDOW_SECONDS
        self._key = os.urandom(32)
        self._rows = [array("H", bytes(2 * _CELLS_PER_ROW)) for _ in range(self._row_count)]

    def _reset_if_over(self) -> float | None:
        """Forget a minute that is over, even if no request begins the next; return the seconds left of it."""
        with self._lock:
            seconds_left = self._window_end - self._clock()
            if seconds_left > 0:
                return seconds_left
            self._key = b""
            self._rows = []
            return None

    def _add(self, group: bytes, amount: int) -> bool:
        """Add to the lowest cells of a group of addresses, unless even they are full."""
        digest = hashlib.blake2b(group, digest_size=4 * self._row_count, key=self._key).digest()
        cells = [number % _CELLS_PER_ROW for number in struct.unpack(f"<{self._row_count}I", digest)]
        lowest = min(row[cell] for row, cell in zip(self._rows, cells, strict=True))
        if lowest >= self._limit:
            return False
        for row, cell in zip(self._rows, cells, strict=True):
            row[cell] = max(row[cell], lowest + amount)
        return True


def find_sender(peer: str, forwarded: str, trusted: Sequence[Network]) -> Address | None:
    """Return who sent a request: going back from the peer, the first that is no trusted proxy.

    Each proxy adds at the right end of X-Forwarded-For whom it serves. What stands left of an address that
    is not trusted was written by that sender, and is not looked at.
    """
    hops = [hop.strip() for hop in forwarded.split(",")]
    address = _parse_address(peer)
    while address and hops and any(address in network for network in trusted):
        before = _parse_address(hops.pop())
        if before is None:
            break
        address = before
    return address


def _parse_address(text: str) -> Address | None:
    if found := _ADDRESS_WITH_PORT.fullmatch(text):
        text = found[1] or found[2] or ""
    try:
        address = ip_address(text)
    except ValueError:
        return None
    return getattr(address, "ipv4_mapped", None) or address


def _address_group(address: Address | None) -> bytes:
    """Return what is counted together: an IPv4 address, or the 64 leading bits that one site of IPv6 has."""
    return address.packed[:8] if address else b""
