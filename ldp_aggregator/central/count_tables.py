"""Noisy tables of counts (value, label), and Naive Bayes from them.

Each feature has one table. A row adds one to one cell of each table. So the tables of F features have the L1
sensitivity F, and discrete Laplace noise of scale F / epsilon in every cell makes all of them
epsilon-differentially private. The counts of the classes are sums of these cells and cost nothing more. The
table of a number has three soft cells, see :mod:`moments`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np

from encoders.randomness import RandomSource
from encoders.survey import Feature, NumericFeature
from ldp_aggregator.arrays import FloatArray, IntArray
from ldp_aggregator.central.coded_rows import CodedRows, place_columns
from ldp_aggregator.central.noise import (
    draw_gaussian_array,
    draw_laplace_array,
    find_rho,
    laplace_variance,
)
from ldp_aggregator.central.soft_cells import SOFT_UNIT, soft_cells
from ldp_aggregator.estimation.bayes.posterior import smooth_prior
from ldp_aggregator.estimation.discrete.frequencies import UNIFORM_SHARE, FrequencyCovariance
from ldp_aggregator.estimation.discrete.negative_estimates import project_simplex
from ldp_aggregator.estimation.intervals import IntervalEstimate

_MIN_ROWS_PER_CLASS = 2


@dataclass(frozen=True)
class NoisyTable:
    """The counts of one feature's cells with noise.

    Attributes
    ----------
    cells : (A, k) int array
        Counts in parts of a row.
    unit : int
        What a row adds to the cells of its label: 1, or SOFT_UNIT for a number.
    cell_variance : float
        The variance of the noise in a cell, in parts of a row squared.
    """

    cells: IntArray
    unit: int
    cell_variance: float

    @property
    def counts(self) -> FloatArray:
        """The counts in rows, (A, k); they may be negative."""
        return self.cells / self.unit

    @property
    def variance(self) -> float:
        """The variance of the noise in a count."""
        return self.cell_variance / self.unit**2

    @property
    def total_variance(self) -> float:
        """The variance of the noise in a class count, the sum of a column."""
        return len(self.cells) * self.variance


def count_cells(feature: Feature, places: IntArray, labels: IntArray, k: int) -> tuple[IntArray, int]:
    """Return the exact table of a feature, (A, k), and its unit. It is private: add noise.

    Parameters
    ----------
    feature : Feature
    places : (m,) array
        The feature's codes, from :func:`place_columns`.
    labels : (m,) array
    k : int
    """
    if isinstance(feature, NumericFeature):
        parts = soft_cells(feature.missing == "category")
        counts = np.bincount(places * k + labels, minlength=len(parts) * k).reshape(-1, k)
        return parts.T @ counts, SOFT_UNIT
    counts = np.bincount(places * k + labels, minlength=feature.size * k).astype(np.int64, copy=False)
    return counts.reshape(-1, k), 1


def exact_tables(rows: CodedRows) -> list[tuple[IntArray, int]]:
    """Return the exact table of each feature and its unit. They are private: add noise."""
    return [
        count_cells(feature, places, rows.labels, rows.k)
        for feature, places in zip(rows.features, place_columns(rows), strict=True)
    ]


def measure_tables(
    rows: CodedRows, epsilon: Fraction, source: RandomSource, delta: Fraction = Fraction(0)
) -> list[NoisyTable]:
    """Return the noisy tables of all features; together they are (epsilon, delta)-differentially private.

    With delta 0 the noise is discrete Laplace, otherwise discrete Gaussian.
    """
    tables = exact_tables(rows)
    if not delta:
        scale = len(tables) / epsilon
        return [
            _add_noise(cells, unit, draw_laplace_array(scale * unit, cells.size, source), scale * unit)
            for cells, unit in tables
        ]
    # a row's cells in one table add up to `unit`, so they have at most this length too
    variance = len(tables) / (2 * find_rho(epsilon, delta))
    noisy = []
    for cells, unit in tables:
        noise = draw_gaussian_array(variance * unit**2, cells.size, source).reshape(cells.shape)
        noisy.append(NoisyTable(cells + noise, unit, float(variance * unit**2)))
    return noisy


def _add_noise(cells: IntArray, unit: int, noise: IntArray, scale: Fraction) -> NoisyTable:
    return NoisyTable(cells + noise.reshape(cells.shape), unit, laplace_variance(scale))


@dataclass(frozen=True)
class ClassCounts:
    """The numbers of rows per class, pooled over all tables by inverse variance.

    Attributes
    ----------
    counts : (k,) array
        Unbiased, so possibly negative.
    variance : float
        The variance of the noise in each.
    """

    counts: FloatArray
    variance: float

    @classmethod
    def from_tables(cls, tables: Sequence[NoisyTable]) -> ClassCounts:
        """Pool the column sums of tables."""
        weights = np.array([1 / table.total_variance for table in tables])
        totals = np.stack([table.counts.sum(axis=0) for table in tables])
        return cls(weights @ totals / weights.sum(), float(1 / weights.sum()))

    @property
    def rows(self) -> float:
        """The number of rows, at least two per class."""
        return max(float(self.counts.sum()), float(_MIN_ROWS_PER_CLASS * len(self.counts)))

    @property
    def shares(self) -> IntervalEstimate:
        """Raw estimates of P(label), (k,), with the standard error of noise and sampling."""
        shares = self.counts / self.rows
        likely = np.clip(shares, 0.0, 1.0)
        variance = self.variance / self.rows**2 + likely * (1 - likely) / self.rows
        return IntervalEstimate.from_stderr(shares, np.sqrt(variance))

    @cached_property
    def prior(self) -> FloatArray:
        """The posterior mean of P(label), (k,)."""
        return smooth_prior(self.shares)


@dataclass(frozen=True)
class CellFrequencies:
    """Raw frequencies of a table's cells, with their covariance.

    Attributes
    ----------
    n : int
        Number of rows.
    raw : (A k,) array
    covariance : FrequencyCovariance
    """

    n: int
    raw: FloatArray
    covariance: FrequencyCovariance

    @classmethod
    def from_table(cls, table: NoisyTable, rows: float) -> CellFrequencies:
        """Return counts / rows; noise and sampling are evaluated at likely frequencies, as for reports."""
        raw = (table.counts / rows).ravel()
        size = len(raw)
        share = UNIFORM_SHARE * min(1.0, size * float(np.sqrt(table.variance)) / rows)
        likely = (1 - share) * project_simplex(raw) + share / size
        floor, growth = table.variance / rows**2, 1 / rows
        covariance = FrequencyCovariance(
            distribution=likely,
            n=round(rows),
            variance=floor + growth * likely - likely**2 / rows,
            floor=floor,
            growth=growth,
            shared=0.0,
            slope=0.0,
        )
        return cls(round(rows), raw, covariance)

    @property
    def stderr(self) -> FloatArray:
        """Standard errors of `raw`."""
        return np.sqrt(self.covariance.variance)
