"""The covariance of estimated frequencies in closed form, for reports and for tables of counts."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol, Self

import numpy as np

from encoders.mechanisms.frequency_oracle import FrequencyOracle
from encoders.survey import Feature
from ldp_aggregator.arrays import FloatArray

LAPLACE_KURTOSIS = 3.0
"""The excess kurtosis of Laplace noise."""


@dataclass(frozen=True)
class FrequencyCovariance:
    """Covariance of estimated frequencies: diag(independent) + shared 11' + slope (f1' + 1f') - product ff'.

    A report adds to each cell an amount with mean `on` at the reporter's value and `off` elsewhere.
    Given the value, two cells are independent (unary, histogram) or bound by a constant sum (direct
    encoding, subset selection), so two pair covariances describe each of our mechanisms. The same holds
    for cells that are sums of equally many counters, as for one feature of a question about several.
    """

    distribution: FloatArray
    """Frequencies at which the noise is evaluated. Shape (d,)."""
    n: int
    """Number of reports."""
    variance: FloatArray
    """The diagonal of the covariance matrix. Shape (d,)."""
    floor: float
    growth: float
    """A cell's independent variance is floor + growth f, at frequency f."""
    shared: float
    slope: float
    product: float
    """`shared`, `slope` and `product`: coefficients of the formula above. For n reports the product is
    1/n."""
    fourth: float = 0.0
    """The fourth cumulant of the noise of each cell; 0 if it is normal."""
    offsets: FloatArray | float = 0.0
    """By how much the variance of each cell differs from the formula; not 0 only for levels, which have no
    label."""

    @classmethod
    def from_coefficients(
        cls,
        distribution: FloatArray,
        n: int,
        *,
        floor: float,
        growth: float,
        shared: float,
        slope: float,
        product: float,
        fourth: float = 0.0,
        offsets: FloatArray | float = 0.0,
    ) -> Self:
        """Return the covariance at a distribution, with the diagonal that its coefficients imply."""
        variance = floor + shared + (growth + 2 * slope) * distribution - product * distribution**2 + offsets
        return cls(
            distribution=distribution,
            n=n,
            variance=np.maximum(variance, 0.0),
            floor=floor,
            growth=growth,
            shared=shared,
            slope=slope,
            product=product,
            fourth=fourth,
            offsets=offsets,
        )

    @classmethod
    def unknown(cls, distribution: FloatArray) -> Self:
        """Return the covariance of frequencies without reports."""
        infinite = np.full(distribution.shape, math.inf)
        return cls(distribution, 0, infinite, floor=math.inf, growth=0.0, shared=0.0, slope=0.0, product=0.0)

    @classmethod
    def from_mechanism(cls, mechanism: FrequencyOracle, frequencies: FloatArray, n: int) -> Self:
        """Return the covariance for n reports at true `frequencies`, each a sum of as many counters."""
        if n == 0:
            return cls.unknown(frequencies)
        size = mechanism.domain // len(frequencies)
        on, off, shared, slope = (each / n for each in mechanism.sums(size))
        return cls(
            distribution=frequencies,
            n=n,
            variance=np.asarray(mechanism.variance(frequencies, size), dtype=np.float64) / n,
            floor=off - shared,
            growth=1 / n + on - off - 2 * slope,
            shared=shared,
            slope=slope,
            product=1 / n,
        )

    @property
    def kurtosis(self) -> FloatArray:
        """The excess kurtosis of each cell's estimate, (d,)."""
        return excess_kurtosis(self.fourth, self.variance)

    def ratio_kurtosis(
        self, ratio: FloatArray, coefficients: Sequence[FloatArray], size: int
    ) -> FloatArray | float:
        """Return the excess kurtosis of F[a, c] - r G[c], (A, k), at the ratios r.

        Parameters
        ----------
        ratio : (A, k) array
        coefficients : three (A, k) or (k,) arrays
            From `ratio_variance_coefficients`.
        size : int
            The number A of values.
        """
        if not self.fourth:
            return 0.0
        r = np.clip(ratio, 0.0, 1.0)
        constant, linear, quadratic = coefficients
        variance = constant + linear * r + quadratic * r**2
        return excess_kurtosis(self.fourth * ((1 - r) ** 4 + (size - 1) * r**4), variance)

    @property
    def independent_variance(self) -> FloatArray:
        """The part of each cell's variance, (d,), that no other cell shares."""
        return self.floor + self.offsets + self.growth * self.distribution

    def cell_variance_coefficients(self) -> tuple[FloatArray | float, float, float]:
        """Return c0, c1, c2 of Var(F[a]) = c0 + c1 f + c2 f^2, with f the true frequency of the cell."""
        return self.floor + self.shared + self.offsets, self.growth + 2 * self.slope, -self.product

    def ratio_variance_coefficients(
        self, mass: FloatArray, size: int
    ) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return c0, c1, c2 of Var(F[a, c] - r G[c]) = c0 + c1 r + c2 r^2 if r is the true F[a, c] / G[c].

        `mass` is P(c), shape (k,), and `size` the number A of values. The covariances are at f = r P(c).
        """
        own = self.growth * mass
        mean = self.floor + self.shared * size
        return np.full_like(mass, self.floor + self.shared), own - 2 * mean, size * mean - own

    def class_covariances(self, k: int) -> tuple[FloatArray, FloatArray]:
        """Return Cov(F[a, c], G[c]) as (A, k) and Var(G[c]) as (k,), with G[c] = sum over a of F[a, c]."""
        cells = self.distribution.reshape(-1, k)
        own, size = self.independent_variance.reshape(-1, k), len(cells)
        if self.n == 0:
            return own, own[0]
        mass = cells.sum(axis=0)
        cell_with_class = (
            own + self.shared * size + self.slope * (size * cells + mass) - self.product * cells * mass
        )
        class_variance = (
            own.sum(axis=0) + self.shared * size**2 + 2 * self.slope * size * mass - self.product * mass**2
        )
        return cell_with_class, class_variance

    @property
    def noise_variance(self) -> FloatArray:
        """The part of each cell's variance, (d,), that is not (f - f^2) / n, the sampling of people."""
        return self.variance - self.product * (self.distribution - self.distribution**2)

    def evaluate_at(self, distribution: FloatArray) -> FrequencyCovariance:
        """Return the covariance with the same coefficients at other frequencies."""
        return self.from_coefficients(
            distribution,
            self.n,
            floor=self.floor,
            growth=self.growth,
            shared=self.shared,
            slope=self.slope,
            product=self.product,
            fourth=self.fourth,
            offsets=self.offsets,
        )

    def sum_classes(self, k: int) -> FrequencyCovariance:
        """Return the covariance of sums over the k classes: P(value) from the cells (value, label)."""
        return self.from_coefficients(
            self.distribution.reshape(-1, k).sum(axis=1),
            self.n,
            floor=self.floor * k,
            growth=self.growth,
            shared=self.shared * k**2,
            slope=self.slope * k,
            product=self.product,
            fourth=self.fourth * k,
            offsets=self.offsets,
        )

    def pool(
        self, other: FrequencyCovariance, weight: float, distribution: FloatArray, same_people: bool = False
    ) -> FrequencyCovariance:
        """Return the covariance of weight x + (1 - weight) y, of estimates x and y with independent noise.

        If the same n people answered both, the sampling of people is in both: x and y covary by
        (diag(f) - ff') / n. If they have n and m reports, it is the root of 1/(n m) instead of 1/n, at most.

        Parameters
        ----------
        other : FrequencyCovariance
            The covariance of y; this one is that of x.
        weight : float
        distribution : (d,) array
            The frequencies at which both are evaluated.
        same_people : bool
            Whether the same people answered, or other people of the same population.
        """
        names = ("floor", "growth", "shared", "slope", "product")
        mine, others = weight**2, (1 - weight) ** 2
        sums = {name: mine * getattr(self, name) + others * getattr(other, name) for name in names}
        fourth = mine**2 * self.fourth + others**2 * other.fourth
        offsets = mine * self.offsets + others * other.offsets
        n = self.n + other.n
        if same_people:
            n, sampling = max(self.n, other.n), math.sqrt(self.product * other.product)
            sums["growth"] += 2 * weight * (1 - weight) * sampling
            sums["product"] += 2 * weight * (1 - weight) * sampling
        return self.from_coefficients(distribution, n, **sums, fourth=fourth, offsets=offsets)


class TableEstimate(Protocol):
    """Raw frequencies of the cells (value, label) of one discrete feature, from any source."""

    @property
    def n(self) -> int:
        """Number of reports or rows; without any, nothing is known."""
        ...

    @property
    def raw(self) -> FloatArray:
        """Unbiased frequencies, (A k,); the cell of value a and class c is a k + c."""
        ...

    @property
    def covariance(self) -> FrequencyCovariance:
        """The covariance of `raw`."""
        ...

    @property
    def mechanism(self) -> str:
        """The names of the mechanisms, joined by " + "."""
        ...

    @property
    def asked_features(self) -> tuple[Feature, ...]:
        """The features that the same reports ask about."""
        ...


def excess_kurtosis(fourth: FloatArray | float, variance: FloatArray) -> FloatArray:
    """Return the excess kurtosis from the fourth cumulant and the variance; 0 where the variance is 0."""
    kurtosis: FloatArray = fourth / np.where(variance > 0, variance, math.inf) ** 2
    return kurtosis
