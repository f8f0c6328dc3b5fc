"""Limits what one network or address can send. All counts are in memory: a restart forgets them."""

from __future__ import annotations

import threading
from collections import Counter
from dataclasses import dataclass
from ipaddress import ip_network
from math import ceil
from time import monotonic

from encoders.proxies import Address

MAX_REFUSALS = 60
"""Messages of one address whose seal does not open, before the relay opens one a second at most."""
WIDER = 10
"""How many times as many messages as a /48 a /32 of IPv6 can send, of which anybody can rent one."""
_MAX_NAMES, _MAX_ADDRESSES = 1_000_000, 10_000


def network_of(sender: Address | None, ipv4: int, ipv6: int) -> str:
    """Return the network with this prefix of a sender; all unknown senders share one."""
    if sender is None:
        return ""
    return str(ip_network((sender, ipv4 if sender.version == 4 else ipv6), strict=False))


class NetworkLimit:
    """Counts the messages of each network in a whole survey: its /24 (IPv4), or its /48 and /32 (IPv6).

    A /32 of IPv6 can send ten times as many as the limit. A limit of 0 means no limit.
    """

    def __init__(self, limit: int) -> None:
        self._limit, self._lock = limit, threading.Lock()
        self._counts: Counter[str] = Counter()
        self._turned_away: set[bytes] = set()

    def acquire(self, sender: Address | None) -> bool:
        """Count a message; return False, and count nothing, if a network of its sender is full."""
        networks = self._networks(sender)
        with self._lock:
            if any(self._counts[network] >= limit for network, limit in networks.items()):
                return False
            self._counts.update(networks.keys())
            return True

    def release(self, sender: Address | None) -> None:
        with self._lock:
            self._counts.subtract(self._networks(sender).keys())

    def is_turned_away_first(self, name: bytes) -> bool:
        """Return whether a message is turned away for the first time, which is counted once."""
        with self._lock:
            is_first = name not in self._turned_away
            if len(self._turned_away) < _MAX_NAMES:
                self._turned_away.add(name)
            return is_first

    def _networks(self, sender: Address | None) -> dict[str, int]:
        if not self._limit:
            return {}
        networks = {network_of(sender, 24, 48): self._limit}
        if sender is not None and sender.version == 6:
            networks[network_of(sender, 24, 32)] = WIDER * self._limit
        return networks


@dataclass(frozen=True)
class Admission:
    """The right of a sender to a message more in a survey."""

    limit: NetworkLimit
    sender: Address | None

    def acquire(self) -> bool:
        return self.limit.acquire(self.sender)

    def release(self) -> None:
        self.limit.release(self.sender)


class RefusalLimit:
    """Slows an address, or a /64 of IPv6, that sends many messages whose seal does not open.

    One is forgotten each second, so an address that has sent too many is refused for seconds only, and others
    behind it are not shut out.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._forgotten_at: dict[str, float] = {}
        """When all refusals of each address are forgotten."""

    def count(self, sender: Address | None) -> None:
        with self._lock:
            now = monotonic()
            if len(self._forgotten_at) >= _MAX_ADDRESSES:
                self._forgotten_at = {each: end for each, end in self._forgotten_at.items() if end > now}
            address = network_of(sender, 32, 64)
            self._forgotten_at[address] = max(self._forgotten_at.get(address, now), now) + 1

    def find_pause(self, sender: Address | None) -> int:
        """Return 0, or the seconds until an address with too many refused messages may send again."""
        with self._lock:
            end = self._forgotten_at.get(network_of(sender, 32, 64), 0.0)
            return max(0, ceil(end - monotonic() - MAX_REFUSALS + 1))
