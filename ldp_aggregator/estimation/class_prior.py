"""The class prior P(label), pooled from the estimates of all questions that estimate it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np

from ldp_aggregator.arrays import FloatArray
from ldp_aggregator.estimation.discrete.frequencies import Frequencies
from ldp_aggregator.estimation.intervals import IntervalEstimate
from ldp_aggregator.estimation.numeric.moments import Moments


@dataclass(frozen=True)
class ClassCovariance:
    """Covariance of the estimated P(c) and P(d) of two different classes.

    It is constant + linear (P(c) + P(d)) - product P(c) P(d).
    """

    constant: float = 0.0
    linear: float = 0.0
    product: float = 0.0

    @classmethod
    def from_offset(cls, offset: float, n: int) -> Self:
        """Return -(P(c) + offset) (P(d) + offset) / n, see :attr:`NumericMechanism.class_offsets`."""
        return cls(-(offset**2) / n, -offset / n, 1 / n)

    def __add__(self, other: ClassCovariance) -> ClassCovariance:
        return ClassCovariance(
            self.constant + other.constant, self.linear + other.linear, self.product + other.product
        )

    def times(self, factor: float) -> ClassCovariance:
        """Multiply by a constant."""
        return ClassCovariance(self.constant * factor, self.linear * factor, self.product * factor)


@dataclass(frozen=True)
class LabelShares:
    """P(label), estimated by one question."""

    question: int
    """Index of the question in the plan."""
    value: FloatArray
    variance: FloatArray
    """The estimate and its variance. Shape (k,)."""
    likely: FloatArray
    """The P(label) at which the variance is evaluated. Shape (k,)."""
    between: ClassCovariance
    """Of two different classes."""

    @classmethod
    def from_frequencies(cls, frequencies: Frequencies, k: int) -> Self:
        """Return G(c), the sum over values a of the frequencies F[a, c]; the label question has one value."""
        covariance, values = frequencies.covariance, len(frequencies.raw) // k
        return cls(
            question=frequencies.question.index,
            value=frequencies.raw.reshape(-1, k).sum(axis=0),
            variance=np.maximum(covariance.class_covariances(k)[1], 0.0),
            likely=covariance.distribution.reshape(-1, k).sum(axis=0),
            between=ClassCovariance(
                covariance.shared * values**2, covariance.slope * values, covariance.product
            ),
        )

    @classmethod
    def from_moments(cls, moments: Moments) -> Self:
        """Return the estimate G of P(label) in the moments of a mean or square question."""
        between = ClassCovariance.from_offset(moments.class_offset, moments.n)
        likely = moments.population.present + moments.population.missing
        return cls(moments.question.index, moments.raw[2], moments.covariance[2, 2], likely, between)

    @property
    def sampling(self) -> FloatArray:
        """The part of the variance, (k,), that is the sampling of people: P(c) (1 - P(c)) / n."""
        return self.between.product * self.likely * (1 - self.likely)


@dataclass(frozen=True)
class PooledPrior:
    """P(label), pooled from several questions."""

    estimate: IntervalEstimate
    """The pooled estimate, (k,), unbiased."""
    weights: Mapping[int, float]
    """The weight of each question's estimate; the weights add up to one."""
    between: ClassCovariance = ClassCovariance()
    """Of two different classes."""
    people: int = 0
    """The number of people, if the same people answered all questions; else 0."""

    @property
    def known(self) -> bool:
        """Whether any question estimates the prior, or there is only one class."""
        return bool(np.isfinite(self.estimate.stderr).all())


def pool_prior(shares: Sequence[LabelShares], k: int, people: int = 0) -> PooledPrior:
    """Return the weighted mean of the shares, weighted by the inverse of the mean variance over classes.

    The share of a single class is 1, without an error. If the same people answered all questions, the
    estimates covary by P(c) (1 - P(c)) / n, the sampling of people. Their weights w are then inverse to the
    variances of the noise alone, and the variance is the sum of w^2 noise, plus the sampling once.

    Parameters
    ----------
    shares : sequence of LabelShares
    k : int
        Number of classes.
    people : int
        The number of people, if the same people answered all questions; else 0.
    """
    if k == 1:
        between = ClassCovariance(product=1 / people if people else 0.0)
        return PooledPrior(IntervalEstimate.from_stderr(np.ones(1), np.zeros(1)), {}, between, people)
    if not shares:
        return PooledPrior(IntervalEstimate.unknown((k,)), {}, people=people)
    noises = [each.variance - each.sampling if people else each.variance for each in shares]
    weights = np.array([1.0 / each.mean() for each in noises])
    weights /= weights.sum()
    value = weights @ np.stack([each.value for each in shares])
    variance = weights**2 @ np.stack([each.variance for each in shares])
    between = sum(
        (each.between.times(weight**2) for each, weight in zip(shares, weights.tolist(), strict=True)),
        start=ClassCovariance(),
    )
    if people:
        # what the estimates of each pair share: the root of 1/(n m) times P(c) (1 - P(c))
        roots = weights @ np.sqrt([each.between.product for each in shares])
        shared, likely = (
            float(roots**2) - between.product,
            weights @ np.stack([each.likely for each in shares]),
        )
        variance += shared * likely * (1 - likely)
        between += ClassCovariance(product=shared)
    by_question = {each.question: float(weight) for each, weight in zip(shares, weights, strict=True)}
    return PooledPrior(IntervalEstimate.from_stderr(value, np.sqrt(variance)), by_question, between, people)


def label_prior(label: Frequencies) -> IntervalEstimate:
    """Return the (k,) raw prior from the label question alone (Yilmaz et al. 2019, section 3.1.1)."""
    if label.n == 0:
        return IntervalEstimate.unknown(label.raw.shape)
    return IntervalEstimate.from_stderr(label.raw, label.stderr)
