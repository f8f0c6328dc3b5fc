"""The rate limit: which addresses share a count, which proxies are trusted, what is refused."""

import threading
from ipaddress import ip_address, ip_network

import pytest

from encoders.proxies import find_sender
from ldp_aggregator.collector.serving.rate_limit import RateLimit
from tests.support.servers import wait_for

PROXY = [ip_network("10.1.0.2")]


class Clock:
    now = 100.0

    def __call__(self) -> float:
        return self.now


def test_the_limit_holds_per_address_and_minute():
    clock = Clock()
    rates = RateLimit(3, clock=clock)
    assert [rates.acquire("192.0.2.1") for _ in range(3)] == [0, 0, 0]
    clock.now += 20.5
    assert rates.acquire("192.0.2.1") == 40  # rounded up: after this wait a request is served
    assert rates.acquire("192.0.2.2") == 0
    clock.now += 40
    assert rates.acquire("192.0.2.1") == 0


def test_without_a_limit_nothing_is_counted():
    rates = RateLimit(0)
    assert {rates.acquire("192.0.2.1") for _ in range(1000)} == {0}
    assert rates._rows == []


@pytest.mark.parametrize(
    ("one", "other", "together"),
    [
        ("2001:db8:1:2::1", "2001:db8:1:2:ffff::9", True),  # one site's 64 bits
        ("2001:db8:1:2::1", "2001:db8:1:3::1", False),
        ("::ffff:192.0.2.1", "192.0.2.1", True),
        ("::ffff:192.0.2.1", "::ffff:192.0.2.2", False),
    ],
)
def test_the_unit_of_counting(one, other, together):
    rates = RateLimit(1)
    assert rates.acquire(one) == 0
    assert bool(rates.acquire(other)) is together


@pytest.mark.slow
def test_many_addresses_below_the_limit_are_served():
    # The probability that four shared cells are all full is below 1e-9 here.
    rates = RateLimit(5)
    assert not any(rates.acquire(f"10.0.{number >> 8}.{number & 255}") for number in range(30_000))
    assert not any(rates.acquire(f"10.0.{number >> 8}.{number & 255}") for number in range(0, 30_000, 9))


def test_the_table_has_a_fixed_size_and_is_deleted_after_a_minute():
    clock = Clock()
    rates = RateLimit(60_000, clock=clock)
    for number in range(2000):
        rates.acquire(f"198.51.{number >> 8}.{number & 255}")
    key = rates._key
    assert [(row.typecode, len(row)) for row in rates._rows] == [("H", 1 << 17)] * 4  # counts only
    clock.now += 60
    rates.acquire("198.51.0.0")
    assert rates._key != key  # the address has other cells now: minutes cannot be linked


@pytest.mark.slow
def test_the_table_of_a_minute_is_deleted_without_further_requests(monkeypatch):
    monkeypatch.setattr("ldp_aggregator.collector.serving.rate_limit.WINDOW_SECONDS", 0.2)
    rates = RateLimit(1)
    assert rates.acquire("192.0.2.1") == 0
    wait_for(lambda: (rates._key, rates._rows) == (b"", []))
    assert rates.acquire("192.0.2.1") == 0


@pytest.mark.slow
def test_posts_are_counted_and_the_table_is_deleted_even_if_a_thread_cannot_start(
    monkeypatch,
):
    def refuse(_: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    clock = Clock()
    rates = RateLimit(1, clock=clock)
    with monkeypatch.context() as context:
        context.setattr(threading.Thread, "start", refuse)
        assert [rates.acquire("192.0.2.1") for _ in range(2)] == [0, 60]
        key = rates._key
        clock.now += 60
        assert rates.acquire("192.0.2.1") == 0
        assert rates._key != key
    clock.now += 59.75
    assert rates.acquire("192.0.2.1") == 1  # threads can start again: this one deletes the table
    clock.now += 0.25
    wait_for(lambda: (rates._key, rates._rows) == (b"", []))


@pytest.mark.parametrize(
    ("peer", "forwarded", "sender"),
    [
        ("192.0.2.1", "203.0.113.9", "192.0.2.1"),  # not a trusted proxy: its header is ignored
        ("10.1.0.2", "203.0.113.9", "203.0.113.9"),
        ("10.1.0.2", "198.51.100.1, 203.0.113.9", "203.0.113.9"),  # the sender wrote the left one
        ("10.1.0.2", "198.51.100.1,10.1.0.2", "198.51.100.1"),  # two proxies, both trusted
        ("10.1.0.2", "203.0.113.9, nonsense", "10.1.0.2"),
        ("10.1.0.2", "", "10.1.0.2"),
        ("10.1.0.2", "10.1.0.2," * 3, "10.1.0.2"),
        ("10.1.0.2", "203.0.113.9:5678", "203.0.113.9"),  # with a port, as some load balancers write
        ("10.1.0.2", "[2001:db8::1]:5678", "2001:db8::1"),
        ("10.1.0.2", "[2001:db8::1]", "2001:db8::1"),
        ("10.1.0.2", "198.51.100.1:5678, 10.1.0.2:80", "198.51.100.1"),
        ("10.1.0.2", "2001:db8::1:5678", "2001:db8::1:5678"),  # without brackets that is no port
        ("10.1.0.2", "203.0.113.9:http", "10.1.0.2"),
        ("10.1.0.2", "[]:5678", "10.1.0.2"),
    ],
)
def test_the_sender_is_the_client_of_the_last_trusted_proxy(peer, forwarded, sender):
    assert find_sender(peer, forwarded, PROXY) == ip_address(sender)


def test_a_sender_cannot_choose_the_address_that_is_counted():
    rates = RateLimit(2, PROXY)
    made_up = [f"203.0.113.{number}" for number in range(4)]
    assert [bool(rates.acquire("192.0.2.1", each)) for each in made_up] == [False, False, True, True]
    through = [f"{each}, 192.0.2.2" for each in made_up]
    assert [bool(rates.acquire("10.1.0.2", each)) for each in through] == [False, False, True, True]
