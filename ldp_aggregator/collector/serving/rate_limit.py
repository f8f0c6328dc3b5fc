"""How many reports or wrong tokens an address may send in a minute, counted without keeping addresses.

What is kept is a table of fixed size that many addresses share (a count-min sketch with conservative
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

from ldp_aggregator.collector.later import Later

Address = IPv4Address | IPv6Address
Network = IPv4Network | IPv6Network

WINDOW_SECONDS = 60
MOST = 60_000
"""The highest rate: a cell holds 16 bits."""
WRONG_TOKENS = 10
"""The most wrong tokens of an address in a minute; then it gets no page that needs a token."""
WRONG_TOKEN_ROWS = 8
"""So many rows that wrong tokens from other addresses lock nobody out: with 50,000 of them in a minute, from
5,000 addresses, the chance that an address without any is refused is below 1e-11."""
_CELLS = 1 << 17
_ROWS = 4
_WITH_PORT = re.compile(r"\[([^\]]*)\](?::[0-9]+)?|([0-9.]+):[0-9]+")
"""An address as some balancers write it: 192.0.2.1:5678, [2001:db8::1]:5678 or [2001:db8::1]."""


class Rates:
    """Counts requests by address, each minute anew.

    A refused request is not counted, so whoever keeps to the rate after a flood is served. An address may be
    refused early if all of its cells are shared with busier ones: with 100,000 addresses at the limit in
    one minute that is one address in twelve, with 10,000 one in 30,000.

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
        rows: int = _ROWS,
    ) -> None:
        self.limit, self.trusted, self._clock, self._row_count = limit, tuple(trusted), clock, rows
        self._lock = threading.Lock()
        self._ends, self._key = -1.0, b""
        self._rows: list[array[int]] = []
        self._later: Later

    def wait(self, peer: str | None, forwarded: str = "", *, count: bool = True) -> int:
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
        if not self.limit:
            return 0
        origin = _group(sender(peer or "", forwarded, self.trusted))
        with self._lock:
            now = self._clock()
            if now >= self._ends:
                if not count:
                    return 0
                self._renew(now)
            self._later.ask(self._ends - now)
            if self._count(origin, int(count)):
                return 0
            return ceil(self._ends - now)

    def _renew(self, now: float) -> None:
        self._ends = now + WINDOW_SECONDS
        self._key = os.urandom(32)
        self._rows = [array("H", bytes(2 * _CELLS)) for _ in range(self._row_count)]
        self._later = Later(self._forget)

    def _forget(self) -> None:
        """Forget a minute that is over, though nobody may have come to begin the next."""
        with self._lock:
            if self._clock() >= self._ends:
                self._key, self._rows = b"", []

    def _count(self, origin: bytes, amount: int) -> bool:
        """Add to the lowest of an origin's cells, unless even they are full."""
        digest = hashlib.blake2b(origin, digest_size=4 * self._row_count, key=self._key).digest()
        places = [number % _CELLS for number in struct.unpack(f"<{self._row_count}I", digest)]
        seen = min(row[place] for row, place in zip(self._rows, places, strict=True))
        if seen >= self.limit:
            return False
        for row, place in zip(self._rows, places, strict=True):
            row[place] = max(row[place], seen + amount)
        return True


def sender(peer: str, forwarded: str, trusted: Sequence[Network]) -> Address | None:
    """Return who sent a request: going back from the peer, the first that is no trusted proxy.

    Each proxy adds at the right end of X-Forwarded-For whom it serves. What stands left of an address that
    is not trusted was written by that sender, and is not looked at.
    """
    hops = [hop.strip() for hop in forwarded.split(",")]
    address = _read(peer)
    while address and hops and any(address in network for network in trusted):
        before = _read(hops.pop())
        if before is None:
            break
        address = before
    return address


def _read(text: str) -> Address | None:
    if found := _WITH_PORT.fullmatch(text):
        text = found[1] or found[2] or ""
    try:
        address = ip_address(text)
    except ValueError:
        return None
    return getattr(address, "ipv4_mapped", None) or address


def _group(address: Address | None) -> bytes:
    """Return what is counted together: an IPv4 address, or the 64 leading bits that one site of IPv6 has."""
    return address.packed[:8] if address else b""
