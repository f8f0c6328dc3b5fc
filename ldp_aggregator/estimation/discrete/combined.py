"""Combines independent estimates of one feature: of several questions, and of the levels of an ordered one.

Estimates of the same cells are averaged, weighted by the inverse of their variances. The levels of a feature
are combined by weighted least squares, so that the share of an interval is the sum of its values' shares
(Hay et al. 2010).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce

import numpy as np

from encoders.survey import Feature
from ldp_aggregator.arrays import FloatArray
from ldp_aggregator.estimation.discrete.covariance import FrequencyCovariance, TableEstimate
from ldp_aggregator.estimation.discrete.frequencies import Frequencies, find_likely_frequencies

_VALUES = (1, 0)
"""Width and shift of questions about single values."""


@dataclass(frozen=True)
class CombinedFrequencies:
    """Raw frequencies that are computed from other ones; see :class:`TableEstimate`."""

    n: int
    raw: FloatArray
    covariance: FrequencyCovariance
    """If there are levels, other covariances than those of a cell with itself are averages."""
    mechanism: str
    asked_features: tuple[Feature, ...]
    levels: tuple[Level, ...] = ()
    """The levels of an ordered feature, from which its frequencies are combined."""


@dataclass(frozen=True)
class Level:
    """The estimate of one level of an ordered feature."""

    estimate: TableEstimate
    """Its values are intervals."""
    spread: FloatArray
    """The combined frequency of each value is a sum over the levels: spread times the level's frequencies.
    Shape (A, intervals)."""


def combine_questions(margins: Sequence[Frequencies], feature: Feature, k: int) -> TableEstimate | None:
    """Return the frequencies of one feature from all questions that contain it; None without a question.

    Parameters
    ----------
    margins : sequence of Frequencies
        Of the feature, one for each question.
    feature : Feature
    k : int
        Number of classes. Questions without the label are left out, unless k is 1: then the frequencies are
        summed over the classes.
    """
    known: dict[tuple[int, int], list[TableEstimate]] = {}
    for each in margins:
        classes = len(each.question.label.values)
        if classes == k or k == 1:
            summed = each if classes == k else sum_classes(each, classes)
            known.setdefault((each.question.width, each.question.shift), []).append(summed)
    pooled = {interval: reduce(pool_tables, tables) for interval, tables in known.items()}
    return _combine_levels(pooled, feature) if len(pooled) > 1 else pooled.get(_VALUES)


def sum_classes(estimate: TableEstimate, k: int) -> CombinedFrequencies:
    """Return the frequencies of the values, (A,), summed over the k classes."""
    return CombinedFrequencies(
        n=estimate.n,
        raw=estimate.raw.reshape(-1, k).sum(axis=1),
        covariance=estimate.covariance.sum_classes(k) if estimate.n else estimate.covariance,
        mechanism=estimate.mechanism,
        asked_features=estimate.asked_features,
    )


def pool_covariances(
    first: FrequencyCovariance, second: FrequencyCovariance
) -> tuple[float, FrequencyCovariance]:
    """Return the weight of the first of two independent estimates, and the covariance of their mean.

    The weights are inverse to the mean variances, at the same frequencies.
    """
    weight = _weigh(first, second)
    likely = weight * first.distribution + (1 - weight) * second.distribution
    weight = _weigh(first.evaluate_at(likely), second.evaluate_at(likely))
    return weight, first.pool(second, weight, likely)


def _weigh(first: FrequencyCovariance, second: FrequencyCovariance) -> float:
    one, other = float(first.variance.mean()), float(second.variance.mean())
    return other / (one + other)


def pool_tables(first: TableEstimate, second: TableEstimate) -> TableEstimate:
    """Return the weighted mean of two independent estimates of the same cells."""
    if not (first.n and second.n):
        return first if first.n else second
    weight, covariance = pool_covariances(first.covariance, second.covariance)
    return CombinedFrequencies(
        n=first.n + second.n,
        raw=weight * first.raw + (1 - weight) * second.raw,
        covariance=covariance,
        mechanism=_join((first, second)),
        asked_features=tuple(dict.fromkeys((*first.asked_features, *second.asked_features))),
    )


def _join(estimates: Sequence[TableEstimate]) -> str:
    return " + ".join(dict.fromkeys(name for each in estimates for name in each.mechanism.split(" + ")))


def _combine_levels(tables: dict[tuple[int, int], TableEstimate], feature: Feature) -> TableEstimate | None:
    """Return the frequencies of each value from the levels with reports; None if single values have none."""
    values = tables.get(_VALUES)
    if values is None or not values.n:
        return values
    known = {interval: table for interval, table in tables.items() if table.n}
    codes, sums = np.arange(feature.size), {}
    for width, shift in known:
        intervals = (codes + shift) // width
        sums[width, shift] = np.equal.outer(np.arange(intervals[-1] + 1), intervals).astype(np.float64)
    weights = {
        interval: 1 / float(table.covariance.independent_variance.mean()) for interval, table in known.items()
    }
    normal = np.asarray(sum(weights[each] * sums[each].T @ sums[each] for each in known))
    weighted = np.hstack([weights[each] * sums[each].T for each in known])
    ends = np.cumsum([len(sums[each]) for each in known])[:-1]
    spreads = np.split(np.linalg.solve(normal, weighted), ends, axis=1)
    levels = tuple(Level(table, spread) for table, spread in zip(known.values(), spreads, strict=True))
    raw = np.asarray(sum(each.spread @ each.estimate.raw for each in levels))
    return CombinedFrequencies(
        n=sum(table.n for table in known.values()),
        raw=raw,
        covariance=_describe_covariance(levels, raw, values.n),
        mechanism=_join(list(known.values())),
        asked_features=values.asked_features,
        levels=levels,
    )


def _describe_covariance(levels: Sequence[Level], raw: FloatArray, n: int) -> FrequencyCovariance:
    """Return a covariance with the variance of each cell, and with that of their sum."""
    size = len(raw)
    variance = np.asarray(sum(_sum_variances(each.estimate, each.spread) for each in levels))
    whole = sum(
        _sum_variances(each.estimate, each.spread.sum(axis=0, keepdims=True)).item() for each in levels
    )
    likely = find_likely_frequencies(raw, math.sqrt(variance.mean()))
    # a cell's variance is noise + sampling, with noise = floor + shared + offset. The sum of all cells has no
    # sampling error: its variance is size floor + size^2 shared
    noise = variance - (likely - likely**2) / n
    cell = float(noise.mean())
    shared = (whole - size * cell) / (size * (size - 1))
    return FrequencyCovariance.from_coefficients(
        likely,
        n,
        floor=cell - shared,
        growth=1 / n,
        shared=shared,
        slope=0.0,
        product=1 / n,
        offsets=noise - cell,
    )


def _sum_variances(estimate: TableEstimate, weights: FloatArray) -> FloatArray:
    """Return the variance, (m,), of sums of the frequencies of one level, with weights (m, A)."""
    covariance = estimate.covariance
    total, mean = weights.sum(axis=1), weights @ covariance.distribution
    pairs = covariance.shared * total**2 + 2 * covariance.slope * mean * total - covariance.product * mean**2
    return np.asarray(weights**2 @ covariance.independent_variance + pairs)


def compute_sum_covariances(estimate: TableEstimate, weights: FloatArray, k: int, label: int) -> FloatArray:
    """Return the covariance, (m, m), of sums of the frequencies of one class, with weights (m, A)."""
    if isinstance(estimate, CombinedFrequencies) and estimate.levels:
        parts = (
            compute_sum_covariances(each.estimate, weights @ each.spread, 1, 0) for each in estimate.levels
        )
        return np.asarray(sum(parts))
    covariance = estimate.covariance
    likely, own = (
        each.reshape(-1, k)[:, label] for each in (covariance.distribution, covariance.independent_variance)
    )
    total, mean = weights.sum(axis=1), weights @ likely
    crossed = np.outer(mean, total)
    found: FloatArray = (weights * own) @ weights.T
    found += covariance.shared * np.outer(total, total) + covariance.slope * (crossed + crossed.T)
    found -= covariance.product * np.outer(mean, mean)
    return found
