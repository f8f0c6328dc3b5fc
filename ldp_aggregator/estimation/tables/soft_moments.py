"""Means and variances of numbers from noisy tables of soft cells.

With x = 2 t - 1 in [-1, 1] and the three Bernstein cells b0 = (1 - t)^2, b1 = 2 t (1 - t) and b2 = t^2, a row
adds x = b2 - b0 and x^2 = b0 - b1 + b2. A fourth cell counts missing numbers. First, the cells of a class are
shifted so that they add up to its pooled count.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Self

import numpy as np

from ldp_aggregator.arrays import FloatArray
from ldp_aggregator.estimation.discrete.covariance import LAPLACE_KURTOSIS
from ldp_aggregator.estimation.discrete.frequencies import UNIFORM_SHARE
from ldp_aggregator.estimation.numeric.moments import Population, Quantity
from ldp_aggregator.estimation.numeric.number import ClassMoments
from ldp_aggregator.estimation.tables.noisy_tables import ClassCounts, NoisyTable

_SOURCES = np.array([[-1.0, 0, 1, 0], [1, -1, 1, 0], [0, 0, 0, 1], [1, 1, 1, 1]])
"""Sums of x, of x^2, of missing numbers and of rows, as combinations of the cells."""


@dataclass(frozen=True)
class TableNoise:
    """The noise of the four sums of a table, before they are divided by the number of rows."""

    rows: float
    own: FloatArray
    """Covariance of the sums of one class; those of two classes are independent. Shape (4, 4)."""
    with_rows: FloatArray
    """Covariance of each sum with the number of rows. Shape (4,)."""
    of_rows: float
    """Variance of the number of rows."""
    terms: float = 1
    """Number of Laplace noises in each cell, see :class:`NoisyTable`."""

    @classmethod
    def from_table(cls, table: NoisyTable, classes: ClassCounts) -> Self:
        cells = len(table.cells)
        sources = _SOURCES[:, :cells]
        shifted = table.variance * (np.eye(cells) - 1 / cells) + classes.variance / cells**2
        return cls(
            rows=classes.rows,
            own=sources @ shifted @ sources.T,
            with_rows=sources.sum(axis=1) * classes.variance / cells,
            of_rows=classes.total_variance,
            terms=table.terms,
        )

    def covariance(self, products: FloatArray, expected: FloatArray) -> FloatArray:
        """Return the covariance of the shares of each class from noise and sampling, (4, 4, k).

        `products`, (4, 4, k), are the mean products of what a row adds to two sums, and `expected`, (4, k),
        the true shares.
        """
        signs, factors = self.factors(expected)
        covariance: FloatArray = np.einsum("f,fik,fjk->ijk", signs, factors, factors)
        covariance += self.own[:, :, None] / self.rows**2 + products / self.rows
        return covariance

    def factors(self, expected: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the signs, (3,), and factors, (3, 4, k), of the covariance that all classes share.

        With e the expected shares, g = `with_rows` and V = `of_rows`, it is
        -(e g' + g e') / rows^2 + (V / rows^2 - 1 / rows) e e'. The first term is a difference of two squares.
        """
        root = math.sqrt(self.of_rows) if self.of_rows > 0 else 1.0
        own, other = expected * root, self.with_rows[:, None] / root
        shared = self.of_rows / self.rows**2 - 1 / self.rows
        factors = np.stack(
            [
                (own + other) / (math.sqrt(2) * self.rows),
                (own - other) / (math.sqrt(2) * self.rows),
                expected * math.sqrt(abs(shared)),
            ]
        )
        return np.array([-1.0, 1.0, math.copysign(1.0, shared)]), factors


@dataclass(frozen=True, kw_only=True)
class SoftMoments(ClassMoments):
    """Raw estimates of the moments of one number, per class, from a noisy table instead of two questions."""

    sums: FloatArray
    """Shares of all rows: E[x 1(c)], E[x^2 1(c)], P(missing, c) and P(c). Shape (4, k)."""
    table_noise: TableNoise
    cautious: Population | None = None
    """The population at which the noise is evaluated; None means a likely one."""

    @classmethod
    def from_table(cls, table: NoisyTable, classes: ClassCounts) -> Self:
        cells = len(table.cells)
        shifted = table.counts + (classes.counts - table.counts.sum(axis=0)) / cells
        return cls(
            questions=(),
            prior=classes.pooled_prior,
            can_be_missing=cells == len(_SOURCES),
            sums=_SOURCES[:, :cells] @ shifted / classes.rows,
            table_noise=TableNoise.from_table(table, classes),
        )

    @property
    def n(self) -> int:
        return round(self.table_noise.rows)

    @cached_property
    def noise(self) -> FloatArray:
        return self.table_noise.covariance(*_row_moments(self._population))

    def split_noise(self) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return the noise of each class alone, without factors; see :meth:`ClassMoments.split_noise`.

        What classes have in common is proportional to their shares, and cancels in a contrast of ratios that
        are equal.
        """
        products, _ = _row_moments(self._population)
        own = self.table_noise.own[:, :, None] / self.table_noise.rows**2 + products / self.table_noise.rows
        return own, np.zeros((0, len(self.sums), self.k)), np.zeros(0)

    @cached_property
    def _population(self) -> Population:
        if self.cautious is not None:
            return self.cautious
        first, second, missing, share = self.sums
        size, noise = float(second.sum()), math.sqrt(self.table_noise.own[1, 1]) / self.table_noise.rows
        even = UNIFORM_SHARE * min(1.0, noise / size if size > 0 else 1.0)
        return Population.from_estimates(share, missing if self.can_be_missing else None, first, second, even)

    def fourth_cumulant(self, quantity: Quantity) -> FloatArray:
        """Return the fourth cumulant of a quantity's noise, (k,), as if one cell had all of it."""
        variance = quantity.variance(self.table_noise.own[:, :, None] / self.table_noise.rows**2)
        return LAPLACE_KURTOSIS / self.table_noise.terms * variance**2

    def likely_population(self) -> Population:
        return self._population

    def with_cautious_noise(self) -> SoftMoments:
        return replace(self, cautious=self._population.shrink_to_equal_classes(self.n))

    def _source(self, index: int) -> Quantity:
        return Quantity.from_source(self.sums[index], index, len(self.sums))

    @cached_property
    def class_share(self) -> Quantity:
        return self._source(3)

    @cached_property
    def first(self) -> Quantity:
        return self._source(0)

    @cached_property
    def second(self) -> Quantity:
        return self._source(1)

    @cached_property
    def missing(self) -> Quantity | None:
        return self._source(2) if self.can_be_missing else None


def _row_moments(people: Population) -> tuple[FloatArray, FloatArray]:
    """Return mean products, (4, 4, k), and means, (4, k), of a row's sums; E[x^3], E[x^4] are normal's."""
    mean = people.first / np.where(people.present > 0, people.present, 1.0)
    third = np.clip(3 * mean * people.second - 2 * mean**2 * people.first, -people.second, people.second)
    absent, zeros = people.missing, np.zeros_like(mean)
    share = people.present + absent
    products = np.array(
        [
            [people.second, third, zeros, people.first],
            [third, people.fourth, zeros, people.second],
            [zeros, zeros, absent, absent],
            [people.first, people.second, absent, share],
        ]
    )
    return products, np.stack([people.first, people.second, absent, share])
