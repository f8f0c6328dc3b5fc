"""Measures what few networks can do to a relay's batches: `python -m benchmarks.networks`.

All other people are honest. The networks send as fast as the default limit lets them: at the start, before
the first release, before the end, or all the time. Prints the least share of honest messages of a batch, with
the relay's own limit and release.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import replace
from decimal import Decimal
from ipaddress import ip_address

from encoders.explain.text import format_table
from encoders.survey.relay import Relay
from ldp_relay.networks import NetworkLimit
from ldp_relay.release import draw_batches

HOURS, SEED = 720, 1
SURVEYS = ((700, 600), (1_000, 600), (3_000, 600), (10_000, 600), (10_000, 6_000))
"""People who answer in 30 days, and batch."""
NETWORKS = (1, 5, 10)
MOMENTS = ("start", "first release", "close", "all the time")
_RELAY = Relay(
    url="https://relay.example/s",
    batch=600,
    honest=Decimal("0.73"),
    epsilon=Decimal(1),
    delta=Decimal("1e-6"),
    opens=1,
    closes=2,
)


def main() -> None:
    """Print a row for each survey and number of networks."""
    rows = [["people", "batch", "networks", "least honest share", "promised"]]
    for people, batch in SURVEYS:
        relay = replace(_RELAY, batch=batch)
        for networks in NETWORKS:
            least = min(min(simulate(relay, people, networks, moment)) for moment in MOMENTS)
            rows.append([f"{people:,}", f"{batch:,}", str(networks), f"{least:.3f}", str(relay.honest)])
    print("\n".join(format_table(rows, ">>>>>")))


def simulate(relay: Relay, people: int, networks: int, moment: str) -> list[float]:
    """Return the honest share of each batch."""
    draw = random.Random(SEED)
    limit = NetworkLimit(relay.messages_per_network)
    arrivals = sorted(draw.randrange(HOURS) for _ in range(people))
    attack = set(_attack_hours(relay, arrivals, moment))
    waiting: list[bytes] = []
    shares: list[float] = []
    held = 0
    for hour in range(HOURS):
        waiting += [b"h%d.%d" % (hour, number) for number in range(arrivals.count(hour))]
        for network in range(networks if hour in attack else 0):
            sender = ip_address(f"198.51.{network}.7")
            while limit.acquire(sender):
                held += 1
                waiting.append(b"d%d" % held)
        for batch in draw_batches(waiting, relay.batch, is_closed=hour == HOURS - 1):
            shares.append(sum(each.startswith(b"h") for each in batch) / len(batch))
            gone = set(batch)
            waiting = [each for each in waiting if each not in gone]
    return shares


def _attack_hours(relay: Relay, arrivals: list[int], moment: str) -> Iterator[int]:
    """Yield the hours in which the networks send."""
    first = 2 * relay.batch - 10 * relay.messages_per_network
    if moment == "start":
        yield 0
    elif moment == "first release":
        yield arrivals[min(first, len(arrivals) - 1)]
    elif moment == "close":
        yield HOURS - 1
    else:
        yield from range(HOURS)


if __name__ == "__main__":
    main()
