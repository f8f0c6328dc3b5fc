"""Chooses the questions of "auto" if they make estimates more accurate: shared by features, or at levels.

The answers of a question about several features are all combinations of their values with the label. Its
estimate of each feature has a greater variance than a question about the feature alone, but every report
counts for all of them. This gains accuracy at a large epsilon and loses it at a small one.

The people of an ordered feature can be divided among its levels, which make the estimates of cumulative
shares more accurate. With three levels, the share of a single value has three times the variance, and the
gain must justify this. A survey with a label has no levels: they made its classifier up to .03 less accurate.

Both choices use closed forms of public numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from math import prod
from statistics import fmean

MIN_GROUP_GAIN = 1.05
"""Factor by which a change must improve a question; less does not justify a question that is harder to
explain."""
MAX_GROUP_DOMAIN = 256
"""Largest number of answers of a question about several features: an answer is one byte of a report."""

MIN_LEVEL_GAIN = 2.0
"""Factor by which levels must improve the variance of cumulative shares."""
MAX_LEVELS = 4
_FACTORS = (2, 3, 4, 5, 6, 8, 10, 12, 16, 20, 24, 32)
"""How many intervals of one level can form one of the next."""

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


def choose_widths(values: int, variance: Callable[[int], float]) -> tuple[int, ...]:
    """Return the numbers of values in an interval at each level, the widest first; the last is 1.

    Several levels are chosen only if they improve the variance by MIN_LEVEL_GAIN.

    Parameters
    ----------
    values : int
        Number of values of the feature, without the missing one.
    variance : callable
        Takes a number of intervals; returns the variance of one report's estimate of an interval's share.
    """
    best: tuple[int, ...] = (1,)
    if values < 2:
        return best
    least = _mean_variance(best, values, variance) / MIN_LEVEL_GAIN
    for factor in _FACTORS:
        widths: tuple[int, ...] = (1,)
        while len(widths) < MAX_LEVELS and values > widths[0] * factor:
            widths = (widths[0] * factor, *widths)
            reached = _mean_variance(widths, values, variance)
            if reached < least:
                best, least = widths, reached
    return best


def _mean_variance(widths: Sequence[int], values: int, variance: Callable[[int], float]) -> float:
    """Return the variance of a cumulative share, averaged over the values, if one person is asked.

    The variance is that of weighted least squares over all levels. An interval's children differ in a space
    of functions about which its own level and all coarser ones say nothing. In the space of level j, the
    information is the sum of width / (levels variance) over the levels from j on.
    """
    information, added = 0.0, []
    for width in reversed(widths):
        information += width / (len(widths) * variance(-(-values // width)))
        added.append(1 / information)
    sizes, terms = [values, *widths], list(reversed(added))

    def compute(end: int) -> float:
        # the squared length of the indicator of the first `end` values, averaged within the intervals
        squares = [end - end % size + (end % size) ** 2 / size for size in sizes]
        parts = zip(pairwise(squares), terms, strict=True)
        return sum((fine - coarse) * term for (coarse, fine), term in parts)

    return fmean(map(compute, range(1, values)))
