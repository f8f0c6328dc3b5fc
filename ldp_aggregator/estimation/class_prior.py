"""The class prior P(label), pooled from the estimates of all questions that estimate it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np

from ldp_aggregator.arrays import FloatArray
from ldp_aggregator.estimation.discrete.covariance import FrequencyCovariance, weigh_covariances
from ldp_aggregator.estimation.discrete.frequencies import Frequencies
from ldp_aggregator.estimation.intervals import IntervalEstimate, estimate_cells
from ldp_aggregator.estimation.numeric.moments import Moments


@dataclass(frozen=True)
class ClassCovariance:
    """Covariance of the estimated P(c) and P(d): constant + linear (P(c) + P(d)) - product P(c) P(d)."""

    constant: float = 0.0
    linear: float = 0.0
    product: float = 0.0

    @classmethod
    def from_offset(cls, offset: float, n: int) -> Self:
        return cls(-(offset**2) / n, -offset / n, 1 / n)

    def __add__(self, other: ClassCovariance) -> ClassCovariance:
        return ClassCovariance(
            self.constant + other.constant, self.linear + other.linear, self.product + other.product
        )

    def times(self, factor: float) -> ClassCovariance:
        return ClassCovariance(self.constant * factor, self.linear * factor, self.product * factor)


@dataclass(frozen=True)
class LabelShares:
    question: int
    """Index of the question in the plan."""
    value: FloatArray
    """Shape (k,)."""
    covariance: FrequencyCovariance

    @classmethod
    def from_frequencies(cls, frequencies: Frequencies, k: int) -> Self:
        """Return G(c), the sum over values a of the frequencies F[a, c]; the label question has one value."""
        value = frequencies.raw.reshape(-1, k).sum(axis=0)
        return cls(frequencies.question.index, value, frequencies.covariance.sum_cells(k, axis=0))

    @classmethod
    def from_moments(cls, moments: Moments) -> Self:
        between = ClassCovariance.from_offset(moments.class_offset, moments.n)
        likely = moments.population.present + moments.population.missing
        covariance = FrequencyCovariance(
            likely,
            moments.n,
            floor=0.0,
            growth=between.product - 2 * between.linear,
            shared=between.constant,
            slope=between.linear,
            product=between.product,
            offsets=moments.covariance[2, 2] - between.constant - between.product * likely * (1 - likely),
        )
        return cls(moments.question.index, moments.raw[2], covariance)


@dataclass(frozen=True)
class PooledPrior:
    estimate: IntervalEstimate
    """The pooled estimate, (k,), unbiased."""
    weights: Mapping[int, float]
    """The weight of each question's estimate; the weights add up to one."""
    between: ClassCovariance = ClassCovariance()
    """Of two different classes."""
    people: int = 0
    """The number of people, if the same people answered all questions; else 0."""
    likely: FloatArray | None = None
    """The possible shares at which the covariance is evaluated, (k,); None for those of `estimate`."""

    @property
    def covariance(self) -> FloatArray:
        """The covariance of `estimate`. Shape (k, k)."""
        shares, between = self.estimate.value if self.likely is None else self.likely, self.between
        found = between.constant + between.linear * np.add.outer(shares, shares)
        found -= between.product * np.outer(shares, shares)
        np.fill_diagonal(found, self.estimate.stderr**2)
        return found

    @property
    def known(self) -> bool:
        return bool(np.isfinite(self.estimate.stderr).all())


def pool_prior(shares: Sequence[LabelShares], k: int, people: int = 0) -> PooledPrior:
    """Return the weighted mean of the shares, weighted by the inverse of the mean variance over classes.

    The share of a single class is 1, without an error. If the same people answered all questions, the
    estimates covary by P(c) (1 - P(c)) / n, the sampling of people. Their weights w are then inverse to the
    variances of the noise alone, and the variance is the sum of w^2 noise, plus the sampling once. `people`
    is their number if the same people answered all questions, else 0; `k` is the number of classes.
    """
    if k == 1:
        between = ClassCovariance(product=1 / people if people else 0.0)
        return PooledPrior(IntervalEstimate.from_stderr(np.ones(1), np.zeros(1)), {}, between, people)
    if not shares:
        return PooledPrior(IntervalEstimate.unknown((k,)), {}, people=people)
    parts = [each.covariance for each in shares]
    weights = np.array([1.0 / (each.noise_variance if people else each.variance).mean() for each in parts])
    weights /= weights.sum()
    value = weights @ np.stack([each.value for each in shares])
    likely = weights @ np.stack([each.distribution for each in parts])
    covariance = weigh_covariances(parts, weights, likely, people > 0)
    between = ClassCovariance(covariance.shared, covariance.slope, covariance.product)
    by_question = {each.question: float(weight) for each, weight in zip(shares, weights, strict=True)}
    return PooledPrior(estimate_cells(value, covariance), by_question, between, people, likely)
