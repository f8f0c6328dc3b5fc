"""Which features to ask about together: where one report holds more than one of them needs.

A question about several features has all their combinations with the label for answers. It tells of each
feature less exactly than a question about it alone would, but every report tells of all of them. At a
large epsilon that is worth it, at a small one it is not; closed forms tell, from public numbers only.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod

WORTH = 1.05
"""How many times as good one more feature must make a question: less is not worth a longer one."""
MOST_CELLS = 256
"""Answers that a question about several features may have: a report names one of them in a byte."""

Variance = Callable[[int, int], float]


def grouped(sizes: Sequence[int], labels: int, variance: Variance) -> list[tuple[int, ...]]:
    """Return which of some equally important features are asked about together, as sorted places.

    Features with few values come first, of equally many those at the front; each joins the question before
    it while that gains. So questions that are left out leave the others as they are.

    Parameters
    ----------
    sizes : sequence of int
        Numbers of values, A_i.
    labels : int
        k.
    variance : callable
        Takes a domain and a number of parts; returns the variance of one report's estimate of a share of
        1/parts, asked over the domain.
    """
    groups: list[list[int]] = []
    for place in sorted(range(len(sizes)), key=lambda place: (sizes[place], place)):
        joined = [*groups[-1], place] if groups else [place]
        before, after = ([sizes[each] for each in group] for group in (joined[:-1], joined))
        if before and _gain(after, labels, variance) >= WORTH * _gain(before, labels, variance):
            groups[-1] = joined
        else:
            groups.append([place])
    return sorted(tuple(sorted(group)) for group in groups)


def _gain(sizes: Sequence[int], labels: int, variance: Variance) -> float:
    """Return how many reports about one feature alone a report about all of them is worth, on average."""
    domain = prod(sizes) * labels
    if len(sizes) == 1:
        return 1.0
    if domain > MOST_CELLS:
        return 0.0
    parts = [size * labels for size in sizes]
    return sum(variance(part, part) / variance(domain, part) for part in parts)
