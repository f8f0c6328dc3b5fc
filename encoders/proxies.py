"""What proxies tell a server: the address of a request's sender, and the requests that they refused."""

from __future__ import annotations

import re
from collections.abc import Sequence
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address
from pathlib import Path

Address = IPv4Address | IPv6Address
Network = IPv4Network | IPv6Network

_ADDRESS_WITH_PORT = re.compile(r"\[([^\]]*)\](?::[0-9]+)?|([0-9.]+):[0-9]+")
"""An address as some load balancers write it: 192.0.2.1:5678, [2001:db8::1]:5678 or [2001:db8::1]."""


def find_sender(peer: str, forwarded: str, trusted: Sequence[Network]) -> Address | None:
    """Return the sender of a request: from the peer backwards, the first address that is not a trusted proxy.

    Each proxy appends its client's address at the right end of X-Forwarded-For. Entries to the left of an
    untrusted address were written by that sender, and are ignored.
    """
    hops = [hop.strip() for hop in forwarded.split(",")]
    address = parse_address(peer)
    while address and hops and any(address in network for network in trusted):
        before = parse_address(hops.pop())
        if before is None:
            break
        address = before
    return address


def parse_address(text: str) -> Address | None:
    """Return an address in its shortest form; None if the text is none."""
    if found := _ADDRESS_WITH_PORT.fullmatch(text):
        text = found[1] or found[2] or ""
    try:
        address = ip_address(text)
    except ValueError:
        return None
    return getattr(address, "ipv4_mapped", None) or address


def count_refusals(file: Path | None) -> int | None:
    """Return the size of the file in bytes, one for each request; None if there is no file."""
    try:
        return file.stat().st_size if file else None
    except OSError:
        return None
