"""Describes the relay of a survey for its author: the promise, what it leaves room for, and warnings."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from decimal import ROUND_CEILING, Decimal
from math import ceil, exp
from types import SimpleNamespace
from typing import Any

from encoders.canonical import decimal_text
from encoders.epsilon_proof import realised_epsilon
from encoders.survey import Plan
from encoders.survey.relay import ONE, Relay
from encoders.survey.relay_promise import largest_epsilon, smallest_batch
from ldp_design.authoring import TEXTS

MAX_LOCAL_EPSILON = Decimal(5)
"""A larger local epsilon would hardly protect anybody if relay and collector work together."""
_MAX_EACH = Decimal(3)
"""With this epsilon, 95% of yes/no answers are sent as they are."""
_STEP = Decimal("0.000001")
"""What questions spend is rounded up to this, as their parts of epsilon are rounded down."""
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
    """Return what the relay promises, what relay and collector could learn together, and the limits."""
    facts = describe_relay(plan, relay)
    each, of_one = facts.get("epsilon_of_each", 0.0), facts.get("epsilon_of_one_feature", 0.0)
    stated = SimpleNamespace(
        asks_all=relay.asks_all,
        questions=len(plan.questions),
        epsilon=decimal_text(relay.epsilon),
        delta=f"{facts['delta']:g}",
        honest_reports=f"{relay.honest_reports:,}",
        batch=f"{relay.batch:,}",
        waves=f"{len(plan.waves.list):,}" if plan.waves else "",
        # the epsilon of all answers, and the largest one of an answer, rounded up
        together=decimal_text(plan.epsilon),
        is_large=plan.epsilon > MAX_LOCAL_EPSILON,
        each=f"{ceil(100 * each) / 100:g}",
        sent_as_they_are=f"{facts.get('sent_as_they_are', 0):.0%}",
        # of all answers about a feature or the label; empty if it is not larger
        of_one_feature=f"{of_one:.4g}" if of_one > each else "",
        has_label=plan.label.exists,
        largest_epsilon=f"{facts['largest_local_epsilon']:g}",
        smallest_batch=f"{facts['smallest_batch']:,}",
        messages_per_network=f"{relay.messages_per_network:,}",
        epsilon_of_one=f"{facts.get('ask_one', {}).get('largest_local_epsilon', 0):g}",
    )
    parts = (TEXTS.section(f"relay_{name}", stated) for name in ("promise", "together", "limits"))
    return [" ".join(map(str, each)) for each in parts if each]


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
        yield ("survey", "epsilon"), TEXTS.write("warnings.relay-each", epsilon=f"{each:.3g}")
    if not relay.asks_all and plan.epsilon > MAX_LOCAL_EPSILON:
        yield ("survey", "epsilon"), TEXTS.write("warnings.relay-local", most=MAX_LOCAL_EPSILON)
    waves = len(plan.waves.list) if plan.waves else 1
    if plan.users and relay.batch * waves > _MAX_BATCH_SHARE * plan.users:
        facts = {
            "has_waves": bool(plan.waves),
            "people": f"{plan.users // waves:,}",
            "batch": f"{relay.batch:,}",
        }
        yield (
            ("relay", "batch"),
            TEXTS.write("warnings.relay-batch", share=f"{_MAX_BATCH_SHARE:.0%}", **facts),
        )
    if plan.users and relay.delta * plan.users > _MAX_FAILURES:
        yield ("relay", "delta"), TEXTS.write("warnings.relay-delta", most=_MAX_FAILURES)
