"""Describes the relay of a survey for its author: the promise, and what it leaves room for."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal
from typing import Any

from encoders.survey import Plan
from encoders.survey.decimals import decimal_text
from encoders.survey.relay import Relay
from encoders.survey.relay_promise import largest_local_epsilon, smallest_batch

MAX_LOCAL_EPSILON = Decimal(5)
"""A larger local epsilon would hardly protect anybody if relay and collector work together."""
_MAX_BATCH_SHARE = Decimal("0.6")
_MAX_FAILURES = Decimal("0.01")


def describe_relay(relay: Relay, ratio: float) -> dict[str, Any]:
    """Return the facts about a relay for JSON; `ratio` is the largest likelihood ratio of one report."""
    return {
        "url": relay.url,
        "epsilon": float(relay.epsilon),
        "delta": float(relay.delta),
        "batch": relay.batch,
        "honest_reports": relay.honest_reports,
        "largest_local_epsilon": float(largest_local_epsilon(relay)),
        "smallest_batch": smallest_batch(relay, ratio),
        "messages_per_network": relay.messages_per_network,
        "has_keys": relay.has_keys,
    }


def format_relay(relay: Relay, ratio: float) -> str:
    """Return sentences about a relay."""
    facts = describe_relay(relay, ratio)
    return (
        f"Towards everybody but the relay, epsilon is {decimal_text(relay.epsilon)} with delta "
        f"{facts['delta']:g}. This holds if {relay.honest_reports:,} of the {relay.batch:,} reports of each "
        "batch come from people who do not help the collector. With this batch, the local epsilon may be up "
        f"to {facts['largest_local_epsilon']:g}; with this local epsilon, the batch must have at least "
        f"{facts['smallest_batch']:,} reports. By default, a relay takes {relay.messages_per_network:,} "
        "messages of one network, so that ten networks cannot break this promise. If more people answer from "
        "one office or behind one address, ask the relay to raise messages_per_network, or to give codes."
    )


def find_relay_warnings(plan: Plan, relay: Relay) -> Iterator[tuple[tuple[str, ...], str]]:
    """Yield the path and the text of each warning about a relay."""
    if plan.epsilon > MAX_LOCAL_EPSILON:
        text = (
            f"epsilon is above {MAX_LOCAL_EPSILON}: if relay and collector work together, answers are hardly "
            "protected"
        )
        yield ("survey", "epsilon"), text
    if plan.users and relay.batch > _MAX_BATCH_SHARE * plan.users:
        text = (
            f"the batch is above {_MAX_BATCH_SHARE:.0%} of the expected {plan.users:,} people: if fewer than "
            f"{relay.batch:,} answer, no report is counted"
        )
        yield ("relay", "batch"), text
    if plan.users and relay.delta * plan.users > _MAX_FAILURES:
        text = f"delta times the expected people is above {_MAX_FAILURES}: choose a smaller delta"
        yield ("relay", "delta"), text
