"""Means and variances of numbers from noisy tables of soft cells.

With x = 2 t - 1 in [-1, 1] and the cells b0, b1, b2 of :mod:`soft_cells`, a row adds x = b2 - b0 and
x^2 = b0 - b1 + b2. First, the cells of a class are shifted so that they add up to its pooled count.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Self

import numpy as np

from ldp_aggregator.arrays import FloatArray
from ldp_aggregator.central.count_tables import ClassCounts, NoisyTable
from ldp_aggregator.estimation.class_prior import PooledPrior
from ldp_aggregator.estimation.discrete.frequencies import UNIFORM_SHARE
from ldp_aggregator.estimation.numeric.delta_method import Quantity
from ldp_aggregator.estimation.numeric.moments import Population
from ldp_aggregator.estimation.numeric.number import ClassMoments

_SOURCES = np.array([[-1.0, 0, 1, 0], [1, -1, 1, 0], [0, 0, 0, 1], [1, 1, 1, 1]])
"""Sums of x, of x^2, of missing numbers and of rows, as combinations of the cells."""


@dataclass(frozen=True)
class SoftMoments(ClassMoments):
    """Raw estimates of the moments of one number, per class, from a noisy table instead of two questions.

    Attributes
    ----------
    sums : (4, k) array
        Shares of all rows: E[x 1(c)], E[x^2 1(c)], P(missing, c) and P(c).
    covariance : (4, 4, k) array
        The covariance of `sums`, from noise and sampling.
    spread : (4, k) array
        A sample of rows has the covariance -spread[i, c] spread[j, d] between source i of a class c and
        source j of another class d.
    """

    sums: FloatArray = field(default_factory=lambda: np.zeros((4, 0)))
    covariance: FloatArray = field(default_factory=lambda: np.zeros((4, 4, 0)))
    spread: FloatArray = field(default_factory=lambda: np.zeros((4, 0)))

    @classmethod
    def from_table(cls, table: NoisyTable, classes: ClassCounts) -> Self:
        """Combine the cells of a number's table with the pooled class counts."""
        cells = len(table.cells)
        can_be_missing = cells == len(_SOURCES)
        shifted = table.counts + (classes.counts - table.counts.sum(axis=0)) / cells
        sources = _SOURCES[:, :cells]
        sums = sources @ shifted / classes.rows
        centring = np.eye(cells) - 1 / cells
        noise = table.variance * centring + classes.variance / cells**2
        noise = sources @ noise @ sources.T / classes.rows**2
        sampling, spread = _sampling_covariance(sums, noise, classes.rows, can_be_missing)
        return cls(
            mean_question=None,
            square_question=None,
            prior=PooledPrior(classes.shares, {0: 1.0}),
            can_be_missing=can_be_missing,
            sums=sums,
            covariance=noise[:, :, None] + sampling,
            spread=spread,
        )

    @property
    def class_factors(self) -> tuple[FloatArray, FloatArray]:
        """The factor of the sampling of rows; the noise of different classes is independent."""
        return self.spread[None], np.array([-1.0])

    @cached_property
    def noise(self) -> FloatArray:
        """Covariance of the sources, (4, 4, k)."""
        return self.covariance

    def _source(self, place: int) -> Quantity:
        return Quantity.from_source(self.sums[place], place, len(self.sums))

    @cached_property
    def class_share(self) -> Quantity:
        """Estimate of P(c)."""
        return self._source(3)

    @cached_property
    def first(self) -> Quantity:
        """Estimate of E[x 1(c)]."""
        return self._source(0)

    @cached_property
    def second(self) -> Quantity:
        """Estimate of E[x^2 1(c)]."""
        return self._source(1)

    @cached_property
    def missing(self) -> Quantity | None:
        """Estimate of P(missing, c); None if the number cannot be missing."""
        return self._source(2) if self.can_be_missing else None


def _sampling_covariance(
    sums: FloatArray, noise: FloatArray, rows: float, can_be_missing: bool
) -> tuple[FloatArray, FloatArray]:
    """Return the covariance of the sums over a sample of people, (4, 4, k), at a likely population.

    The second array, (4, k), is :attr:`SoftMoments.spread`. Third and fourth moments are those of normal
    distributions.
    """
    first, second, missing, share = sums
    size = float(second.sum())
    even = UNIFORM_SHARE * min(1.0, float(np.sqrt(noise[1, 1])) / size if size > 0 else 1.0)
    people = Population.from_estimates(share, missing if can_be_missing else None, first, second, even)
    mean = people.first / np.where(people.present > 0, people.present, 1.0)
    third = np.clip(3 * mean * people.second - 2 * mean**2 * people.first, -people.second, people.second)
    absent, zeros = people.missing, np.zeros_like(mean)
    expected = np.stack([people.first, people.second, absent, people.present + absent])
    products = np.array(
        [
            [people.second, third, zeros, people.first],
            [third, people.fourth, zeros, people.second],
            [zeros, zeros, absent, absent],
            [people.first, people.second, absent, people.present + absent],
        ]
    )
    spread: FloatArray = expected / np.sqrt(rows)
    return products / rows - spread[:, None] * spread[None, :], spread
