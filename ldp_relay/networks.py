"""Limits the messages of each network. Counts are in memory, and are deleted when their hour ends."""

from __future__ import annotations

import threading
from collections import Counter
from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network
from math import ceil
from time import monotonic

_HOUR_SECONDS = 3600
Address = IPv4Address | IPv6Address


def read_address(text: str) -> Address | None:
    """Return an address in its shortest form; None if the text is none."""
    try:
        address = ip_address(text)
    except ValueError:
        return None
    return getattr(address, "ipv4_mapped", None) or address


def network_of(peer: str, forwarded: str, proxies: frozenset[Address]) -> str:
    """Return the network of a sender: its /24 (IPv4) or /48 (IPv6), or an empty text if it is unknown.

    Parameters
    ----------
    peer : str
        The address at the other end of the connection.
    forwarded : str
        The header X-Forwarded-For, to whose end a proxy adds the sender's address.
    proxies : frozenset of addresses
        The relay's own proxies; the header is ignored if it comes from another address.
    """
    address = read_address(peer)
    if address in proxies:
        address = read_address(forwarded.rpartition(",")[2].strip())
    if address is None:
        return ""
    return str(ip_network((address, 24 if address.version == 4 else 48), strict=False))


class NetworkLimit:
    """Counts the messages of each network in an hour.

    Parameters
    ----------
    limit : int
        Messages of one network and hour; 0 means no limit.
    """

    def __init__(self, limit: int) -> None:
        self._limit, self._lock, self._end = limit, threading.Lock(), 0.0
        self._counts: Counter[str] = Counter()

    def acquire(self, network: str) -> int:
        """Count a message; return 0, or the seconds until the next hour if its network is over the limit."""
        if not self._limit:
            return 0
        with self._lock:
            if (now := monotonic()) >= self._end:
                self._counts.clear()
                self._end = now + _HOUR_SECONDS
            if self._counts[network] >= self._limit:
                return ceil(self._end - now)
            self._counts[network] += 1
            return 0
