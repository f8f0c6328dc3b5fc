"""Cumulative shares and quantiles of ordered features, of all people and of each class.

The single interval of a cumulative share is that of a ratio. The simultaneous ones form a band that contains
the whole distribution function in 95% of surveys, narrower than Bonferroni's. The interval of a quantile
inverts those of the cumulative shares. What is shown are one fit's cumulative shares, their differences, and
the quantiles between them; intervals are those of the raw estimates.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from statistics import NormalDist
from typing import Any, Self

import numpy as np

from encoders.survey import BinnedFeature, CategoricalFeature
from encoders.survey.questions import count_values
from ldp_aggregator.arrays import BoolArray, FloatArray, IntArray
from ldp_aggregator.codec import require
from ldp_aggregator.estimation.discrete.covariance import FrequencyCovariance
from ldp_aggregator.estimation.discrete.frequencies import (
    CombinedFrequencies,
    TableEstimate,
    compute_sum_covariances,
)
from ldp_aggregator.estimation.intervals import (
    SIMULTANEOUS_ERROR,
    IntervalEstimate,
    Intervals,
    invert_test,
    ratio_intervals,
)

PROBABILITIES = (0.25, 0.5, 0.75)
"""The quantiles: first quartile, median and third quartile."""
_DRAWS, _RIDGE = 4000, 1e-6
"""Number of simulated normal vectors that determine the width of a band, and a variance that is added to each
of their components, so that rounding cannot make a variance negative."""


@dataclass(frozen=True)
class OrderedResult:
    """Cumulative shares of an ordered feature among people whose value is not missing."""

    limits: tuple[str, ...]
    """Of bins the inner edges, for P(x < edge); of values all but the last, for P(x <= value)."""
    edges: tuple[float, ...]
    """All edges of the bins; empty for values."""
    cumulative: IntervalEstimate
    """Shape (limits,)."""
    by_class: IntervalEstimate
    """Shape (limits, classes)."""
    consistent: FloatArray
    """`cumulative` as it is shown: from 0 to 1 and increasing. Shape (limits,)."""
    consistent_by_class: FloatArray
    """The same of each class. Shape (limits, classes)."""

    JSON_DERIVED = ("quantiles", "class_quantiles")

    @classmethod
    def from_estimates(
        cls,
        feature: CategoricalFeature | BinnedFeature,
        joint: TableEstimate | None,
        shares: TableEstimate | None,
        k: int,
    ) -> Self:
        values = count_values(feature)
        edges = feature.edges if isinstance(feature, BinnedFeature) else ()
        shown = fit_cumulative(shares, values, 1)
        cumulative = include_shown(_estimate_cumulative(shares, values, 1), shown)
        of_classes = (cumulative, shown)
        if k > 1:
            of_class = fit_cumulative(joint, values, k)
            of_classes = include_shown(_estimate_cumulative(joint, values, k), of_class), of_class
        return cls(
            limits=feature.edges[1:-1] if isinstance(feature, BinnedFeature) else feature.values[:-1],
            edges=tuple(map(float, edges)),
            cumulative=cumulative.reshape(-1),
            by_class=of_classes[0],
            consistent=shown[:, 0],
            consistent_by_class=of_classes[1],
        )

    @property
    def quantiles(self) -> IntervalEstimate:
        """The quantiles of all people, (3,), in the feature's unit, or as codes of its values."""
        shown = self.consistent.reshape(-1, 1)
        return self._find_quantiles(self.cumulative.reshape(-1, 1), shown).reshape(-1)

    @property
    def class_quantiles(self) -> IntervalEstimate:
        return self._find_quantiles(self.by_class, self.consistent_by_class)

    def _find_quantiles(self, shares: IntervalEstimate, shown: FloatArray) -> IntervalEstimate:
        """Invert cumulative shares, (limits, groups); quantiles have intervals, but no standard errors.

        A quantile is above the last limit before the first one whose interval reaches the probability, and at
        most the next limit after the last one whose interval is below it.
        """
        p = np.array(PROBABILITIES)[:, None, None]
        ends = []
        for low, high in ((shares.low, shares.high), (shares.simultaneous_low, shares.simultaneous_high)):
            first = _count_leading(high < p)
            last = len(self.limits) - _count_leading((low >= p)[:, ::-1])
            ends += [self._locate(first), self._locate(last, 1)]
        estimates = self._estimate_quantiles(shown)
        return include_shown(IntervalEstimate(estimates, np.full(estimates.shape, np.inf), *ends), estimates)

    def _locate(self, codes: IntArray, end: int = 0) -> FloatArray:
        """Return codes of values unchanged, and the lower or upper edge of bins."""
        return np.array(self.edges)[codes + end] if self.edges else np.asarray(codes, dtype=np.float64)

    def _estimate_quantiles(self, shown: FloatArray) -> FloatArray:
        """Return the quantiles, (3, groups); within a bin, people are assumed to be spread evenly."""
        whole = _complete(shown)
        found = np.full((len(PROBABILITIES), whole.shape[1]), np.nan)
        for group in np.flatnonzero(np.isfinite(whole).all(axis=0)):
            if self.edges:
                found[:, group] = np.interp(PROBABILITIES, whole[:, group], self.edges)
            else:
                found[:, group] = np.searchsorted(whole[1:, group], PROBABILITIES)
        return found

    def divide_shares(self, raw: FloatArray) -> FloatArray:
        """Return the shares of all values, (A, groups), from which the shown cumulative shares add up.

        `raw`, (A, groups), are the shares of all people or of each class. Missing answers, if there are any,
        are the last value; their share is cut to its range.
        """
        shown = self.consistent.reshape(-1, 1) if raw.shape[1] == 1 else self.consistent_by_class
        whole = raw + (1 - raw.sum(axis=0)) / len(raw)
        missing = np.clip(whole[len(self.limits) + 1 :], 0.0, 1.0)
        present = 1 - missing.sum(axis=0)
        values = np.where(present == 0, 0.0, np.diff(_complete(shown), axis=0) * present)
        return np.concatenate([values, missing])

    def include_shares(self, shares: IntervalEstimate) -> IntervalEstimate:
        return include_shown(shares, self.divide_shares(shares.value))

    @property
    def omitted_entries(self) -> tuple[str, ...]:
        of_classes = "by_class", "consistent_by_class", "class_quantiles"
        return of_classes if self.by_class.value.shape[1] == 1 else ()

    @staticmethod
    def complete_entries(values: dict[str, Any]) -> None:
        if "cumulative" in values:
            values.setdefault("by_class", values["cumulative"].reshape(-1, 1))
            values.setdefault("consistent", _make_monotone(values["cumulative"].value))
        if "by_class" in values and "consistent" in values:
            classes = values["by_class"].value
            only = values["consistent"].reshape(-1, 1)
            values.setdefault(
                "consistent_by_class", only if classes.shape == only.shape else _make_monotone(classes)
            )

    def check_entries(self) -> None:
        limits = len(self.limits)
        is_valid = self.cumulative.value.shape == self.consistent.shape == (limits,)
        is_valid &= self.by_class.value.shape == self.consistent_by_class.shape
        is_valid &= self.by_class.value.shape[:1] == (limits,)
        require(is_valid and len(self.edges) in (0, limits + 2), f"needs the shares of {limits} limits")


