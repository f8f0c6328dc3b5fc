"""Means and variances of a number, pooled from tables of silos and from the questions of people."""

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
    """Raw estimates of the moments of one number, per class; sources are those of silos, then of people.

    Attributes
    ----------
    silos : SoftMoments
    people : ClassMoments
        With their own prior, which is known.
    weight : float
        The weight of the silos in the pooled prior.
    """

    silos: SoftMoments
    people: ClassMoments
    weight: float

    @classmethod
    def from_estimates(
        cls, silos: SoftMoments, people: ClassMoments, prior: PooledPrior, weight: float
    ) -> Self:
        """Pool the moments; `prior` is the pooled prior, in which the silos have `weight`."""
        return cls(
            mean_question=None,
            square_question=None,
            prior=prior,
            can_be_missing=silos.can_be_missing,
            silos=silos,
            people=people,
            weight=weight,
        )

    @cached_property
    def noise(self) -> FloatArray:
        """Covariance of the sources; those of silos and of people are independent."""
        mine, others = self.silos.noise, self.people.noise
        size = len(mine) + len(others)
        noise = np.zeros((size, size, self.k))
        noise[:_SILO_SOURCES, :_SILO_SOURCES], noise[_SILO_SOURCES:, _SILO_SOURCES:] = mine, others
        return noise

    def class_factors(self) -> tuple[FloatArray, FloatArray]:
        """Return the factors of both, see :meth:`ClassMoments.class_factors`."""
        mine, signs = self.silos.class_factors()
        others, other_signs = self.people.class_factors()
        factors = np.zeros((len(mine) + len(others), len(self.noise), self.k))
        factors[: len(mine), :_SILO_SOURCES], factors[len(mine) :, _SILO_SOURCES:] = mine, others
        return factors, np.concatenate([signs, other_signs])

    def _lift(self, quantity: Quantity, first: int) -> Quantity:
        """Return a quantity of the silos (first 0) or of the people (first 4) with slopes of all sources."""
        slopes = np.zeros((len(self.noise), self.k))
        slopes[first : first + len(quantity.slopes)] = quantity.slopes
        return Quantity(quantity.value, slopes)

    def _pool(self, silos: Quantity, people: Quantity | None, weight: float | None = None) -> Quantity:
        """Return the mean weighted by the inverse of the mean variances, or with the given weight."""
        mine = self._lift(silos, 0)
        if people is None:
            return mine
        others = self._lift(people, _SILO_SOURCES)
        if weight is None:
            variances = [float(each.variance(self.noise).mean()) for each in (mine, others)]
            weight = variances[1] / sum(variances)
        return mine.times(weight) + others.times(1 - weight)

    @cached_property
    def class_share(self) -> Quantity:
        """The pooled prior P(c)."""
        return self._pool(self.silos.class_share, self.people.class_share, self.weight)

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
