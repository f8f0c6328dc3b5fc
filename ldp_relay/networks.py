"""Limits the messages of each network, and estimates how many networks sent; no address is stored.

Everything is in memory. The counts of an hour are deleted at its end.
"""

from __future__ import annotations

import hashlib
import os
import threading
from collections import Counter
from ipaddress import ip_address, ip_network
from math import ceil, log
from time import time

_BITS = 1 << 16


def network_of(peer: str, forwarded: str, proxies: frozenset[str]) -> str:
    """Return the network of a sender: its /24 (IPv4) or /48 (IPv6), or an empty text if it is unknown.

    Parameters
    ----------
    peer : str
        The address at the other end of the connection.
    forwarded : str
        The header X-Forwarded-For, to whose end a proxy adds the sender's address.
    proxies : frozenset of str
        The addresses of the relay's own proxies; the header is ignored if it comes from another address.
    """
    text = forwarded.rpartition(",")[2].strip() if peer in proxies else peer
    try:
        address = ip_address(text)
    except ValueError:
        return ""
    address = getattr(address, "ipv4_mapped", None) or address
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
            if (now := time()) >= self._end:
                self._counts.clear()
                self._end = now + 3600
            if self._counts[network] >= self._limit:
                return ceil(self._end - now)
            self._counts[network] += 1
            return 0


class NetworkCount:
    """Estimates a number of different networks from the bits that their keyed hashes set (Whang et al. 1990).

    Several networks share each bit, and the key is new in each process, so the bits name no network.
    """

    def __init__(self) -> None:
        self._key, self._bits = os.urandom(32), bytearray(_BITS)

    def add(self, network: str) -> None:
        """Count a network, once."""
        digest = hashlib.blake2b(network.encode(), key=self._key, digest_size=2).digest()
        self._bits[int.from_bytes(digest, "big")] = 1

    def take(self) -> int:
        """Return the estimate, and begin again at 0."""
        unset, self._bits = self._bits.count(0), bytearray(_BITS)
        return round(_BITS * log(_BITS / max(unset, 1)))
