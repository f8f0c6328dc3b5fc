"""Means and variances of a number, pooled from tables of silos and from other surveys.

All moments of a number have the same weights, so errors that a sum and its share have in common cancel.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Self

import numpy as np

from ldp_aggregator.arrays import FloatArray
from ldp_aggregator.estimation.class_prior import PooledPrior
from ldp_aggregator.estimation.numeric.moments import Quantity
from ldp_aggregator.estimation.numeric.number import ClassMoments
from ldp_aggregator.estimation.tables.soft_moments import SoftMoments

_SILO_SOURCES = 4


@dataclass(frozen=True, kw_only=True)
class PooledMoments(ClassMoments):
    """Raw estimates of the moments of one number, per class; sources are those of silos, then of others."""

    silos: SoftMoments
    others: ClassMoments
    """Of people, of silos, or pooled, with all moments and their own prior."""
    weight: float
    """The weight of the silos: inverse to the variance of a mean, averaged over the classes."""

    @classmethod
    def from_estimates(
        cls, silos: SoftMoments, others: ClassMoments, prior: PooledPrior
    ) -> Self | SoftMoments:
        """Pool the moments; those of silos alone if the others lack reports about one of the moments."""
        if others.first is None or others.second is None or not others.prior.known:
            return silos
        mean = np.clip(np.nan_to_num(silos.first.over(silos.present).value), -1.0, 1.0)
        variances = [
            float((first - each.present.times(mean)).variance(each.noise).mean())
            for each, first in ((silos, silos.first), (others, others.first))
        ]
        return cls(
            questions=(),
            prior=prior,
            can_be_missing=silos.can_be_missing,
            silos=silos,
            others=others,
            weight=variances[1] / sum(variances),
        )

    @cached_property
    def noise(self) -> FloatArray:
        return _join_blocks(self.silos.noise, self.others.noise)

    def split_noise(self) -> tuple[FloatArray, FloatArray, FloatArray]:
        mine, _, _ = self.silos.split_noise()
        theirs, other_factors, signs = self.others.split_noise()
        factors = np.zeros((len(other_factors), len(self.noise), self.k))
        factors[:, _SILO_SOURCES:] = other_factors
        return _join_blocks(mine, theirs), factors, signs

    def _lift(self, quantity: Quantity, first: int) -> Quantity:
        slopes = np.zeros((len(self.noise), self.k))
        slopes[first : first + len(quantity.slopes)] = quantity.slopes
        return Quantity(quantity.value, slopes)

    def _pool(self, silos: Quantity, others: Quantity | None) -> Quantity:
        assert others is not None
        mine, theirs = self._lift(silos, 0), self._lift(others, _SILO_SOURCES)
        return mine.times(self.weight) + theirs.times(1 - self.weight)

    @cached_property
    def class_share(self) -> Quantity:
        return self._pool(self.silos.class_share, self.others.class_share)

    @cached_property
    def first(self) -> Quantity:
        return self._pool(self.silos.first, self.others.first)

    @cached_property
    def second(self) -> Quantity:
        return self._pool(self.silos.second, self.others.second)

    @cached_property
    def missing(self) -> Quantity | None:
        return None if self.silos.missing is None else self._pool(self.silos.missing, self.others.missing)

    @property
    def second_bias(self) -> float:
        """Bound on the bias of E[x^2], to which only reports of people add."""
        return (1 - self.weight) * self.others.second_bias

    def fourth_cumulant(self, quantity: Quantity) -> FloatArray:
        mine, theirs = quantity.slopes[:_SILO_SOURCES], quantity.slopes[_SILO_SOURCES:]
        others = self.others.fourth_cumulant(Quantity(quantity.value, theirs))
        return self.silos.fourth_cumulant(Quantity(quantity.value, mine)) + others

    def with_cautious_noise(self) -> PooledMoments:
        return replace(self, silos=self.silos.with_cautious_noise(), others=self.others.with_cautious_noise())

    @property
    def differences(self) -> tuple[FloatArray, FloatArray, FloatArray]:
        pairs = [
            (self.silos.first, self.others.first),
            (self.silos.second, self.others.second),
            (self.silos.missing, self.others.missing),
        ]
        contrasts = [
            self._lift(mine, 0) - self._lift(other, _SILO_SOURCES)
            for mine, other in pairs
            if mine is not None and other is not None
        ]
        if not contrasts:
            return np.zeros(0), np.zeros(0), np.zeros(0)
        parts = ((each.value, each.variance(self.noise), self.fourth_cumulant(each)) for each in contrasts)
        value, variance, fourth = (np.concatenate(part) for part in zip(*parts, strict=True))
        return value, variance, fourth


def _join_blocks(one: FloatArray, other: FloatArray) -> FloatArray:
    size, first = len(one) + len(other), len(one)
    joined = np.zeros((size, size, one.shape[-1]))
    joined[:first, :first], joined[first:, first:] = one, other
    return joined
