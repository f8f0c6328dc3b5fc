"""Describes the relay of a survey for its author: the promise, what it leaves room for, and warnings."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal
from math import exp
from typing import Any

from encoders.canonical import decimal_text
from encoders.epsilon_proof import realised_epsilon
from encoders.survey import Plan
from encoders.survey.relay import Relay
from encoders.survey.relay_promise import largest_epsilon, smallest_batch

MAX_LOCAL_EPSILON = Decimal(5)
"""A larger local epsilon would hardly protect anybody if relay and collector work together."""
_MAX_EACH = Decimal(3)
"""With this epsilon, 95% of yes/no answers are sent as they are."""
_MAX_BATCH_SHARE = Decimal("0.6")
_MAX_FAILURES = Decimal("0.01")


def describe_relay(plan: Plan, relay: Relay) -> dict[str, Any]:
    """Return the facts about a relay for JSON."""
    mechanisms = [each.mechanism for each in plan.questions]
    facts = {
        "url": relay.url,
        "epsilon": float(relay.epsilon),
        "delta": float(relay.delta),
        "batch": relay.batch,
        "honest_reports": relay.honest_reports,
        "largest_local_epsilon": float(largest_epsilon(relay, mechanisms)),
        "smallest_batch": smallest_batch(relay, mechanisms),
        "messages_per_network": relay.messages_per_network,
        "has_keys": relay.has_keys,
    }
    if relay.asks_all:
        facts["ask"] = relay.ask
        each = max(_answer_epsilons(plan))
        facts["epsilon_of_each"] = float(each)
        facts["epsilon_of_one_feature"] = float(_largest_sum(plan))
        facts["sent_as_they_are"] = 1 / (1 + exp(-each))
    return facts


def format_relay(plan: Plan, relay: Relay) -> str:
    """Return sentences about a relay."""
    facts = describe_relay(plan, relay)
    what, epsilon = (
        ("envelopes", "the survey's epsilon") if relay.asks_all else ("reports", "the local epsilon")
    )
    first = f"Each person answers all {len(plan.questions)} questions. " if relay.asks_all else ""
    return (
        f"{first}Towards everybody but the relay, epsilon is {decimal_text(relay.epsilon)} with delta "
        f"{facts['delta']:g}. This holds if {relay.honest_reports:,} of the {relay.batch:,} {what} of each "
        "batch come from people who do not help the collector. "
        f"{_describe_together(plan, facts) if relay.asks_all else ''}"
        f"With this batch, {epsilon} may be up to {facts['largest_local_epsilon']:g}; with this epsilon, the "
        f"batch must have at least {facts['smallest_batch']:,} {what}. By default, a relay takes "
        f"{relay.messages_per_network:,} messages of one network, so that ten networks cannot break this "
        "promise. If more people answer from one office or behind one address, ask the relay to raise "
        "messages_per_network, or to give codes."
    )


def _describe_together(plan: Plan, facts: dict[str, Any]) -> str:
    """Return sentences about what relay and collector learn if they work together."""
    sum_text, each = decimal_text(plan.epsilon), facts["epsilon_of_each"]
    of_one = facts["epsilon_of_one_feature"]
    what = "the label" if plan.label.exists else "the same feature"
    of_feature = f"The answers about {what} have epsilon {of_one:.4g} together. " if of_one > each else ""
    return (
        f"Together: all answers of a person have epsilon {sum_text}, and each has at most {each:.3g}. This "
        "holds even if relay and collector work together, and they would then learn most answers of a "
        f"person: {facts['sent_as_they_are']:.0%} of yes/no answers are sent as they are. {of_feature}"
        f"Applications must allow it: max_local_epsilon = {sum_text}. "
    )


def _answer_epsilons(plan: Plan) -> list[Decimal]:
    return [realised_epsilon(each.mechanism.ratio) for each in plan.questions]


def _largest_sum(plan: Plan) -> Decimal:
    """Return the largest sum over the questions that contain one feature, or the label."""
    spent = list(zip(plan.questions, _answer_epsilons(plan), strict=True))
    of_label = sum((epsilon for each, epsilon in spent if each.label.exists), Decimal(0))
    of_features = (
        sum((epsilon for each, epsilon in spent if index in each.feature_indices), Decimal(0))
        for index in range(len(plan.features))
    )
    return max(of_label, *of_features)


def find_relay_warnings(plan: Plan, relay: Relay) -> Iterator[tuple[tuple[str, ...], str]]:
    """Yield the path and the text of each warning about a relay."""
    if relay.asks_all and (each := max(_answer_epsilons(plan))) >= _MAX_EACH:
        text = (
            f"the epsilon of one answer is {each:.3g}: if relay and collector work together, they learn "
            "almost every answer"
        )
        yield ("survey", "epsilon"), text
    if not relay.asks_all and plan.epsilon > MAX_LOCAL_EPSILON:
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
