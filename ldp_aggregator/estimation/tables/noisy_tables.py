"""Frequencies and class shares from noisy tables of counts (value, label), with their errors.

Each feature has one table, and every row is counted once in each. The standard errors cover two things: the
noise in the cells, and the sampling of the rows from a population, as if each row was another person. The
number of rows N is not known either: it is the sum of the noisy counts. So with V the variance of the noise
in a class count, shares X / N have the additional error -(X / N) dN / N. A table with the noise variance v
in each of its A k cells has

    N^2 Cov(f, g) = v 1(same cell) - (f + g) V / A + k V f g.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from encoders.mechanisms.counted_table import CountTable
from ldp_aggregator.arrays import FloatArray, IntArray
from ldp_aggregator.estimation.bayes.posterior import smooth_prior
from ldp_aggregator.estimation.class_prior import ClassCovariance, PooledPrior, pool_prior
from ldp_aggregator.estimation.discrete.covariance import (
    LAPLACE_KURTOSIS,
    FrequencyCovariance,
    excess_kurtosis,
)
from ldp_aggregator.estimation.discrete.frequencies import CombinedFrequencies, find_likely_frequencies
from ldp_aggregator.estimation.intervals import IntervalEstimate, ratio_intervals

COUNT_TABLE = CountTable.name
"""The name of the mechanism that releases tables."""
TABLES = 0
"""The tables as a source of the prior, see :attr:`PooledPrior.weights`."""
_MIN_ROWS_PER_CLASS = 2


@dataclass(frozen=True)
class NoisyTable:
    cells: IntArray
    """Counts in parts of a row. Shape (A, k)."""
    unit: int
    """What a row adds to the cells of its label: 1, or SOFT_UNIT for a number."""
    cell_variance: float
    """The variance of the noise in a cell, in parts of a row squared."""
    terms: float = 1
    """Number of independent Laplace noises in each cell: the number of messages. Infinite if the noise is
    normal."""

    @property
    def counts(self) -> FloatArray:
        """The counts in rows, (A, k); they may be negative."""
        return self.cells / self.unit

    @property
    def variance(self) -> float:
        return self.cell_variance / self.unit**2

    @property
    def fourth(self) -> float:
        return LAPLACE_KURTOSIS / self.terms * self.variance**2

    @property
    def total_variance(self) -> float:
        return len(self.cells) * self.variance


@dataclass(frozen=True)
class ClassCounts:
    """The numbers of rows per class, pooled over all tables by inverse variance."""

    counts: FloatArray
    """Unbiased, so possibly negative. Shape (k,)."""
    variance: float
    """The variance of the noise in each."""
    fourth: float = 0.0
    """The fourth cumulant of this noise."""

    @classmethod
    def from_tables(cls, tables: Sequence[NoisyTable]) -> ClassCounts:
        weights = weigh_tables(tables)
        totals = np.stack([table.counts.sum(axis=0) for table in tables])
        variances = np.array([table.total_variance for table in tables])
        fourths = np.array([len(table.cells) * table.fourth for table in tables])
        return cls(
            counts=weights @ totals,
            variance=float(weights**2 @ variances),
            fourth=float(weights**4 @ fourths),
        )

    @property
    def rows(self) -> float:
        """The number of rows, at least two per class."""
        return max(float(self.counts.sum()), float(_MIN_ROWS_PER_CLASS * len(self.counts)))

    @property
    def total_variance(self) -> float:
        return len(self.counts) * self.variance

    @property
    def between(self) -> ClassCovariance:
        _, _, quadratic = self.share_variance
        return ClassCovariance(linear=-self.variance / self.rows**2, product=-quadratic)

    @property
    def share_variance(self) -> tuple[float, float, float]:
        """The coefficients c0, c1, c2 of Var(share) = c0 + c1 p + c2 p^2, with p the true share."""
        noise = self.variance / self.rows**2
        return noise, 1 / self.rows - 2 * noise, len(self.counts) * noise - 1 / self.rows

    @property
    def share_fourth(self) -> float:
        return self.fourth / self.rows**4

    @cached_property
    def shares(self) -> IntervalEstimate:
        """Raw estimates of P(label), (k,), with Wilson's intervals, see :func:`estimate_shares`."""
        return estimate_shares(self.counts / self.rows, self.rows, self.share_variance, self.share_fourth)

    @property
    def pooled_prior(self) -> PooledPrior:
        if len(self.counts) == 1:
            return pool_prior([], 1)
        return PooledPrior(self.shares, {TABLES: 1.0}, self.between)

    @cached_property
    def prior(self) -> FloatArray:
        return smooth_prior(self.shares)


def weigh_tables(tables: Sequence[NoisyTable]) -> FloatArray:
    weights: FloatArray = np.array([1 / table.total_variance for table in tables])
    weights /= weights.sum()
    return weights


def estimate_shares(
    value: FloatArray, n: float, coefficients: Sequence[float | FloatArray], fourth: float
) -> IntervalEstimate:
    """Return raw estimates of shares with Wilson's intervals, which hold for rare classes too.

    Var(share) of `value`, (k,), is c0 + c1 p + c2 p^2, with p the true share and the `coefficients` c.
    `fourth` is the fourth cumulant of the noise of a class count, divided by n^4. The standard error is
    evaluated as if each class had at least half of the n people.
    """
    least = min(0.5 / n, 0.5)
    likely = np.clip(value, least, 1 - least)
    constant, linear, quadratic = (np.broadcast_to(each, value.shape) for each in coefficients)
    variance = np.maximum(constant + linear * likely + quadratic * likely**2, 0.0)
    # a share changes by (1 - p) of its own count's noise, and by p of that of every other class
    cumulant = fourth * ((1 - likely) ** 4 + (value.size - 1) * likely**4)
    ones, kurtosis = np.ones_like(value), excess_kurtosis(cumulant, variance)
    intervals = ratio_intervals(value, ones, constant, linear, quadratic, value.size, kurtosis=kurtosis)
    return IntervalEstimate(value, np.sqrt(variance), *intervals)


def estimate_table(table: NoisyTable, classes: ClassCounts) -> CombinedFrequencies:
    """Return counts / rows, as if no features were asked together; noise is at likely frequencies."""
    rows = classes.rows
    raw = (table.counts / rows).ravel()
    floor = table.variance / rows**2
    covariance = FrequencyCovariance(
        find_likely_frequencies(raw, math.sqrt(floor)),
        round(rows),
        floor=floor,
        growth=1 / rows,
        shared=0.0,
        slope=-classes.variance / (len(table.cells) * rows**2),
        product=1 / rows - classes.total_variance / rows**2,
        fourth=table.fourth / rows**4,
    )
    return CombinedFrequencies(round(rows), raw, covariance, COUNT_TABLE, ())
