"""Describes the relay of a survey for its author: the promise, what it leaves room for, and warnings."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from decimal import ROUND_CEILING, Decimal
from math import ceil, exp
from typing import Any

from encoders.canonical import decimal_text
from encoders.epsilon_proof import realised_epsilon
from encoders.survey import Plan
from encoders.survey.relay import ONE, Relay
from encoders.survey.relay_promise import largest_epsilon, smallest_batch

MAX_LOCAL_EPSILON = Decimal(5)
"""A larger local epsilon would hardly protect anybody if relay and collector work together."""
_MAX_EACH = Decimal(3)
"""With this epsilon, 95% of yes/no answers are sent as they are."""
_STEP = Decimal("0.000001")
"""What questions spend is rounded up to this, as their parts of epsilon are rounded down."""
_MOST = ", and would learn most answers"
_MAX_BATCH_SHARE = Decimal("0.6")
_MAX_FAILURES = Decimal("0.01")


def describe_relay(plan: Plan, relay: Relay) -> dict[str, Any]:
    mechanisms = [each.mechanism for each in plan.questions]
    facts = {
        "url": relay.url,
        "ask": relay.ask,
        "epsilon": float(relay.epsilon),
        "delta": float(relay.delta),
        "batch": relay.batch,
        "honest_reports": relay.honest_reports,
        "largest_local_epsilon": float(largest_epsilon(relay, mechanisms)),
        "smallest_batch": smallest_batch(relay, mechanisms),
        "messages_per_network": relay.messages_per_network,
        "has_keys": relay.has_keys,
    }
    return facts | _describe_all(plan, relay) if relay.asks_all else facts


def _describe_all(plan: Plan, relay: Relay) -> dict[str, Any]:
    largest = max(_answer_epsilons(plan))
    local = min(largest_epsilon(replace(relay, ask=ONE), []), MAX_LOCAL_EPSILON)
    return {
        "epsilon_of_each": float(largest),
        "epsilon_of_one_feature": float(_largest_sum(plan)),
        "sent_as_they_are": 1 / (1 + exp(-largest)),
        "ask_one": {"largest_local_epsilon": float(local)},
    }


def format_relay(plan: Plan, relay: Relay) -> list[str]:
    facts = describe_relay(plan, relay)
    what, epsilon, first = "reports", "the local epsilon", ""
    if relay.asks_all:
        what, epsilon = "envelopes", "the survey's epsilon"
        first = f"Each person answers all {len(plan.questions)} questions, in one envelope. "
    promise = (
        f"{first}Towards everybody but the relay, epsilon is {decimal_text(relay.epsilon)} with delta "
        f"{facts['delta']:g}. This holds if {relay.honest_reports:,} of the {relay.batch:,} {what} of each "
        "batch come from people who do not help the collector."
    )
    limits = (
        f"With this batch, {epsilon} may be up to {facts['largest_local_epsilon']:g}; with this epsilon, the "
        f"batch must have at least {facts['smallest_batch']:,} {what}. By default, a relay takes "
        f"{relay.messages_per_network:,} messages of one network, so that ten networks cannot break this "
        "promise. If more people answer from one office or behind one address, ask the relay to raise "
        "messages_per_network, or to give codes."
    )
    if plan.waves:
        promise += (
            f" Each of the {len(plan.waves.list):,} waves is mixed by itself: if one has fewer than "
            f"{relay.batch:,} {what}, they are deleted."
        )
    if not relay.asks_all:
        return [f"{promise} {limits}"]
    one = (
        f'With ask = "one", each person would send one answer, whose epsilon could be '
        f"{facts['ask_one']['largest_local_epsilon']:g}. ldp-survey size prints how many people each way "
        "needs."
    )
    return [promise, _describe_together(plan, facts), f"{limits} {one}"]


def _describe_together(plan: Plan, facts: dict[str, Any]) -> str:
    each, of_one = ceil(100 * max(_answer_epsilons(plan))) / 100, facts["epsilon_of_one_feature"]
    together, is_large = decimal_text(plan.epsilon), plan.epsilon > MAX_LOCAL_EPSILON
    first = (
        f"Together: {together} (at most {each:g} for one answer) if relay and collector work together. They "
        f"then see which randomised answers come from the same person{_MOST * is_large}. Of yes/no "
        f"answers with epsilon {each:g}, {facts['sent_as_they_are']:.0%} are sent as they are."
    )
    texts = [first]
    if of_one > facts["epsilon_of_each"]:
        what = "the label" if plan.label.exists else "one feature"
        texts += [f"The answers that contain {what} have epsilon {of_one:.4g} together."]
    if is_large:
        texts += [f"Applications must allow this: max_local_epsilon = {together}."]
    return " ".join(texts)


def _answer_epsilons(plan: Plan) -> list[Decimal]:
    ratios = (each.mechanism.ratio for each in plan.questions)
    return [realised_epsilon(ratio).quantize(_STEP, ROUND_CEILING) for ratio in ratios]


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
    pools, of_wave, counted = 1, "", ""
    if plan.waves:
        pools, of_wave, counted = len(plan.waves.list), " of each wave", " of the wave"
    if plan.users and relay.batch * pools > _MAX_BATCH_SHARE * plan.users:
        text = (
            f"the batch is above {_MAX_BATCH_SHARE:.0%} of the expected {plan.users // pools:,} people"
            f"{of_wave}: if fewer than {relay.batch:,} answer, no report{counted} is counted"
        )
        yield ("relay", "batch"), text
    if plan.users and relay.delta * plan.users > _MAX_FAILURES:
        text = f"delta times the expected people is above {_MAX_FAILURES}: choose a smaller delta"
        yield ("relay", "delta"), text
