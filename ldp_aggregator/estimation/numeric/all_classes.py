"""The moments of a number over all classes together: quantities of one class, with the sources of all."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Self

import numpy as np

from ldp_aggregator.arrays import FloatArray
from ldp_aggregator.estimation.class_prior import PooledPrior, pool_prior
from ldp_aggregator.estimation.intervals import IntervalEstimate
from ldp_aggregator.estimation.numeric.moments import Quantity
from ldp_aggregator.estimation.numeric.number import ClassMoments

_UNKNOWN = PooledPrior(IntervalEstimate.unknown((1,)), {})


@dataclass(frozen=True, kw_only=True)
class AllClasses(ClassMoments):
    """Raw estimates of the moments of one number for all people: arrays (1,) instead of (k,)."""

    by_class: ClassMoments

    @classmethod
    def from_classes(cls, by_class: ClassMoments) -> Self:
        return cls(
            questions=by_class.questions,
            prior=pool_prior([], 1) if by_class.prior.known else _UNKNOWN,
            can_be_missing=by_class.can_be_missing,
            by_class=by_class,
        )

    @cached_property
    def noise(self) -> FloatArray:
        """Covariance of the sources of all classes, (sources k, sources k, 1)."""
        own, factors, signs = self.by_class.split_noise()
        sources, k = len(own), own.shape[2]
        joined = np.zeros((sources, k, sources, k))
        for label in range(k):
            joined[:, label, :, label] = own[:, :, label]
        joined += np.einsum("f,fic,fjd->icjd", signs, factors, factors)
        return joined.reshape(sources * k, sources * k, 1)

    def _total(self, quantity: Quantity | None) -> Quantity | None:
        if quantity is None:
            return None
        return Quantity(quantity.value.sum(keepdims=True), quantity.slopes.reshape(-1, 1))

    @cached_property
    def class_share(self) -> Quantity:
        share = self.by_class.class_share
        return Quantity(share.value.sum(keepdims=True), share.slopes.reshape(-1, 1))

    @cached_property
    def first(self) -> Quantity | None:
        return self._total(self.by_class.first)

    @cached_property
    def second(self) -> Quantity | None:
        return self._total(self.by_class.second)

    @cached_property
    def missing(self) -> Quantity | None:
        return self._total(self.by_class.missing)

    @property
    def second_bias(self) -> float:
        return self.by_class.second_bias

    def fourth_cumulant(self, quantity: Quantity) -> FloatArray | float:
        k = self.by_class.k
        per_class = Quantity(np.repeat(quantity.value, k), quantity.slopes.reshape(-1, k))
        return np.atleast_1d(np.sum(self.by_class.fourth_cumulant(per_class)))
