"""What an author needs to know about the promise of a relay; devices do not load this module."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from decimal import Decimal
from math import exp, floor
from typing import Any

from encoders.composition import Message
from encoders.epsilon_proof import MAX_EPSILON
from encoders.errors import PrivacyError
from encoders.mechanisms import Mechanism
from encoders.shuffling import MAX_REPORTS
from encoders.survey.plan_checks import MAX_EACH
from encoders.survey.relay import Relay

_MARGIN = 0.999
"""An author's promise keeps this part of delta, so that no rounding makes two readers disagree."""


def require_author_promise(relay: Relay, mechanisms: Sequence[Mechanism]) -> None:
    """Raise PrivacyError, with what would keep the promise, unless it holds with a margin."""
    try:
        relay.require_promise([each.message for each in mechanisms], part=_MARGIN)
    except PrivacyError as error:
        largest, batch = largest_epsilon(relay, mechanisms), smallest_batch(relay, mechanisms)
        remedies = [f"lower survey.epsilon to {largest}"]
        remedies += [f"raise batch to {batch:,}"] if batch else []
        raise PrivacyError(f"{error.why}: {', or '.join(remedies)}", error.field) from error


def largest_epsilon(relay: Relay, mechanisms: Sequence[Mechanism]) -> Decimal:
    """Return the largest survey.epsilon that keeps the promise, rounded down to hundredths.

    If a person answers one question, it does not depend on the mechanisms, and is at least the promised
    epsilon. If they answer all, it is the sum of equal parts for these mechanisms.
    """
    if not relay.asks_all:
        return _hundredths(lambda step: _holds(relay, [Message(exp(step / 100))]), relay.epsilon, MAX_EPSILON)
    each = _hundredths(lambda step: _holds(relay, _redesign(mechanisms, step)), Decimal(0), MAX_EACH)
    return each * len(mechanisms)


def smallest_batch(relay: Relay, mechanisms: Sequence[Mechanism]) -> int | None:
    """Return the smallest batch that keeps the promise with these mechanisms; None if no batch does."""
    messages = [each.message for each in mechanisms]
    least = most = relay.batch
    while least > 1 and _holds(relay, messages, least):
        least, most = least // 2, least
    while not _holds(relay, messages, most):
        if most == MAX_REPORTS:
            return None
        least, most = most, min(2 * most, MAX_REPORTS)
    return _last(lambda batch: not _holds(relay, messages, batch), least, most) + 1


def _redesign(mechanisms: Iterable[Any], step: int) -> list[Message]:
    """Return the messages of mechanisms of the same kinds for an epsilon in hundredths."""
    epsilon = Decimal(step) / 100
    kinds = {(type(each), each.domain) for each in mechanisms}
    made = {(kind, domain): kind.design(domain, epsilon).message for kind, domain in kinds}
    return [made[type(each), each.domain] for each in mechanisms]


def _holds(relay: Relay, messages: Sequence[Message], batch: int | None = None) -> bool:
    changed = replace(relay, batch=relay.batch if batch is None else batch)
    is_possible = changed.honest_reports > 0
    return is_possible and changed.attained_delta(messages) <= _MARGIN * float(relay.delta)


def _hundredths(holds: Callable[[int], bool], least: Decimal, most: Decimal) -> Decimal:
    return Decimal(_last(holds, floor(least * 100), int(most * 100))) / 100


def _last(holds: Callable[[int], bool], least: int, most: int) -> int:
    """Return the last whole number below `most` for which a condition holds; at least `least`."""
    while most - least > 1:
        middle = (least + most) // 2
        least, most = (middle, most) if holds(middle) else (least, middle)
    return least
