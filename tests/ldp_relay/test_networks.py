"""Limits for networks, and the estimate of how many there are."""

from __future__ import annotations

import pytest

from ldp_relay import networks as module
from ldp_relay.networks import NetworkLimit, network_of, read_address

PROXIES = frozenset({read_address("127.0.0.1"), read_address("0:0:0:0:0:0:0:1")})


@pytest.mark.parametrize(
    ("peer", "forwarded", "network"),
    [
        ("192.0.2.77", "", "192.0.2.0/24"),
        ("192.0.2.77", "198.51.100.1", "192.0.2.0/24"),  # not a proxy: the header is the sender's own
        ("127.0.0.1", "203.0.113.9, 198.51.100.1", "198.51.100.0/24"),  # only the last entry is the proxy's
        ("127.0.0.1", "2001:db8:1:2::3", "2001:db8:1::/48"),
        ("::ffff:192.0.2.77", "", "192.0.2.0/24"),
        ("127.0.0.1", "unknown", ""),
        ("::ffff:127.0.0.1", "198.51.100.1", "198.51.100.0/24"),
        ("::1", "198.51.100.1", "198.51.100.0/24"),
    ],
)
def test_the_network_is_the_sender_s(peer, forwarded, network):
    assert network_of(peer, forwarded, PROXIES) == network


def test_a_network_over_the_limit_waits_until_the_next_hour(monkeypatch):
    now = [1000.0]
    monkeypatch.setattr(module, "monotonic", lambda: now[0])
    limit = NetworkLimit(3)
    assert [limit.acquire("a") for _ in range(4)] == [0, 0, 0, 3600]
    assert limit.acquire("b") == 0
    now[0] += 3599.5
    assert limit.acquire("a") == 1
    now[0] += 0.5
    assert limit.acquire("a") == 0
    assert list(limit._counts) == ["a"]  # what was counted before is gone


def test_without_a_limit_nothing_is_stored():
    limit = NetworkLimit(0)
    assert [limit.acquire("a") for _ in range(100)] == [0] * 100
    assert not limit._counts
