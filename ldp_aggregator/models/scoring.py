"""Naive Bayes over coded rows: one gather and one addition per feature, in log space."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]


@dataclass(frozen=True)
class Tables:
    """Logarithms of the probabilities a classifier needs.

    Attributes
    ----------
    prior : (k,) array
        log P(label).
    conditionals : sequence of (A_i, k) arrays
        log P(value | label) of each feature.
    """

    prior: FloatArray
    conditionals: tuple[FloatArray, ...]

    @classmethod
    def of(cls, prior: FloatArray, conditionals: Sequence[FloatArray]) -> Tables:
        """Take logarithms; a probability of zero becomes -inf and vetoes its label."""
        with np.errstate(divide="ignore"):
            return cls(np.log(prior), tuple(np.log(table) for table in conditionals))

    def scores(self, codes: IntArray, rows: IntArray | None = None) -> FloatArray:
        """Return log P(label) + sum over i of log P(value_i | label) (001, section 2.1).

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
        for column, table in zip(codes.T, self.conditionals, strict=True):
            scores += table.take(column if rows is None else column[rows], axis=0)
        return scores


def normalise_logs(scores: FloatArray) -> FloatArray:
    """Turn (m, k) scores into log-probabilities that add up to one; a row vetoed by all is uniform."""
    peak = scores.max(axis=1, keepdims=True)
    shifted = np.where(np.isfinite(peak), scores - np.where(np.isfinite(peak), peak, 0.0), 0.0)
    normalised: FloatArray = shifted - np.log(np.exp(shifted).sum(axis=1, keepdims=True))
    return normalised