def _complete(cumulative: FloatArray) -> FloatArray:
    """Return cumulative shares, (limits, groups), with those below the first value and up to the last."""
    ends = np.zeros_like(cumulative[:1])
    return np.concatenate([ends, cumulative, ends + 1])


def include_shown(estimate: IntervalEstimate, shown: FloatArray) -> IntervalEstimate:
    """Return the estimates with intervals that contain what is shown of them; few do not already."""
    lows = (np.fmin(each, shown) for each in (estimate.low, estimate.simultaneous_low))
    highs = (np.fmax(each, shown) for each in (estimate.high, estimate.simultaneous_high))
    ends = (each for pair in zip(lows, highs, strict=True) for each in pair)
    return IntervalEstimate(estimate.value, estimate.stderr, *ends)


def fit_cumulative(estimate: TableEstimate | None, values: int, k: int) -> FloatArray:
    """Return the cumulative shares of each class, (values - 1, k), as they are shown; NaN if unknown."""
    if estimate is None or estimate.n == 0:
        return np.full((values - 1, k), np.nan)
    shares = estimate.raw.reshape(-1, k)
    weights, constant = list_sums(values, len(shares), k)
    sums = constant[:, None] + weights @ shares
    whole = np.where(sums[-1] > 0, sums[-1], np.nan)
    return _make_monotone(sums[:-1] / whole)


def _make_monotone(cumulative: FloatArray) -> FloatArray:
    """Return the mean of the nearest rising curves above and below, cut to [0, 1], along the first axis."""
    rising = np.maximum.accumulate(cumulative)
    falling = np.minimum.accumulate(cumulative[::-1])[::-1]
    return np.clip((rising + falling) / 2, 0.0, 1.0)


