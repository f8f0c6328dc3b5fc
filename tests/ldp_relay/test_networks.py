"""Limits for networks and addresses."""

from __future__ import annotations

from decimal import Decimal
from ipaddress import ip_address, ip_network

import pytest

from encoders.proxies import find_sender
from ldp_relay import networks as module
from ldp_relay.networks import (
    MAX_REFUSALS,
    NetworkLimit,
    RefusalLimit,
    network_of,
)
from tests.support.relays import relayed_plan

PROXIES = [ip_network("127.0.0.1"), ip_network("0:0:0:0:0:0:0:1")]


@pytest.mark.parametrize(
    ("peer", "forwarded", "network"),
    [
        ("192.0.2.77", "", "192.0.2.0/24"),
        ("192.0.2.77", "198.51.100.1", "192.0.2.0/24"),  # not a proxy: the header is the sender's own
        ("127.0.0.1", "203.0.113.9, 198.51.100.1", "198.51.100.0/24"),  # only the last entry is the proxy's
        ("127.0.0.1", "2001:db8:1:2::3", "2001:db8:1::/48"),
        ("::ffff:192.0.2.77", "", "192.0.2.0/24"),
        ("127.0.0.1", "unknown", "127.0.0.0/24"),  # all of them share one network
        ("unknown", "", ""),
        ("::ffff:127.0.0.1", "198.51.100.1", "198.51.100.0/24"),
        ("::1", "198.51.100.1", "198.51.100.0/24"),
    ],
)
def test_the_network_is_the_sender_s(peer, forwarded, network):
    assert network_of(find_sender(peer, forwarded, PROXIES), 24, 48) == network


def test_a_network_is_full_for_the_whole_survey():
    limit = NetworkLimit(3)
    one, neighbour, other = map(ip_address, ("192.0.2.1", "192.0.2.250", "198.51.100.1"))
    assert [limit.acquire(each) for each in (one, neighbour, one, neighbour)] == [True, True, True, False]
    assert limit.acquire(other)
    limit.release(neighbour)
    assert [limit.acquire(neighbour), limit.acquire(one)] == [True, False]


def test_a_provider_of_ipv6_can_fill_ten_networks():
    limit = NetworkLimit(3)
    taken = sum(limit.acquire(ip_address(f"2001:db8:{number:x}::1")) for number in range(1000))
    assert taken == 30
    assert [limit.acquire(ip_address("2001:db9:1::1")) for _ in range(4)] == [True, True, True, False]


def test_people_who_are_turned_away_are_counted_once():
    limit = NetworkLimit(1)
    assert [limit.is_turned_away_first(name) for name in (b"a", b"b", b"a")] == [True, True, False]


def test_without_a_limit_nothing_is_stored():
    limit = NetworkLimit(0)
    assert all(limit.acquire(ip_address("192.0.2.1")) for _ in range(100))
    assert not limit._counts


def test_refused_messages_slow_their_address_and_nobody_else(monkeypatch):
    now = [1000.0]
    monkeypatch.setattr(module, "monotonic", lambda: now[0])
    limit = RefusalLimit()
    sender, same, neighbour = map(ip_address, ("2001:db8::1", "2001:db8::ffff", "2001:db8:0:1::1"))
    for _ in range(MAX_REFUSALS):
        assert limit.find_pause(sender) == 0
        limit.count(sender)
    assert (limit.find_pause(same), limit.find_pause(neighbour)) == (1, 0)
    now[0] += 1
    assert limit.find_pause(same) == 0  # one refusal is forgotten each second
    limit.count(same)
    assert limit.find_pause(sender) == 1
    now[0] += MAX_REFUSALS
    for _ in range(MAX_REFUSALS):
        assert limit.find_pause(sender) == 0
        limit.count(sender)


def test_what_is_stored_of_refusals_is_bounded(monkeypatch):
    now = [1000.0]
    monkeypatch.setattr(module, "monotonic", lambda: now[0])
    monkeypatch.setattr(module, "_MAX_ADDRESSES", 100)
    limit = RefusalLimit()
    for number in range(1000):
        limit.count(ip_address(f"2001:db8:0:{number:x}::1"))
        now[0] += 1
    assert len(limit._forgotten_at) <= 100


@pytest.mark.parametrize(
    ("batch", "honest", "limit"), [(600, "0.73", 16), (6000, "0.73", 162), (20, "0.73", 1), (100, "1", 1)]
)
def test_by_default_ten_networks_cannot_break_the_promise(batch, honest, limit):
    relay = relayed_plan().relay
    changed = type(relay)(**{**vars(relay), "batch": batch, "honest": Decimal(honest)})
    assert changed.messages_per_network == limit
    assert 10 * limit <= max(batch - changed.honest_reports, 10)
