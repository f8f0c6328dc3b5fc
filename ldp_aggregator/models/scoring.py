"""Naive Bayes over coded rows in log space: per feature a look-up in a table, or a normal density."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from encoders.survey.numeric_features import GRID
from ldp_aggregator.arrays import FloatArray, IntArray
from ldp_aggregator.estimation import Conditional, Gaussian


@dataclass(frozen=True)
class TableColumn:
    """A discrete feature.

    Attributes
    ----------
    logs : (A, k) array
        log P(value | label).
    """

    logs: FloatArray

    def add_to(self, scores: FloatArray, codes: IntArray) -> None:
        """Add log P(value | label) to the scores (m, k) of rows with the given codes (m,)."""
        scores += self.logs.take(codes, axis=0)


@dataclass(frozen=True)
class GaussianColumn:
    """A numeric feature: the code u stands for x = (u - GRID) / GRID, and 2 GRID + 1 for missing.

    Attributes
    ----------
    mean, precision : (k,) arrays
        Of x; the precision is one over the variance.
    height : (k,) array
        log P(present | label) - log(2 pi variance)/2: the log-density at the mean.
    missing : (k,) array or None
        log P(missing | label); None if it cannot be missing.
    """

    mean: FloatArray
    precision: FloatArray
    height: FloatArray
    missing: FloatArray | None

    @classmethod
    def of(cls, gaussian: Gaussian) -> GaussianColumn:
        """Prepare a normal distribution per label."""
        height = -0.5 * np.log(2 * np.pi * gaussian.variance)
        if gaussian.missing is None:
            return cls(gaussian.mean, 1 / gaussian.variance, height, None)
        return cls(
            gaussian.mean,
            1 / gaussian.variance,
            height + np.log1p(-gaussian.missing),
            np.log(gaussian.missing),
        )

    def add_to(self, scores: FloatArray, codes: IntArray) -> None:
        """Add the log-density of x, or log P(missing | label), to the scores (m, k) of m rows."""
        off = ((codes - GRID) / GRID)[:, None] - self.mean
        found = self.height - 0.5 * self.precision * off**2
        if self.missing is not None:
            found[codes > 2 * GRID] = self.missing
        scores += found


@dataclass(frozen=True)
class Tables:
    """Logarithms of the probabilities and densities a classifier needs.

    Attributes
    ----------
    prior : (k,) array
        log P(label).
    columns : tuple of (TableColumn or GaussianColumn)
        One per feature.
    """

    prior: FloatArray
    columns: tuple[TableColumn | GaussianColumn, ...]

    @classmethod
    def of(cls, prior: FloatArray, conditionals: Sequence[Conditional]) -> Tables:
        """Take logarithms; a probability of zero becomes -inf and vetoes its label."""
        with np.errstate(divide="ignore"):
            return cls(np.log(prior), tuple(_column(each) for each in conditionals))

    def scores(self, codes: IntArray, rows: IntArray | None = None) -> FloatArray:
        """Return log P(label) + sum over i of log P(value_i | label) (Yilmaz et al. 2019, section 2.1).

        Parameters
        ----------
        codes : (m, n) int array
            Coded rows.
        rows : int array, optional
            Score only these.

        Returns
        -------
        (m, k) array
            Equal to log P(label | row) up to a constant of the row.
        """
        scores = np.repeat(self.prior[None, :], len(codes) if rows is None else len(rows), axis=0)
        for codes_of_one, column in zip(codes.T, self.columns, strict=True):
            column.add_to(scores, codes_of_one if rows is None else codes_of_one[rows])
        return scores


def _column(conditional: Conditional) -> TableColumn | GaussianColumn:
    if isinstance(conditional, Gaussian):
        return GaussianColumn.of(conditional)
    return TableColumn(np.log(conditional))


def normalise_logs(scores: FloatArray) -> FloatArray:
    """Turn (m, k) scores into log-probabilities that add up to one; a row vetoed by all is uniform."""
    peak = scores.max(axis=1, keepdims=True)
    shifted = np.where(np.isfinite(peak), scores - np.where(np.isfinite(peak), peak, 0.0), 0.0)
    normalised: FloatArray = shifted - np.log(np.exp(shifted).sum(axis=1, keepdims=True))
    return normalised
