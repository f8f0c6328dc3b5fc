"""The covariance of estimated frequencies in closed form, for reports and for tables of counts."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from math import prod
from typing import Any, Self

import numpy as np

from encoders.mechanisms.frequency_oracle import FrequencyOracle
from ldp_aggregator.arrays import FloatArray

LAPLACE_KURTOSIS = 3.0
"""The excess kurtosis of Laplace noise."""


@dataclass(frozen=True)
class Supports:
    """The joint law of what one report of a pure protocol adds to up to three counters, each 0 or 1.

    The third cumulant of a sum of frequencies follows from it. Where few reports support a value, its
    estimate is skewed, and a normal distribution does not describe it.
    """

    on: tuple[float, float, float]
    """The probabilities that the counter of the true value is 1: alone, with one, and with two others."""
    off: tuple[float, float, float]
    """The probabilities that one, two and three counters of other values are all 1."""
    n: int
    size: int = 1
    """Number of counters that are summed to one frequency."""
    weight: float = 1.0
    """The weight of this question's frequencies in the estimate."""

    @classmethod
    def from_mechanism(cls, oracle: FrequencyOracle, n: int, size: int) -> tuple[Self, ...]:
        """Return the law of a mechanism; empty if counters are not 0 or 1, as in histogram encoding."""
        p, q, d = oracle.on_mean, oracle.off_mean, oracle.domain
        if oracle.cell_range != (0, 1):
            return ()
        if not oracle.constant_sum:
            return (cls((p, p * q, p * q * q), (q, q * q, q**3), n, size),)
        # a set with the true value has `own` other members out of d - 1, and one without it `own` + 1
        own = round(p + (d - 1) * q) - 1

        def chance(members: int, positions: int) -> float:
            return prod(max(members - i, 0) / max(d - 1 - i, 1) for i in range(positions))

        on = p, p * chance(own, 1), p * chance(own, 2)
        off = [p * chance(own, i) + (1 - p) * chance(own + 1, i) for i in (1, 2, 3)]
        return (cls(on, (off[0], off[1], off[2]), n, size),)

    @property
    def step(self) -> float:
        return self.weight / (self.n * (self.on[0] - self.off[0]))

    def third_cumulant(self, weights: FloatArray, members: FloatArray, masses: FloatArray) -> FloatArray:
        """Return the third cumulant of a weighted sum of estimated frequencies.

        `weights`, `members` and `masses`, (groups, ...), are the weight of each frequency of a group, their
        number, and the true share of the group. The masses add up to 1.
        """
        (p, p_one, p_two), (q, q_two, q_three) = self.on, self.off
        counters = members * self.size
        # sums of the weights, squares and cubes of all counters but the true value's
        first, second, third = ((counters * weights**i).sum(axis=0) - weights**i for i in (1, 2, 3))
        mean = p * weights + q * first
        square = p * weights**2 + q * second + 2 * p_one * weights * first + q_two * (first**2 - second)
        cube = p * weights**3 + q * third + 3 * p_one * (weights**2 * first + weights * second)
        cube += 3 * q_two * (first * second - third) + 3 * p_two * weights * (first**2 - second)
        cube += q_three * (first**3 - 3 * first * second + 2 * third)
        mean, square, cube = ((masses * each).sum(axis=0) for each in (mean, square, cube))
        found: FloatArray = self.n * self.step**3 * (cube - 3 * mean * square + 2 * mean**3)
        return found


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
    supports: tuple[Supports, ...] = ()
    """The laws of the questions that the frequencies come from; empty if the estimates are nearly normal."""
    stated_variance: FloatArray | None = None
    """`variance` as the mechanism states it; None if it follows from the coefficients."""

    @cached_property
    def variance(self) -> FloatArray:
        """The diagonal of the covariance matrix. Shape (d,)."""
        if self.stated_variance is not None:
            return self.stated_variance
        variance = self.floor + self.shared + (self.growth + 2 * self.slope) * self.distribution
        return np.maximum(variance - self.product * self.distribution**2 + self.offsets, 0.0)

    @classmethod
    def unknown(cls, distribution: FloatArray) -> Self:
        return cls(distribution, 0, floor=math.inf, growth=0.0, shared=0.0, slope=0.0, product=0.0)

    @classmethod
    def from_mechanism(cls, mechanism: FrequencyOracle, frequencies: FloatArray, n: int) -> Self:
        if n == 0:
            return cls.unknown(frequencies)
        size = mechanism.domain // len(frequencies)
        on, off, shared, slope = (each / n for each in mechanism.sums(size))
        return cls(
            distribution=frequencies,
            n=n,
            floor=off - shared,
            growth=1 / n + on - off - 2 * slope,
            shared=shared,
            slope=slope,
            product=1 / n,
            supports=Supports.from_mechanism(mechanism, n, size),
            stated_variance=np.asarray(mechanism.variance(frequencies, size), dtype=np.float64) / n,
        )

    @property
    def step(self) -> float:
        """The largest change of an estimated frequency by one supporting report; 0 if that is not known."""
        return max((each.step for each in self.supports), default=0.0)

    @property
    def kurtosis(self) -> FloatArray:
        return excess_kurtosis(self.fourth, self.variance)

    def ratio_kurtosis(
        self, ratio: FloatArray, coefficients: Sequence[FloatArray], size: int
    ) -> FloatArray | float:
        """Return the excess kurtosis of F[a, c] - r G[c], (A, k); see `ratio_variance_coefficients`."""
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

    def contrast_moments(
        self, weights: FloatArray, members: FloatArray, masses: FloatArray
    ) -> tuple[FloatArray, FloatArray]:
        """Return the variance and the third cumulant of a weighted sum of estimated frequencies.

        `weights`, `members` and `masses`, (groups, ..., d) or (groups, ..., A, k), are those of
        :meth:`Supports.third_cumulant`. The first group is the cell that the last axes number.
        """
        total, mean = (members * weights).sum(axis=0), (masses * weights).sum(axis=0)
        variance = (weights**2 * (members * self.floor + masses * self.growth)).sum(axis=0)
        variance += self.shared * total**2 + 2 * self.slope * total * mean - self.product * mean**2
        if np.any(self.offsets):  # of levels, which have no label
            offsets = np.reshape(self.offsets, (-1, *[1] * (variance.shape[-1] == 1)))
            variance += weights[0] ** 2 * offsets
        third = np.zeros_like(variance)
        for each in self.supports:
            third += each.third_cumulant(weights, members, masses)
        return variance, third

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
        return replace(self, distribution=distribution, stated_variance=None)

    def sum_cells(self, k: int, axis: int) -> FrequencyCovariance:
        """Return the covariance of the sums over the values of each class (0), or the k classes (1)."""
        table = self.distribution.reshape(-1, k)
        cells = table.shape[axis]
        return replace(
            self.evaluate_at(table.sum(axis=axis)),
            floor=self.floor * cells,
            shared=self.shared * cells**2,
            slope=self.slope * cells,
            fourth=self.fourth * cells,
            supports=tuple(replace(each, size=each.size * cells) for each in self.supports),
        )


