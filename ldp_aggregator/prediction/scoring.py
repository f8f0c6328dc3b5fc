"""Naive Bayes scores of coded rows, in log space: each feature is a table or a normal density."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from encoders.survey.features import GRID
from ldp_aggregator.arrays import BoolArray, FloatArray, IntArray
from ldp_aggregator.estimation import ClassConditional, Gaussian


@dataclass(frozen=True)
class DiscreteLikelihood:
    log_table: FloatArray
    """log P(value | label). Shape (A, k)."""

    def add_to(self, scores: FloatArray, codes: IntArray) -> None:
        """Add log P(value | label) to the scores (k, m) of rows with the given codes (m,)."""
        scores += self.log_table.T.take(codes, axis=1)


@dataclass(frozen=True)
class GaussianLikelihood:
    """The likelihoods of a numeric feature: code u is x = (u - GRID) / GRID, and 2 GRID + 1 is missing."""

    mean: FloatArray
    precision: FloatArray
    """Mean and precision of x; the precision is one over the variance. Shape (k,)."""
    log_peak: FloatArray
    """log P(present | label) - log(2 pi variance)/2: the log-density at the mean. Shape (k,)."""
    log_missing: FloatArray | None
    """log P(missing | label); None if the number cannot be missing. Shape (k,)."""

    @classmethod
    def from_gaussian(cls, gaussian: Gaussian) -> GaussianLikelihood:
        log_peak = -0.5 * np.log(2 * np.pi * gaussian.variance)
        log_missing = None
        if gaussian.missing is not None:
            log_peak = log_peak + np.log1p(-gaussian.missing)
            log_missing = np.log(gaussian.missing)
        return cls(gaussian.mean, 1 / gaussian.variance, log_peak, log_missing)

    def add_to(self, scores: FloatArray, codes: IntArray) -> None:
        """Add the log-density of x, or log P(missing | label), to the scores (k, m) of m rows."""
        deviations = (codes - GRID) / GRID - self.mean[:, None]
        log_likelihoods = self.log_peak[:, None] - 0.5 * self.precision[:, None] * deviations**2
        if self.log_missing is not None:
            log_likelihoods[:, codes > 2 * GRID] = self.log_missing[:, None]
        scores += log_likelihoods


Likelihood = DiscreteLikelihood | GaussianLikelihood


@dataclass(frozen=True)
class LogProbabilities:
    """Logarithms of the probabilities and densities a classifier needs."""

    prior: FloatArray
    """log P(label). Shape (k,)."""
    likelihoods: tuple[Likelihood, ...]
    """One per feature."""

    @classmethod
    def from_probabilities(
        cls, prior: FloatArray, conditionals: Sequence[ClassConditional]
    ) -> LogProbabilities:
        """Take logarithms; a probability of zero becomes -inf and so excludes its label."""
        with np.errstate(divide="ignore"):
            likelihoods = tuple(
                GaussianLikelihood.from_gaussian(conditional)
                if isinstance(conditional, Gaussian)
                else DiscreteLikelihood(np.log(conditional))
                for conditional in conditionals
            )
            return cls(np.log(prior), likelihoods)

    def compute_scores(
        self, codes: IntArray, rows: IntArray | None = None, unknown: BoolArray | None = None
    ) -> FloatArray:
        """Return log P(label) + sum over i of log P(value_i | label) (Yilmaz et al. 2019, section 2.1).

        `codes` and `unknown` have the shape (m, n); `rows` are the indices of the rows to score, by default
        all. Values that are `unknown` are left out of the score of their row. The scores, (m, k), equal log
        P(label | row) up to a constant of the row.
        """
        # labels come first, because numpy's loops are fast if the last axis is long
        scores = np.repeat(self.prior[:, None], len(codes) if rows is None else len(rows), axis=1)
        for index, (column, likelihood) in enumerate(zip(codes.T, self.likelihoods, strict=True)):
            feature_codes = column if rows is None else column[rows]
            if unknown is None or not unknown[:, index].any():
                likelihood.add_to(scores, feature_codes)
                continue
            known = ~unknown[:, index]
            known_scores = scores[:, known]
            likelihood.add_to(known_scores, feature_codes[known])
            scores[:, known] = known_scores
        return np.ascontiguousarray(scores.T)


def normalise_log_scores(scores: FloatArray) -> FloatArray:
    """Return log-probabilities (m, k) from scores; a row whose labels are all excluded becomes uniform."""
    peak = scores.max(axis=1, keepdims=True)
    shifted = np.where(np.isfinite(peak), scores - np.where(np.isfinite(peak), peak, 0.0), 0.0)
    normalised: FloatArray = shifted - np.log(np.exp(shifted).sum(axis=1, keepdims=True))
    return normalised


def reorder_labels(conditional: ClassConditional, order: NDArray[np.intp]) -> ClassConditional:
    if isinstance(conditional, Gaussian):
        missing = None if conditional.missing is None else conditional.missing[order]
        return Gaussian(conditional.mean[order], conditional.variance[order], missing)
    return conditional[:, order]
