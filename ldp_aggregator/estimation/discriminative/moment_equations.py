"""The equations of logistic regression, whose left side reports estimate and whose right side rows compute.

Logistic regression solves b(a, c) = mu(a, c) = sum over rows of w 1{x has the value a} p_c(x). The joint
frequencies of value and class are b, and w are the weights of the rows. The sums over the classes contain no
information about the label, so the equations compare contrasts: Q' (I - pi_a 1') (b(a, .) - mu(a, .)) for
each value a, where pi_a is P(class | value a) and Q has k - 1 orthonormal columns that add up to zero. To
first order these differences do not change if the rows have another share of the value than the reports
estimate.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ldp_aggregator.arrays import FloatArray, IntArray
from ldp_aggregator.estimation.discriminative.label_moments import LabelMoments, QuestionNoise

_JITTER = 1e-6
"""Share of the mean variance that is added to each variance: frequencies with a fixed sum are dependent."""
_PRIOR_ROWS = 1e-3
"""Share of rows that P(class | value) is shrunk by towards P(class): a value may have no rows."""
_CHUNK = 4_000_000
"""Rows times classes times equations whose derivatives are computed at once."""


def class_contrasts(k: int) -> FloatArray:
    """Return k - 1 orthonormal columns, each orthogonal to the constant column; shape (k, k - 1)."""
    columns = np.triu(np.ones((k, k - 1)))
    columns[np.arange(1, k), np.arange(k - 1)] = -np.arange(1.0, k)
    contrasts: FloatArray = columns / np.sqrt((columns**2).sum(axis=0))
    return contrasts


def compute_probabilities(scores: FloatArray) -> FloatArray:
    """Return P(class | row), (rows, k), from scores: their softmax."""
    odds = np.exp(scores - scores.max(axis=1, keepdims=True))
    probabilities: FloatArray = odds / odds.sum(axis=1, keepdims=True)
    return probabilities


@dataclass(frozen=True)
class ScoreModel:
    """How scores of rows depend on parameters: scores = design W Q' + sum over numbers of gain * offset."""

    design: FloatArray
    """A column of ones, then the indicators of the values. Shape (rows, 1 + cells)."""
    offsets: FloatArray
    """Scores of the rows for features that have one parameter, a gain. Shape (rows, k, numbers)."""

    @property
    def k(self) -> int:
        """Number of classes."""
        return int(self.offsets.shape[1])

    @cached_property
    def contrasts(self) -> FloatArray:
        """The columns Q, (k, k - 1)."""
        return class_contrasts(self.k)

    def split(self, parameters: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the coefficients W (1 + cells, k - 1) and the gains (numbers,)."""
        cut = self.design.shape[1] * (self.k - 1)
        return parameters[:cut].reshape(-1, self.k - 1), parameters[cut:]

    def predict(self, parameters: FloatArray) -> FloatArray:
        """Return P(class | row), (rows, k)."""
        coefficients, gains = self.split(parameters)
        return compute_probabilities(self.design @ coefficients @ self.contrasts.T + self.offsets @ gains)


@dataclass(frozen=True)
class ContrastNoise:
    """The noise of the differences, at given P(class | value); two questions share no noise."""

    contrasts: FloatArray
    """Shape (k, k - 1)."""
    class_shares: FloatArray
    """P(class | value), at which the contrasts are taken. Shape (observed, k)."""
    parts: tuple[tuple[IntArray, FloatArray], ...]
    """The cells of a question, and the inverse Cholesky factor of the covariance of their differences."""

    @classmethod
    def at_probabilities(
        cls,
        model: ScoreModel,
        weights: FloatArray,
        moments: LabelMoments,
        observed: slice,
        probabilities: FloatArray,
        effective_rows: float,
    ) -> ContrastNoise:
        """Evaluate contrasts and noise at given P(class | row), (rows, k).

        The variance has two parts: that of the reports, with all covariances, and that of the rows, a sample
        of `effective_rows` people, for each equation by itself.
        """
        indicators, contrasts = model.design[:, observed], model.contrasts
        weighted = indicators.T * weights
        shares = weighted.sum(axis=1, keepdims=True)
        overall = weights @ probabilities
        class_shares = (weighted @ probabilities + _PRIOR_ROWS * overall) / (shares + _PRIOR_ROWS)
        # variance of the rows: within a value, p varies around P(class | value)
        centred, centre = probabilities @ contrasts, class_shares @ contrasts
        squares = weighted @ centred**2 - 2 * centre * (weighted @ centred) + shares * centre**2
        variance = np.maximum(squares, 0.0) / effective_rows
        covariances = [
            _contrast_covariance(contrasts, class_shares[part.cells], part, variance[part.cells])
            for part in moments.noise
        ]
        diagonal = np.concatenate([np.diag(each) for each in covariances])
        jitter = _JITTER * float(diagonal.mean())
        for covariance in covariances:
            covariance[np.diag_indices_from(covariance)] += jitter
        parts = zip(moments.noise, covariances, strict=True)
        return cls(
            contrasts,
            class_shares,
            tuple((part.cells, np.linalg.inv(np.linalg.cholesky(each))) for part, each in parts),
        )

    @property
    def count(self) -> int:
        """Number of equations."""
        return len(self.class_shares) * int(self.contrasts.shape[1])

    def to_moments(self, combinations: FloatArray) -> FloatArray:
        """Return combinations of the equations without noise correlations as combinations of the moments.

        Parameters
        ----------
        combinations : (equations, combinations) array
            Coefficients of the equations, multiplied by the inverse Cholesky factor of their covariance.

        Returns
        -------
        (observed, k, combinations) array
        """
        free = self.contrasts.shape[1]
        blocks = combinations.reshape(-1, free, combinations.shape[1])
        result = np.empty((*self.class_shares.shape, combinations.shape[1]))
        for cells, inverse in self.parts:
            block = blocks[cells].reshape(len(cells) * free, -1)
            result[cells] = self.contrasts @ (inverse.T @ block).reshape(len(cells), free, -1)
        result -= np.einsum("ac,acr->ar", self.class_shares, result)[:, None]
        return result

    def whiten(self, moments: FloatArray) -> FloatArray:
        """Return the differences that changes of the moments, (observed, k, changes), cause.

        This is the transpose of `to_moments`; the result has the shape (equations, changes).
        """
        free = self.contrasts.shape[1]
        changes = moments - self.class_shares[:, :, None] * moments.sum(axis=1, keepdims=True)
        contrasts = self.contrasts.T @ changes
        result = np.empty_like(contrasts)
        for cells, inverse in self.parts:
            block = contrasts[cells].reshape(len(cells) * free, -1)
            result[cells] = (inverse @ block).reshape(len(cells), free, -1)
        differences: FloatArray = result.reshape(self.count, -1)
        return differences


@dataclass(frozen=True)
class MomentEquations:
    """Combinations of the equations whose differences have uncorrelated noise of variance one."""

    model: ScoreModel
    weights: FloatArray
    """Shape (rows,)."""
    observed: slice
    """Columns of the design whose moments the reports estimate."""
    combinations: FloatArray
    """The coefficients of the moments in each equation. Shape (observed, k, equations)."""
    target: FloatArray
    """The left sides: combinations of the estimated moments. Shape (equations,)."""

    def differences(self, probabilities: FloatArray) -> FloatArray:
        """Return the differences of both sides of the equations, given P(class | row), (rows, k)."""
        return self.target - self._combine(self.sum_rows(probabilities))

    def sum_rows(self, probabilities: FloatArray) -> FloatArray:
        """Return the joint frequencies of value and class, (observed, k), given P(class | row), (rows, k)."""
        sums: FloatArray = (self.model.design[:, self.observed].T * self.weights) @ probabilities
        return sums

    def jacobian(self, probabilities: FloatArray) -> FloatArray:
        """Return the derivatives of the right side by the parameters, (equations, parameters)."""
        count = self.combinations.shape[2]
        size = max(1, _CHUNK // probabilities.size)
        chunks = (self.combinations[:, :, start : start + size] for start in range(0, count, size))
        return np.concatenate([self._differentiate(each, probabilities) for each in chunks])

    def _differentiate(self, combinations: FloatArray, probabilities: FloatArray) -> FloatArray:
        """Return the derivatives of some combinations of the moments by the parameters."""
        model, (rows, k) = self.model, probabilities.shape
        count = combinations.shape[2]
        # the derivatives by the rows' scores, (rows, k, count)
        slopes = model.design[:, self.observed] @ combinations.reshape(len(combinations), -1)
        slopes = slopes.reshape(rows, k, count)
        slopes -= np.einsum("rc,rcn->rn", probabilities, slopes)[:, None]
        slopes *= (probabilities * self.weights[:, None])[:, :, None]
        by_column = (model.design.T @ slopes.reshape(rows, -1)).reshape(-1, k, count)
        coefficients = (model.contrasts.T @ by_column).reshape(-1, count)
        gains = np.tensordot(model.offsets, slopes, ([0, 1], [0, 1]))
        return np.concatenate([coefficients, gains]).T

    def _combine(self, moments: FloatArray) -> FloatArray:
        combined: FloatArray = np.tensordot(moments, self.combinations, 2)
        return combined


def set_up_equations(
    model: ScoreModel,
    weights: FloatArray,
    mean: FloatArray,
    observed: slice,
    noise: ContrastNoise,
    combinations: FloatArray | None = None,
) -> MomentEquations:
    """Return the equations of estimated moments `mean`, (observed, k): by default all of them.

    Parameters
    ----------
    combinations : (equations, combinations) array, optional
        Orthonormal columns; the combinations of the equations without noise correlations.
    """
    kept = np.eye(noise.count) if combinations is None else combinations
    combinations = noise.to_moments(kept)
    return MomentEquations(model, weights, observed, combinations, np.tensordot(mean, combinations, 2))


def _contrast_covariance(
    contrasts: FloatArray, class_shares: FloatArray, part: QuestionNoise, variance: FloatArray
) -> FloatArray:
    """Return the covariance of a question's differences, (equations, equations); add `variance` to it."""
    # the contrasts are Q' (I - pi 1') times the moments of a cell
    maps = contrasts.T[None] - (class_shares @ contrasts)[:, :, None]
    cells, free, k = maps.shape
    half = maps @ part.covariance.reshape(cells, k, -1)
    half = half.reshape(cells * free, cells, k).transpose(1, 2, 0)
    covariance: FloatArray = (maps @ half).reshape(cells * free, cells * free)
    covariance[np.diag_indices_from(covariance)] += variance.ravel()
    return covariance