def _count_leading(flags: BoolArray) -> IntArray:
    """Return how many elements are true before the first false one, along the second axis."""
    return np.asarray(np.logical_and.accumulate(flags, axis=1).sum(axis=1))


def _estimate_cumulative(estimate: TableEstimate | None, values: int, k: int) -> IntervalEstimate:
    """Return the cumulative shares of each class, (values - 1, k)."""
    if estimate is None or estimate.n == 0:
        return IntervalEstimate.unknown((values - 1, k))
    classes = [_estimate_class(estimate, values, k, label) for label in range(k)]
    return IntervalEstimate(*(np.stack(each, axis=1) for each in zip(*classes, strict=True)))


def list_sums(values: int, size: int, k: int) -> tuple[FloatArray, FloatArray]:
    """Return weights (values, size) and constants of a class's cumulative sums; the last is of all values."""
    weights, constant = np.zeros((values, size)), np.zeros(values)
    weights[:, :values] = np.tri(values)
    if k == 1:  # all shares add up to one, which makes every sum more accurate
        constant = weights.mean(axis=1)
        weights = weights - constant[:, None]
    return weights, constant


def _estimate_class(estimate: TableEstimate, values: int, k: int, label: int) -> tuple[FloatArray, ...]:
    """Return the cumulative shares of one class, their standard errors, and the ends of their intervals."""
    shares = estimate.raw.reshape(-1, k)[:, label]
    size = len(shares)
    weights, constant = list_sums(values, size, k)
    sums = constant + weights @ shares
    covariance = compute_sum_covariances(estimate, weights, k, label)
    top, whole = sums[:-1], np.full(values - 1, sums[-1])
    known = whole > 0
    ratio = np.divide(top, whole, out=np.full_like(top, np.nan), where=known)
    likely = np.clip(np.where(known, ratio, 0.5), 0.0, 1.0)
    crossed = np.outer(
        covariance[:-1, -1], likely
    )  # the covariance of each sum less its share of the last one
    residual = covariance[:-1, :-1] - crossed - crossed.T + covariance[-1, -1] * np.outer(likely, likely)
    count = _count_independent(residual, k)
    if isinstance(estimate, CombinedFrequencies) and estimate.levels:
        constant, linear = np.diag(covariance)[:-1], -2 * covariance[:-1, -1]
        quadratic = np.full_like(top, covariance[-1, -1])
        intervals = ratio_intervals(top, whole, constant, linear, quadratic, count)
    else:
        intervals = _invert(estimate.covariance, top, whole, values / size if k == 1 else 0.0, count)
    stderr = np.sqrt(np.maximum(np.diag(residual), 0.0)) / np.where(known, whole, 1.0)
    return ratio, np.where(known, stderr, np.inf), *intervals


def _invert(
    covariance: FrequencyCovariance, top: FloatArray, whole: FloatArray, of_all: float, count: float
) -> Intervals:
    """Return the intervals of cumulative shares of one class, from a question about single values.

    `of_all` is the number of values that are not missing, divided by that of all values, if all shares add up
    to one; else 0.
    """
    values, mass = len(top) + 1, np.clip(whole, 0.0, 1.0)
    below = np.arange(1.0, values)
    members = np.stack([below, values - below, np.full_like(below, covariance.distribution.size - values)])

    def find_moments(r: FloatArray) -> tuple[FloatArray, FloatArray]:
        outside = of_all * (r - below / values)
        inside = outside + 1 - r
        masses = np.stack([r * mass, (1 - r) * mass, np.broadcast_to(1 - mass, r.shape)])
        return covariance.contrast_moments(np.stack([inside, inside - 1, outside]), members[:, None], masses)

    return invert_test(top, whole, find_moments, count, step=covariance.step)


def _count_independent(covariance: FloatArray, k: int) -> float:
    """Return how many independent 95% intervals are as wide as the band, by simulation with a fixed seed."""
    deviation = np.sqrt(np.maximum(np.diag(covariance), np.finfo(np.float64).tiny))
    correlation = covariance / np.outer(deviation, deviation)
    try:
        root = np.linalg.cholesky(correlation + _RIDGE * np.eye(len(correlation)))
    except np.linalg.LinAlgError:  # an average over levels need not be a covariance
        return float(k * len(correlation))
    z = float(np.quantile(np.abs(_draw(len(root)) @ root.T).max(axis=1), 1 - SIMULTANEOUS_ERROR / k))
    return SIMULTANEOUS_ERROR / (2 * NormalDist().cdf(-z))


@lru_cache(maxsize=4)
def _draw(size: int) -> FloatArray:
    return np.random.default_rng(0).standard_normal((_DRAWS, size))
