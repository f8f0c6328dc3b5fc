"""The equations of logistic regression, whose left side reports estimate and whose right side rows compute.

Logistic regression solves b(a, c) = mu(a, c) = sum over rows of w 1{x has the value a} p_c(x). The joint
frequencies of value and class are b, and w are the weights of the rows. The sums over the classes contain no
information about the label, so the equations compare contrasts: Q' (I - pi_a 1') (b(a, .) - mu(a, .)) for
each value a, where pi_a is P(class | value a) and Q has k - 1 orthonormal columns that add up to zero. To
first order these differences do not change if the rows have another share of the value than the reports
estimate.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from ldp_aggregator.arrays import FloatArray
from ldp_aggregator.estimation.discriminative.label_moments import LabelMoments

_JITTER = 1e-6
"""Share of the mean variance that is added to each variance: frequencies with a fixed sum are dependent."""
_PRIOR_ROWS = 1e-3
"""Share of rows that P(class | value) is shrunk by towards P(class): a value may have no rows."""


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
    """How scores of rows depend on parameters: scores = design W Q' + sum over numbers of gain * offset.

    Attributes
    ----------
    design : (rows, 1 + cells) array
        A column of ones, then the indicators of the values.
    offsets : (rows, k, numbers) array
        Scores of the rows for features that have one parameter, a gain.
    """

    design: FloatArray
    offsets: FloatArray

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
class MomentEquations:
    """The equations, one for each observed cell and contrast, with the noise of their differences.

    Attributes
    ----------
    model : ScoreModel
    weights : (rows,) array
    observed : slice
        Columns of the design whose moments the reports estimate.
    class_shares : (observed, k) array
        P(class | value), at which the contrasts are taken.
    target : (observed (k - 1),) array
        The contrasts of the estimated moments.
    noise_factor : square array
        Cholesky factor of the covariance of the differences.
    """

    model: ScoreModel
    weights: FloatArray
    observed: slice
    class_shares: FloatArray
    target: FloatArray
    noise_factor: FloatArray

    @classmethod
    def at_probabilities(
        cls,
        model: ScoreModel,
        weights: FloatArray,
        moments: LabelMoments,
        observed: slice,
        probabilities: FloatArray,
        effective_rows: float,
    ) -> MomentEquations:
        """Set up the equations, with contrasts and noise evaluated at given P(class | row), (rows, k).

        The variance has two parts: that of the reports, with all covariances, and that of the rows, a sample
        of `effective_rows` people, for each equation by itself.
        """
        indicators, contrasts = model.design[:, observed], model.contrasts
        weighted = indicators.T * weights
        shares = weighted.sum(axis=1, keepdims=True)
        overall = weights @ probabilities
        class_shares = (weighted @ probabilities + _PRIOR_ROWS * overall) / (shares + _PRIOR_ROWS)
        maps = _contrast_maps(contrasts, class_shares)
        covariance = np.einsum("aic,acbd->aibd", maps, moments.covariance)
        covariance = np.einsum("aibd,bjd->aibj", covariance, maps).reshape(
            (maps.shape[0] * maps.shape[1],) * 2
        )
        # variance of the rows: within a value, p varies around P(class | value)
        centred, centre = probabilities @ contrasts, class_shares @ contrasts
        squares = weighted @ centred**2 - 2 * centre * (weighted @ centred) + shares * centre**2
        variance = np.maximum(squares, 0.0).ravel() / effective_rows
        covariance[np.diag_indices_from(covariance)] += variance
        covariance[np.diag_indices_from(covariance)] += _JITTER * np.diag(covariance).mean()
        return cls(
            model=model,
            weights=weights,
            observed=observed,
            class_shares=class_shares,
            target=np.einsum("aic,ac->ai", maps, moments.mean).ravel(),
            noise_factor=np.linalg.cholesky(covariance),
        )

    def with_moments(self, mean: FloatArray) -> MomentEquations:
        """Return the equations of other estimated moments (observed, k), with the same noise."""
        maps = _contrast_maps(self.model.contrasts, self.class_shares)
        return replace(self, target=np.einsum("aic,ac->ai", maps, mean).ravel())

    def differences(self, probabilities: FloatArray) -> FloatArray:
        """Return the differences of both sides of the equations, given P(class | row), (rows, k)."""
        moments = (self.model.design[:, self.observed].T * self.weights) @ probabilities
        maps = _contrast_maps(self.model.contrasts, self.class_shares)
        differences: FloatArray = self.target - np.einsum("aic,ac->ai", maps, moments).ravel()
        return differences

    def jacobian(self, probabilities: FloatArray) -> FloatArray:
        """Return the derivatives of the right side by the parameters, (equations, parameters)."""
        model, contrasts = self.model, self.model.contrasts
        indicators, free = model.design[:, self.observed], model.k - 1
        cells, columns = indicators.shape[1], model.design.shape[1]
        expected = probabilities @ contrasts
        result = np.empty((cells, free, columns * free + model.offsets.shape[2]))
        blocks = result[:, :, : columns * free].reshape(cells, free, columns, free)
        for one in range(free):
            for other in range(one, free):
                slopes = probabilities @ (contrasts[:, one] * contrasts[:, other])
                slopes -= expected[:, one] * expected[:, other]
                block = (indicators.T * (self.weights * slopes)) @ model.design
                blocks[:, one, :, other] = blocks[:, other, :, one] = block
        for number in range(model.offsets.shape[2]):
            offset = model.offsets[:, :, number]
            centred = offset - (probabilities * offset).sum(axis=1, keepdims=True)
            slopes = (probabilities * centred) @ contrasts
            result[:, :, columns * free + number] = (indicators.T * self.weights) @ slopes
        result[:, :, : columns * free] = blocks.reshape(cells, free, -1)
        return result.reshape(cells * free, -1)


def _contrast_maps(contrasts: FloatArray, class_shares: FloatArray) -> FloatArray:
    """Return Q' (I - pi_a 1') for each cell a; shape (cells, k - 1, k)."""
    maps: FloatArray = contrasts.T[None] - (class_shares @ contrasts)[:, :, None]
    return maps
