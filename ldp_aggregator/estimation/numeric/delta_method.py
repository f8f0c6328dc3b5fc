"""First-order propagation of errors (the delta method) through sums, products and ratios.

A quantity is a value per class and its slopes along a list of sources whose covariance is known. Sums,
products and ratios follow the rules of differentiation, so an estimate's standard error needs no formula of
its own, and the covariance of two estimates from the same sources is known.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np

from ldp_aggregator.arrays import FloatArray


@dataclass(frozen=True)
class Quantity:
    """An estimate for each of k labels, with its derivatives with respect to the raw estimates (sources)."""

    value: FloatArray
    """Shape (k,)."""
    slopes: FloatArray
    """The derivative of the value with respect to each source. Shape (sources, k)."""

    @classmethod
    def from_source(cls, value: FloatArray, index: int, sources: int) -> Self:
        """Return the quantity that equals the source with the index `index`."""
        slopes = np.zeros((sources, len(value)))
        slopes[index] = 1.0
        return cls(value, slopes)

    def __add__(self, other: Quantity) -> Quantity:
        return Quantity(self.value + other.value, self.slopes + other.slopes)

    def __sub__(self, other: Quantity) -> Quantity:
        return Quantity(self.value - other.value, self.slopes - other.slopes)

    def times(self, factor: float | FloatArray) -> Quantity:
        """Return the quantity multiplied by a constant, or by one constant per label."""
        return Quantity(self.value * factor, self.slopes * factor)

    def over(self, bottom: Quantity) -> Quantity:
        """Return the ratio to `bottom`, with d(t/b) = (dt - (t/b) db) / b; NaN unless `bottom` is above 0."""
        positive = np.where(bottom.value > 0, bottom.value, np.nan)
        ratio = self.value / positive
        return Quantity(ratio, (self.slopes - ratio * bottom.slopes) / positive)

    def covariance(self, other: Quantity, noise: FloatArray) -> FloatArray:
        """Return the (k,) covariances with `other`, given those of the sources, (sources, sources, k)."""
        covariance: FloatArray = np.einsum("ik,ijk,jk->k", self.slopes, noise, other.slopes)
        return covariance

    def variance(self, noise: FloatArray) -> FloatArray:
        """Return the (k,) variances; rounding never makes them negative."""
        return np.maximum(self.covariance(self, noise), 0.0)
