"""Chooses the features that share a question, if that makes the estimates more accurate.

The answers of a question about several features are all combinations of their values with the label. Its
estimate of each feature has a greater variance than a question about the feature alone, but every report
counts for all of them. This gains accuracy at a large epsilon and loses it at a small one. The choice uses
closed forms of public numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod

MIN_GROUP_GAIN = 1.05
"""Factor by which a change must improve a question; less does not justify a question that is harder to
explain."""
MAX_GROUP_DOMAIN = 256
"""Largest number of answers of a question about several features: an answer is one byte of a report."""

Variance = Callable[[int, int], float]


def group_features(sizes: Sequence[int], labels: int, variance: Variance) -> list[tuple[int, ...]]:
    """Return the groups of features, of equal weight, that share a question, as sorted indices.

    Features are taken in the order of their numbers of values, then of their indices. Each joins the last
    group if the gain is sufficient, and otherwise begins a new one.

    Parameters
    ----------
    sizes : sequence of int
        Numbers of values, A_i.
    labels : int
        Number of classes k.
    variance : callable
        Takes a domain and a number of parts. Returns the variance of one report's estimate of a share of
        1/parts from a question over the domain.
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
    """Return the number of reports about single features that are as informative as one about all of them."""
    domain = prod(sizes) * labels
    if len(sizes) == 1:
        return 1.0
    if domain > MAX_GROUP_DOMAIN:
        return 0.0
    parts = [size * labels for size in sizes]
    return sum(variance(part, part) / variance(domain, part) for part in parts)
