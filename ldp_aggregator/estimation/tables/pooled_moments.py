"""Means and variances of a number, pooled from tables of silos and from the questions of people.

All moments of a number have the same weights, also its class shares: so errors that the sums of a class and
its share have in common cancel in a mean, as they do for silos alone.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Self

import numpy as np

from ldp_aggregator.arrays import FloatArray
from ldp_aggregator.estimation.class_prior import PooledPrior
from ldp_aggregator.estimation.numeric.delta_method import Quantity
from ldp_aggregator.estimation.numeric.number import ClassMoments
from ldp_aggregator.estimation.tables.soft_moments import SoftMoments

_SILO_SOURCES = 4


@dataclass(frozen=True, kw_only=True)
class PooledMoments(ClassMoments):
    """Raw estimates of the moments of one number, per class; sources are those of silos, then of people."""

    silos: SoftMoments
    people: ClassMoments
    """With their own prior, and with reports of both questions."""
    weight: float
    """The weight of the silos: inverse to the variance of a mean, averaged over the classes."""

    @classmethod
    def from_estimates(
        cls, silos: SoftMoments, people: ClassMoments, prior: PooledPrior
    ) -> Self | SoftMoments:
        """Pool the moments; those of silos alone if people lack reports of one of the two questions.

        Parameters
        ----------
        silos : SoftMoments
        people : ClassMoments
        prior : PooledPrior
            The pooled prior of all features.
        """
        if people.first is None or people.second is None or not people.prior.known:
            return silos
        mean = np.clip(np.nan_to_num(silos.first.over(silos.present).value), -1.0, 1.0)
        mine, others = (
            float((first - each.present.times(mean)).variance(each.noise).mean())
            for each, first in ((silos, silos.first), (people, people.first))
        )
        return cls(
            mean_question=None,
            square_question=None,
            prior=prior,
            can_be_missing=silos.can_be_missing,
            silos=silos,
            people=people,
            weight=others / (mine + others),
        )

    @cached_property
    def noise(self) -> FloatArray:
        """Covariance of the sources; those of silos and of people are independent."""
        return _join_blocks(self.silos.noise, self.people.noise)

    def split_noise(self) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return both parts of the noise; see :meth:`ClassMoments.split_noise`."""
        mine, _, _ = self.silos.split_noise()
        others, people_factors, signs = self.people.split_noise()
        factors = np.zeros((len(people_factors), len(self.noise), self.k))
        factors[:, _SILO_SOURCES:] = people_factors
        return _join_blocks(mine, others), factors, signs

    def _lift(self, quantity: Quantity, first: int) -> Quantity:
        """Return a quantity of the silos (first 0) or of the people (first 4) with slopes of all sources."""
        slopes = np.zeros((len(self.noise), self.k))
        slopes[first : first + len(quantity.slopes)] = quantity.slopes
        return Quantity(quantity.value, slopes)

    def _pool(self, silos: Quantity, people: Quantity | None) -> Quantity:
        assert people is not None
        mine, others = self._lift(silos, 0), self._lift(people, _SILO_SOURCES)
        return mine.times(self.weight) + others.times(1 - self.weight)

    @cached_property
    def class_share(self) -> Quantity:
        """Estimate of P(c) with the weights of this number, not those of the pooled prior."""
        return self._pool(self.silos.class_share, self.people.class_share)

    @cached_property
    def first(self) -> Quantity:
        """Estimate of E[x 1(c)]."""
        return self._pool(self.silos.first, self.people.first)

    @cached_property
    def second(self) -> Quantity:
        """Estimate of E[x^2 1(c)]."""
        return self._pool(self.silos.second, self.people.second)

    @cached_property
    def missing(self) -> Quantity | None:
        """Estimate of P(missing, c); None if the number cannot be missing."""
        return None if self.silos.missing is None else self._pool(self.silos.missing, self.people.missing)

    def fourth_cumulant(self, quantity: Quantity) -> FloatArray:
        """Return the fourth cumulant of a quantity's noise, which comes from the silos."""
        return self.silos.fourth_cumulant(Quantity(quantity.value, quantity.slopes[:_SILO_SOURCES]))

    def with_cautious_noise(self) -> PooledMoments:
        """Return the same estimates with noise that depends less on the few people of a class."""
        return replace(self, silos=self.silos.with_cautious_noise(), people=self.people.with_cautious_noise())

    @property
    def differences(self) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Differences of all moments between silos and people, their variances, and fourth cumulants."""
        pairs = [
            (self.silos.first, self.people.first),
            (self.silos.second, self.people.second),
            (self.silos.missing, self.people.missing),
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
    """Return the covariance of all sources of two independent estimates."""
    size, first = len(one) + len(other), len(one)
    joined = np.zeros((size, size, one.shape[-1]))
    joined[:first, :first], joined[first:, first:] = one, other
    return joined