def weigh_covariances(
    parts: Sequence[FrequencyCovariance], weights: FloatArray, distribution: FloatArray, same_people: bool
) -> FrequencyCovariance:
    """Return the covariance of the weighted sum of several estimates with independent noise.

    If the same n people answered all questions, the sampling of people is in all: two estimates covary by
    (diag(f) - ff') / n. If they have n and m reports, it is the root of 1/(n m) instead of 1/n, at most. The
    weights of the parts add up to 1. All are evaluated at the frequencies `distribution`, (d,). Without
    `same_people`, other people of the same population answered each question.
    """

    def add(name: str, power: int = 2) -> Any:
        return sum(weight**power * getattr(each, name) for weight, each in zip(weights, parts, strict=True))

    sums = {name: add(name) for name in ("floor", "growth", "shared", "slope", "product", "offsets")}
    n = sum(each.n for each in parts)
    if same_people:
        roots = sum(weight * math.sqrt(each.product) for weight, each in zip(weights, parts, strict=True))
        n, shared = max(each.n for each in parts), float(roots**2) - sums["product"]
        sums["growth"] += shared
        sums["product"] += shared
    supports = (
        replace(law, weight=law.weight * float(weight))
        for weight, each in zip(weights, parts, strict=True)
        for law in each.supports
    )
    return FrequencyCovariance(distribution, n, **sums, fourth=add("fourth", 4), supports=tuple(supports))


def excess_kurtosis(fourth: FloatArray | float, variance: FloatArray) -> FloatArray:
    """Return the excess kurtosis from the fourth cumulant and the variance; 0 where the variance is 0."""
    kurtosis: FloatArray = fourth / np.where(variance > 0, variance, math.inf) ** 2
    return kurtosis
