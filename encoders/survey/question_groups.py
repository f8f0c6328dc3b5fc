"""Chooses which features share a question: where one report can hold more than one of them needs.

The answers of a question about several features are all combinations of their values with the label. Its
estimate of each feature is less exact than that of a question about the feature alone, but every report
counts for all of them. That gains accuracy at a large epsilon and loses it at a small one; closed forms of
public numbers decide.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod

MIN_GROUP_GAIN = 1.05
"""Factor by which one more feature must improve a question; a smaller gain does not pay for a longer one."""
MAX_GROUP_DOMAIN = 256
"""Answers that a question about several features may have: a report names one of them in a byte."""

Variance = Callable[[int, int], float]


def group_features(sizes: Sequence[int], labels: int, variance: Variance) -> list[tuple[int, ...]]:
    """Return which of some equally important features share a question, as sorted indices.

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
    for index in sorted(range(len(sizes)), key=lambda index: (sizes[index], index)):
        joined = [*groups[-1], index] if groups else [index]
        before, after = ([sizes[each] for each in group] for group in (joined[:-1], joined))
        if before and _gain(after, labels, variance) >= MIN_GROUP_GAIN * _gain(before, labels, variance):
            groups[-1] = joined
        else:
            groups.append([index])
    return sorted(tuple(sorted(group)) for group in groups)


def _gain(sizes: Sequence[int], labels: int, variance: Variance) -> float:
    """Return how many reports about one feature alone equal one report about all of them, on average."""
    domain = prod(sizes) * labels
    if len(sizes) == 1:
        return 1.0
    if domain > MAX_GROUP_DOMAIN:
        return 0.0
    parts = [size * labels for size in sizes]
    return sum(variance(part, part) / variance(domain, part) for part in parts)
