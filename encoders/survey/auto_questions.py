"""Chooses the questions of "auto" if they make estimates more accurate: shared by features, or at levels.

A question about several features counts every report for all of them, but estimates each with a greater
variance. Levels of an ordered feature make cumulative shares more accurate, and with three levels the share
of a single value has three times the variance. A survey with a label has no levels: they made its classifier
up to .03 less accurate. Both choices use closed forms of public numbers.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from itertools import pairwise
from math import fsum, prod
from statistics import fmean
from typing import Any, NamedTuple

from encoders.mechanisms.frequency_oracle import MAX_DOMAIN
from encoders.survey.features import ChoiceFeature, Feature, Label, NumericFeature
from encoders.survey.schema_tables import Path, SchemaReader, Table

MIN_GROUP_GAIN = 1.05
"""Factor by which each further feature of a question must improve it; less does not justify a question that
is harder to explain."""
MAX_GROUP_DOMAIN = 256
"""Largest number of answers of a question about several features: an answer is one byte of a report."""
MAX_GROUP_SEARCH = 1 << 16
"""Largest number of features times states of an exact search for groups; it then takes at most .1 s."""

MIN_LEVEL_GAIN = 2.0
"""Factor by which levels must improve the variance of cumulative shares."""
MAX_LEVELS = 4
_FACTORS = (2, 3, 4, 5, 6, 8, 10, 12, 16, 20, 24, 32)
"""How many intervals of one level can form one of the next."""

Variance = Callable[[int, int], float]
_Sizes = tuple[int, ...]
"""A group: the numbers of values of its features, in increasing order."""


def group_features(sizes: Sequence[int], labels: int, variance: Variance) -> list[tuple[int, ...]]:
    """Return the groups of features, of equal weight, that share a question, as sorted indices.

    Each of G questions is asked of one person in G. The groups therefore minimise G times the sum of the
    variances of all features. If there are too many features for the search, the even and the odd ones in the
    order of their sizes are grouped apart. `sizes` are the numbers of values, A_i, and `labels` is the number
    of classes k. `variance` takes a domain and a number of parts, and returns the variance of one report's
    estimate of a share of 1/parts from a question over the domain.
    """
    order = sorted(range(len(sizes)), key=lambda index: (sizes[index], index))
    counts = Counter(sizes[index] for index in order)
    if len(sizes) * prod(count + 1 for count in counts.values()) > MAX_GROUP_SEARCH:
        groups = [
            tuple(half[place] for place in group)
            for half in (order[::2], order[1::2])
            for group in group_features([sizes[index] for index in half], labels, variance)
        ]
    else:
        waiting = {size: iter([index for index in order if sizes[index] == size]) for size in counts}
        found = _find_best_groups(counts, labels, variance)
        groups = [tuple(next(waiting[size]) for size in group) for group in sorted(found, reverse=True)]
    return sorted(tuple(sorted(group)) for group in groups)


def _find_best_groups(counts: Counter[int], labels: int, variance: Variance) -> list[_Sizes]:
    """Return the best groups, given how many features have each size, with the sizes in increasing order.

    Groups of at most 1, 2, 4, 8, ... features are searched. A group that costs more than its parts and an
    average question together is never among the best, because its parts would be better. The search skips
    it: with at most m of n features in each of G >= n/m questions, the average is at most least / G^2.
    """
    groups: list[_Sizes] = [(size,) for size in counts]
    costs = {group: variance(group[0] * labels, group[0] * labels) for group in groups}

    def extend(group: _Sizes, most_extra: float) -> Iterator[_Sizes]:
        for size in counts:
            joined, domain = (*group, size), prod(group) * size * labels
            if size < group[-1] or joined.count(size) > counts[size]:
                continue
            if domain > MAX_GROUP_DOMAIN:
                break
            variances = fsum(variance(domain, each * labels) for each in joined)
            cost = MIN_GROUP_GAIN ** len(group) * variances
            if cost - costs[group] - costs[size,] > most_extra:
                break
            costs[joined] = cost
            yield joined

    least, best = _minimise_product(counts, costs)
    while groups:
        most = 2 * len(groups[0])
        most_extra = least * (most / counts.total()) ** 2
        while groups and len(groups[0]) < most:
            groups = [joined for group in groups for joined in extend(group, most_extra)]
        least, best = min((least, best), _minimise_product(counts, costs))
    return best


def _minimise_product(counts: Counter[int], costs: Mapping[_Sizes, float]) -> tuple[float, list[_Sizes]]:
    """Return the least product of the number of groups and the sum of their costs, and these groups.

    The search is a dynamic program. Its states are the numbers of features of each size that are left, with
    16 bits for each, of which the highest is set if the number is negative.
    """
    ones = {size: 1 << 16 * place for place, size in enumerate(counts)}
    negative = sum(ones.values()) << 15
    used = {group: sum(ones[size] for size in group) for group in costs}
    starts = [[group for group in costs if group[-1] == size] for size in counts]

    @cache
    def search(left: int) -> dict[int, tuple[float, _Sizes]]:
        """Return, for each number of groups, the least sum of their costs, and the first of them."""
        found: dict[int, tuple[float, _Sizes]] = {} if left else {0: (0.0, ())}
        for group in starts[(left.bit_length() - 1) // 16] if left else ():
            after = left - used[group]
            if not after & negative:
                for number, (others, _) in search(after).items():
                    total = others + costs[group]
                    if number + 1 not in found or total < found[number + 1][0]:
                        found[number + 1] = total, group
        return found

    left = sum(ones[size] * count for size, count in counts.items())
    product, number = min((number * total, number) for number, (total, _) in search(left).items())
    groups = []
    while left:
        groups.append(search(left)[number][1])
        left, number = left - used[groups[-1]], number - 1
    return product, groups


def choose_widths(values: int, variance: Callable[[int], float]) -> tuple[int, ...]:
    """Return the numbers of values in an interval at each level, the widest first; the last is 1.

    `values` is the number of values without the missing one. `variance` takes a number of intervals, and
    returns the variance of one report's estimate of an interval's share.
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


