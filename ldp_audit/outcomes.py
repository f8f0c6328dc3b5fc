"""A lower bound on epsilon from the outcomes of two mechanisms, whose event half of the outcomes choose."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Sequence

from ldp_audit.blackbox import epsilon_lower_bound


def bound_epsilon(one: Sequence[Hashable], other: Sequence[Hashable], alpha: float) -> tuple[float, float]:
    """Return a lower bound on epsilon from the outcomes of two mechanisms, and the largest possible bound."""
    half = len(one) // 2
    event, is_swapped = _choose_event(one[:half], other[:half], alpha)
    tested = len(one) - half
    hits, other_hits = (sum(each in event for each in outcomes[half:]) for outcomes in (one, other))
    if is_swapped:
        hits, other_hits = other_hits, hits
    return epsilon_lower_bound(hits, other_hits, tested, alpha), epsilon_lower_bound(tested, 0, tested, alpha)


def _choose_event(
    one: Sequence[Hashable], other: Sequence[Hashable], alpha: float
) -> tuple[set[Hashable], bool]:
    """Return the set of outcomes with the greatest bound, and whether it is likelier in `other`."""
    counts, other_counts = Counter(one), Counter(other)
    outcomes = sorted(
        counts.keys() | other_counts.keys(),
        key=lambda each: ((counts[each] + 0.5) / (other_counts[each] + 0.5), repr(each)),
        reverse=True,
    )
    best, event, swapped = -1.0, set(outcomes), False
    for is_swapped in (False, True):
        order = outcomes[::-1] if is_swapped else outcomes
        first, second = (other_counts, counts) if is_swapped else (counts, other_counts)
        hits = misses = 0
        for end, outcome in enumerate(order, 1):
            hits, misses = hits + first[outcome], misses + second[outcome]
            bound = epsilon_lower_bound(hits, misses, len(one), alpha)
            if bound > best:
                best, event, swapped = bound, set(order[:end]), is_swapped
    return event, swapped
