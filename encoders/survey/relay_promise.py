"""What an author needs to know about the promise of a relay; devices do not load this module."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from decimal import Decimal
from math import exp, floor

from encoders.epsilon_proof import MAX_EPSILON
from encoders.errors import PrivacyError
from encoders.shuffling import MAX_REPORTS, shuffled_delta
from encoders.survey.relay import Relay

_MARGIN = 0.999
"""An author's promise keeps this part of delta, so that no rounding makes two readers disagree."""


def require_author_promise(relay: Relay, ratio: float) -> None:
    """Raise PrivacyError, with what would keep the promise, unless it holds with a margin."""
    try:
        relay.require_promise(ratio, part=_MARGIN)
    except PrivacyError as error:
        largest, batch = largest_local_epsilon(relay), smallest_batch(relay, ratio)
        remedies = [f"lower survey.epsilon to {largest}"]
        remedies += [f"raise batch to {batch:,}"] if batch else []
        raise PrivacyError(f"{error.why}: {', or '.join(remedies)}", error.field) from error


def largest_local_epsilon(relay: Relay) -> Decimal:
    """Return the largest local epsilon that keeps the promise, in hundredths, at least the promised one."""
    least, most = floor(relay.epsilon * 100), int(MAX_EPSILON * 100)
    return Decimal(_last(lambda step: _holds(relay, exp(step / 100)), least, most)) / 100


def smallest_batch(relay: Relay, ratio: float) -> int | None:
    """Return the smallest batch that keeps the promise; None if no batch does."""
    if not _holds(relay, ratio, MAX_REPORTS):
        return None
    return _last(lambda batch: not _holds(relay, ratio, batch), 0, MAX_REPORTS) + 1


def _holds(relay: Relay, ratio: float, batch: int | None = None) -> bool:
    changed = replace(relay, batch=relay.batch if batch is None else batch)
    reports = changed.honest_reports
    return reports > 0 and shuffled_delta(ratio, reports, float(relay.epsilon)) <= _MARGIN * float(
        relay.delta
    )


def _last(holds: Callable[[int], bool], least: int, most: int) -> int:
    """Return the last whole number below `most` for which a condition holds; at least `least`."""
    while most - least > 1:
        middle = (least + most) // 2
        least, most = (middle, most) if holds(middle) else (least, middle)
    return least