MAX_TABLES = 32
_MOST_FEATURES = 3
_KEYS = ("features", "label", "weight")


class CrossTable(NamedTuple):
    """One question about all combinations of the values of several features."""

    feature_indices: tuple[int, ...]
    """In the order of the plan."""
    with_label: bool
    """Whether the combinations include the label."""
    weight: int


def read_cross_tables(
    reader: SchemaReader, entries: Table, label: Label, features: Sequence[Feature]
) -> tuple[CrossTable, ...]:
    if len(entries) > MAX_TABLES:
        reader.note(("tables",), f"has {len(entries)} tables, more than {MAX_TABLES}: delete some")
    found: dict[tuple[int, ...], CrossTable] = {}
    for name, entry in entries.items():
        path = ("tables", name)
        reader.check_name(name, path)
        table = _read(reader, entry, path, label, features)
        if table and table.feature_indices in found:
            reader.note((*path, "features"), "are the features of another table: delete one of them")
        elif table:
            found[table.feature_indices] = table
    return tuple(found.values())


def _read(
    reader: SchemaReader, entry: Any, path: Path, label: Label, features: Sequence[Feature]
) -> CrossTable | None:
    if not isinstance(entry, dict):
        reader.note(path, f"must be a table: [{'.'.join(path)}]")
        return None
    reader.check_keys(entry, _KEYS, path)
    with_label = entry.get("label", False)
    is_label_wrong = not isinstance(with_label, bool) or (with_label and not label.exists)
    if is_label_wrong:
        why = "must be true or false" if label.exists else "the survey has no label: delete this entry"
        reader.note((*path, "label"), why)
    weight = reader.read_weight(entry, path, 1)
    indices = _read_features(reader, entry.get("features"), (*path, "features"), label, features)
    if weight == 0:
        reader.note((*path, "weight"), "0 never asks for this table: delete the table")
    if is_label_wrong or not (indices and weight):
        return None
    cells = prod(features[index].size for index in indices) * (len(label.values) if with_label else 1)
    if cells > MAX_DOMAIN:
        why = f"have {cells:,} combinations, and one question asks for at most {MAX_DOMAIN:,}"
        reader.note((*path, "features"), f"{why}: merge rare values, or use fewer bins or features")
    return CrossTable(indices, with_label, weight)


def _read_features(
    reader: SchemaReader, names: Any, path: Path, label: Label, features: Sequence[Feature]
) -> tuple[int, ...]:
    listed = names if isinstance(names, list) else []
    if not (2 <= len(listed) <= _MOST_FEATURES and all(isinstance(name, str) for name in listed)):
        reader.note(path, f"needs a list of the names of 2 to {_MOST_FEATURES} features")
        return ()
    if len(set(listed)) < len(listed):
        reader.note(path, "has the same feature twice: delete one of them")
        return ()
    known = {feature.name: index for index, feature in enumerate(features)}
    faults = [(name, _find_fault(name, label, features)) for name in listed]
    for name, why in faults:
        if why:
            reader.note(path, f"{name!r} {why}", name)
    return () if any(why for _, why in faults) else tuple(sorted(known[name] for name in listed))


def _find_fault(name: str, label: Label, features: Sequence[Feature]) -> str:
    if label.exists and name == label.name:
        return "is the label: write label = true instead"
    choices = [each for each in features if isinstance(each, ChoiceFeature) and each.row_name == name]
    if choices:
        return f"has several answers: name one of its choices, for example {choices[0].name!r}"
    feature = next((each for each in features if each.name == name), None)
    if feature is None:
        return "is not a feature of this survey"
    if isinstance(feature, NumericFeature):
        return "is a number without bins: give it bins = N or edges = [...]"
    return ""
