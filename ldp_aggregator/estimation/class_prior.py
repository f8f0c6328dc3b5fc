"""The class prior, pooled from every question that tells of the label."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np

from ldp_aggregator.arrays import FloatArray
from ldp_aggregator.estimation.discrete.frequencies import Frequencies
from ldp_aggregator.estimation.intervals import IntervalEstimate, unknown
from ldp_aggregator.estimation.numeric.moments import Moments


@dataclass(frozen=True)
class LabelShares:
    """What one question by itself says of P(label).

    Attributes
    ----------
    question : int
        Its index in the plan.
    value, variance : (k,) arrays
    """

    question: int
    value: FloatArray
    variance: FloatArray

    @classmethod
    def from_frequencies(cls, heard: Frequencies, k: int) -> Self:
        """Sum the values of a coupled question: g(c) = sum over a of F[a, c]; the label question has one."""
        variance = np.maximum(heard.noise.against_classes(k)[1], 0.0)
        told = heard.raw.reshape(-1, k).sum(axis=0)
        return cls(heard.question.index, told, variance)

    @classmethod
    def from_moments(cls, heard: Moments) -> Self:
        """Take G of a mean or square question that tells of the label."""
        return cls(heard.question.index, heard.raw[2], heard.covariance[2, 2])


@dataclass(frozen=True)
class Prior:
    """P(label), pooled.

    Attributes
    ----------
    estimate : IntervalEstimate
        (k,) and unbiased.
    weights : mapping of question index to weight
        What each question contributed; they add up to one.
    """

    estimate: IntervalEstimate
    weights: Mapping[int, float]

    @property
    def known(self) -> bool:
        """Whether anything told of the label."""
        return bool(self.weights)


def pool_prior(told: Sequence[LabelShares], k: int) -> Prior:
    """Return the prior that weighs each question by its inverse variance, averaged over the labels."""
    if not told:
        return Prior(unknown((k,)), {})
    weights = np.array([1.0 / each.variance.mean() for each in told])
    weights /= weights.sum()
    value = weights @ np.stack([each.value for each in told])
    variance = weights**2 @ np.stack([each.variance for each in told])
    shares = {each.question: float(weight) for each, weight in zip(told, weights, strict=True)}
    return Prior(IntervalEstimate.from_stderr(value, np.sqrt(variance)), shares)


def label_prior(label: Frequencies) -> IntervalEstimate:
    """Return the (k,) raw prior from the label question alone (Yilmaz et al. 2019, section 3.1.1)."""
    if label.n == 0:
        return unknown(label.raw.shape)
    return IntervalEstimate.from_stderr(label.raw, label.stderr)
