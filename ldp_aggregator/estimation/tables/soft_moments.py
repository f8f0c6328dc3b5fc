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

from encoders.mechanisms.counted_table import laplace_variance
from encoders.survey import Feature, NumericFeature
from encoders.survey.silo_plan import SiloPlan
from ldp_aggregator.arrays import FloatArray
from ldp_aggregator.estimation.class_prior import PooledPrior, pool_prior
from ldp_aggregator.estimation.discrete.covariance import LAPLACE_KURTOSIS, FrequencyCovariance
from ldp_aggregator.estimation.discrete.frequencies import UNIFORM_SHARE, CombinedFrequencies, TableEstimate
from ldp_aggregator.estimation.numeric.moments import ABSENT, Population, Quantity
from ldp_aggregator.estimation.numeric.number import ClassMoments
from ldp_aggregator.estimation.tables.noisy_tables import COUNT_TABLE, ClassCounts, NoisyTable, estimate_table
from ldp_aggregator.snapshot import SiloSnapshot

_SOURCES = np.array([[-1.0, 0, 1, 0], [1, -1, 1, 0], [0, 0, 0, 1], [1, 1, 1, 1]])
"""Sums of x, of x^2, of missing numbers and of rows, as combinations of the cells."""
_POWERS = (1, 2, ABSENT)


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

    @cached_property
    def class_share(self) -> Quantity:
        return Quantity.from_source(self.sums[3], 3, len(self.sums))

    def find_sum(self, power: int) -> Quantity | None:
        if power == ABSENT and not self.can_be_missing:
            return None
        index = _POWERS.index(power)
        return Quantity.from_source(self.sums[index], index, len(self.sums))


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


_SILO_SOURCES = 4


@dataclass(frozen=True, kw_only=True)
class PooledMoments(ClassMoments):
    """Raw estimates of the moments of one number, per class; sources are those of silos, then of others.

    All moments have the same weights, so errors that a sum and its share have in common cancel.
    """

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
        assert silos.first is not None
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

    def _pool(self, silos: Quantity, others: Quantity) -> Quantity:
        mine, theirs = self._lift(silos, 0), self._lift(others, _SILO_SOURCES)
        return mine.times(self.weight) + theirs.times(1 - self.weight)

    @cached_property
    def class_share(self) -> Quantity:
        return self._pool(self.silos.class_share, self.others.class_share)

    def find_sum(self, power: int) -> Quantity | None:
        mine, other = self.silos.find_sum(power), self.others.find_sum(power)
        return None if mine is None or other is None else self._pool(mine, other)

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
        pairs = ((self.silos.find_sum(power), self.others.find_sum(power)) for power in _POWERS)
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


@dataclass(frozen=True)
class SiloTables:
    snapshot: SiloSnapshot
    """The sums of all messages."""
    tables: tuple[NoisyTable, ...]
    """One per feature. Each cell has the noise of all messages."""

    @classmethod
    def from_snapshot(cls, snapshot: SiloSnapshot) -> Self:
        messages, cells = snapshot.messages, snapshot.cells
        tables = [
            NoisyTable(
                cells=cells[table.start : table.end].reshape(table.values, table.labels),
                unit=table.unit,
                cell_variance=messages * laplace_variance(table.scale),
                terms=messages,
            )
            for table in snapshot.plan.mechanism.tables
        ]
        return cls(snapshot, tuple(tables))

    @property
    def plan(self) -> SiloPlan:
        return self.snapshot.plan

    @property
    def messages(self) -> int:
        return self.snapshot.messages

    @property
    def k(self) -> int:
        return len(self.plan.label.values)

    @cached_property
    def classes(self) -> ClassCounts | None:
        return ClassCounts.from_tables(self.tables) if self.messages else None

    @property
    def n(self) -> int:
        return round(self.classes.rows) if self.classes else 0

    @property
    def prior(self) -> PooledPrior:
        if self.classes:
            return self.classes.pooled_prior
        return pool_prior([], self.k)

    def estimate_features(self) -> list[TableEstimate | ClassMoments]:
        return list(map(self._estimate_feature, self.tables, self.plan.features))

    def _estimate_feature(self, table: NoisyTable, feature: Feature) -> TableEstimate | ClassMoments:
        is_number = isinstance(feature, NumericFeature)
        if self.classes:
            estimate = SoftMoments.from_table if is_number else estimate_table
            return estimate(table, self.classes)
        if is_number:
            return ClassMoments((), self.prior, feature.missing == "category")
        size = table.cells.size
        covariance = FrequencyCovariance.unknown(np.full(size, 1 / size))
        return CombinedFrequencies(0, np.full(size, math.nan), covariance, COUNT_TABLE, ())
