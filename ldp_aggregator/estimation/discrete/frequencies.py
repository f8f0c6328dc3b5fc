"""Raw frequencies of each value, with their covariance: of one question, and combined from several.

The reports of one question add up to a vector of totals, and a linear map turns it into unbiased
frequencies F. Their covariance matrix follows in closed form from the mechanism's moments. So every estimate
that is derived from them (class totals, ratios) has a standard error without resampling.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial, reduce

import numpy as np

from encoders.mechanisms.frequency_oracle import FrequencyOracle
from encoders.survey import Feature, Question
from ldp_aggregator.arrays import FloatArray
from ldp_aggregator.estimation.discrete.covariance import FrequencyCovariance, weigh_covariances
from ldp_aggregator.snapshot import Total

# -- negative estimates -----------------------------------------------------------------------------
# Raw frequencies are unbiased, but noise makes some of them negative, and they do not add up to one.


def project_simplex(raw: FloatArray) -> FloatArray:
    """Return the nearest distribution in Euclidean distance, along the last axis.

    Sort-and-threshold (Duchi et al. 2008, see docs/results/replication.md). If a row sums to less than one, a
    slightly negative entry may rise above zero.
    """
    # 1 or more below the greatest is never above zero; sums of numbers near 2^63 would have no digits after 1
    raw = np.maximum(raw - raw.max(axis=-1, keepdims=True), -1.0)
    falling = np.sort(raw, axis=-1)[..., ::-1]
    ranks = np.arange(1, raw.shape[-1] + 1)
    shifts = (1.0 - np.cumsum(falling, axis=-1)) / ranks
    support = np.count_nonzero(falling + shifts > 0, axis=-1, keepdims=True)
    return np.maximum(raw + np.take_along_axis(shifts, support - 1, axis=-1), 0.0)


def project_columns(raw: FloatArray) -> FloatArray:
    """Return the nearest distribution to each column of (A, k) estimates; a column with NaN stays NaN."""
    consistent = np.full_like(raw, math.nan)
    known = np.isfinite(raw).all(axis=0)
    consistent[:, known] = project_simplex(raw[:, known].T).T
    return consistent


def replace_negatives(counts: FloatArray) -> FloatArray:
    """Set estimated counts of 0 or less to 1 (Yilmaz et al. 2019, end of section 3.1.2)."""
    return np.where(counts > 0, counts, 1.0)


# -- frequencies of one question --------------------------------------------------------------------


UNIFORM_SHARE = 0.1
"""Covariances are evaluated at 0.9 simplex(F) + 0.1/d, so never at a frequency of exactly zero. Where F
exceeds its noise, this share is smaller: a tenth would change a rare cell by more than the error of F."""


@dataclass(frozen=True)
class Frequencies:
    """Raw frequencies of one question."""

    question: Question
    n: int
    raw: FloatArray
    """Unbiased frequencies, possibly negative; NaN without reports. For one feature of a question about
    several features, summed over the values of the others. Shape (d,)."""
    covariance: FrequencyCovariance

    def marginal(self, index: int) -> Frequencies:
        if len(self.question.feature_indices) < 2:
            return self
        shape = self.question.shape
        others = tuple(axis for axis in range(len(shape) - 1) if axis != index)
        raw = self.raw.reshape(shape).sum(axis=others).ravel()
        return _frequencies(self.question, self.n, raw)

    @property
    def mechanism(self) -> str:
        return self.question.mechanism.name

    @property
    def asked_features(self) -> tuple[Feature, ...]:
        return self.question.asked_features

    @property
    def stderr(self) -> FloatArray:
        """Standard errors of `raw`; infinite without reports."""
        return np.sqrt(self.covariance.variance)


def estimate_frequencies(question: Question, total: Total) -> Frequencies:
    """Return F = (totals/n - off) / (on - off), unbiased for every mechanism (Yilmaz et al. 2019, 2.2.1)."""
    oracle, n = oracle_of(question), total.n
    if n == 0:
        return _frequencies(question, 0, np.full(oracle.domain, math.nan))
    counts, _ = oracle.estimate(total.cells, n)
    return _frequencies(question, n, np.asarray(counts, dtype=np.float64) / n)


def _frequencies(question: Question, n: int, raw: FloatArray) -> Frequencies:
    oracle, d = oracle_of(question), len(raw)
    likely = (
        find_likely_frequencies(raw, math.sqrt(oracle.uniform_variance(d) / n)) if n else np.full(d, 1.0 / d)
    )
    return Frequencies(question, n, raw, FrequencyCovariance.from_mechanism(oracle, likely, n))


def find_likely_frequencies(raw: FloatArray, noise: float) -> FloatArray:
    """Return possible frequencies near raw ones, (..., d), with this standard error; see UNIFORM_SHARE."""
    size = raw.shape[-1]
    share = UNIFORM_SHARE * min(1.0, size * noise)
    likely: FloatArray = (1 - share) * project_simplex(raw) + share / size
    return likely


def oracle_of(question: Question) -> FrequencyOracle:
    mechanism = question.mechanism
    if not isinstance(mechanism, FrequencyOracle):
        raise TypeError(f"{question.name} is not a question about the label or about a coupled value")
    return mechanism


# -- combining estimates of one feature -------------------------------------------------------------
# Estimates of the same cells are averaged, weighted by the inverse of their variances. If the same people
# answered all questions, the sampling of people is the same in all: it changes no weight, and counts once.
# The levels of a feature are combined by weighted least squares, so that the share of an interval is the sum
# of its values' shares (Hay et al. 2010).


_VALUES = (1, 0)
"""Width and shift of questions about single values."""


@dataclass(frozen=True)
class CombinedFrequencies:
    """Raw frequencies of the cells (value, label) of one discrete feature, computed from other ones."""

    n: int
    """Number of reports or rows; without any, nothing is known."""
    raw: FloatArray
    """Unbiased frequencies, (A k,); the cell of value a and class c is a k + c."""
    covariance: FrequencyCovariance
    """If there are levels, other covariances than those of a cell with itself are averages."""
    mechanism: str
    """The names of the mechanisms, joined by " + "."""
    asked_features: tuple[Feature, ...]
    """The features that the same reports ask about."""
    levels: tuple[Level, ...] = ()
    """The levels of an ordered feature, from which its frequencies are combined."""


TableEstimate = Frequencies | CombinedFrequencies


@dataclass(frozen=True)
class Level:
    estimate: TableEstimate
    """Its values are intervals."""
    spread: FloatArray
    """The combined frequency of each value is a sum over the levels: spread times the level's frequencies.
    Shape (A, intervals)."""


def combine_questions(
    margins: Sequence[Frequencies], feature: Feature, k: int, same_people: bool = False
) -> TableEstimate | None:
    """Return the frequencies of one feature from all questions that contain it; None without a question.

    `margins` are those of the feature, one for each question. Questions without the label are left out,
    unless the number of classes, k, is 1: then the frequencies are summed over the classes. `same_people`:
    whether the same people answered all questions.
    """
    known: dict[tuple[int, int], list[TableEstimate]] = {}
    for each in margins:
        classes = len(each.question.label.values)
        if classes == k or k == 1:
            summed = each if classes == k else sum_classes(each, classes)
            known.setdefault((each.question.width, each.question.shift), []).append(summed)
    pool = partial(pool_tables, same_people=same_people)
    pooled = {interval: reduce(pool, tables) for interval, tables in known.items()}
    return _combine_levels(pooled, feature) if len(pooled) > 1 else pooled.get(_VALUES)


def sum_classes(estimate: TableEstimate, k: int) -> CombinedFrequencies:
    return CombinedFrequencies(
        n=estimate.n,
        raw=estimate.raw.reshape(-1, k).sum(axis=1),
        covariance=estimate.covariance.sum_cells(k, axis=1) if estimate.n else estimate.covariance,
        mechanism=estimate.mechanism,
        asked_features=estimate.asked_features,
    )


def pool_covariances(
    first: FrequencyCovariance, second: FrequencyCovariance, same_people: bool = False
) -> tuple[float, FrequencyCovariance]:
    """Return the weight of the first of two estimates, and the covariance of their mean.

    The weights are inverse to the mean variances, at the same frequencies; of the same people, to those of
    the noise alone.
    """
    weight = _weigh(first, second, same_people)
    likely = weight * first.distribution + (1 - weight) * second.distribution
    weight = _weigh(first.evaluate_at(likely), second.evaluate_at(likely), same_people)
    weights = np.array([weight, 1 - weight])
    return weight, weigh_covariances([first, second], weights, likely, same_people)


def _weigh(first: FrequencyCovariance, second: FrequencyCovariance, same_people: bool) -> float:
    pair = first, second
    one, other = (float((each.noise_variance if same_people else each.variance).mean()) for each in pair)
    return other / (one + other)


def pool_tables(first: TableEstimate, second: TableEstimate, same_people: bool = False) -> TableEstimate:
    if not (first.n and second.n):
        return first if first.n else second
    weight, covariance = pool_covariances(first.covariance, second.covariance, same_people)
    return CombinedFrequencies(
        n=covariance.n,
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
    return FrequencyCovariance(
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
