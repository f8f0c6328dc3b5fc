"""The convex losses of linear models: the soft hinge for two classes, and its form for more.

Both are functions of a row's scores. A row's gradient has a length below `max_gradient`, and its curvature is
bounded by the sharpness tau, which the proof of epsilon uses.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ldp_aggregator.arrays import FloatArray, IntArray
from ldp_aggregator.prediction.linear_model import SHARPNESS, find_class_basis


@dataclass(frozen=True)
class SoftHinge:
    """The loss ln(1 + e^(-tau (y s - 1))) / tau of a row with the label y of -1 or 1 and the score s."""

    scores = 1
    lipschitz = SHARPNESS / 4

    def loss(self, scores: FloatArray, labels: IntArray) -> float:
        """Return the sum of the losses of m rows, given scores (m, 1)."""
        signs = 2 * labels - 1
        return float(np.logaddexp(0.0, -SHARPNESS * (signs * scores[:, 0] - 1)).sum()) / SHARPNESS

    def residuals(self, scores: FloatArray, labels: IntArray) -> FloatArray:
        """Return the derivatives with respect to the scores, (m, 1)."""
        signs = 2 * labels - 1
        slopes: FloatArray = -signs * _sigmoid(-SHARPNESS * (signs * scores[:, 0] - 1))
        return slopes.reshape(-1, 1)

    def curvatures(self, scores: FloatArray, labels: IntArray) -> FloatArray:
        """Return the second derivatives, (m, 1, 1)."""
        slope = np.abs(self.residuals(scores, labels))
        curvatures: FloatArray = SHARPNESS * slope * (1 - slope)
        return curvatures.reshape(-1, 1, 1)


@dataclass(frozen=True)
class SoftMaxHinge:
    """The loss ln(sum_j e^(tau (s_j - s_y + [j != y]))) / tau of a row with the label y and k scores.

    The scores of the classes add up to zero; they have k - 1 coordinates in an orthonormal basis.
    """

    k: int
    lipschitz = SHARPNESS / 2

    @property
    def scores(self) -> int:
        """Number of coordinates of the scores."""
        return self.k - 1

    @property
    def basis(self) -> FloatArray:
        """An orthonormal basis of the vectors that add up to zero, (k - 1, k)."""
        return find_class_basis(self.k)

    def _exponents(self, scores: FloatArray, labels: IntArray) -> FloatArray:
        exponents = SHARPNESS * (scores @ self.basis + 1)
        everyone = np.arange(len(labels))
        exponents[everyone, labels] -= SHARPNESS
        return exponents - exponents[everyone, labels][:, None]

    def loss(self, scores: FloatArray, labels: IntArray) -> float:
        """Return the sum of the losses of m rows, given scores (m, k - 1)."""
        exponents = self._exponents(scores, labels)
        peak = exponents.max(axis=1, keepdims=True)
        return float((peak[:, 0] + np.log(np.exp(exponents - peak).sum(axis=1))).sum()) / SHARPNESS

    def _shares(self, scores: FloatArray, labels: IntArray) -> FloatArray:
        exponents = self._exponents(scores, labels)
        weights = np.exp(exponents - exponents.max(axis=1, keepdims=True))
        shares: FloatArray = weights / weights.sum(axis=1, keepdims=True)
        return shares

    def residuals(self, scores: FloatArray, labels: IntArray) -> FloatArray:
        """Return the derivatives with respect to the scores, (m, k - 1)."""
        shares = self._shares(scores, labels)
        shares[np.arange(len(labels)), labels] -= 1
        return shares @ self.basis.T

    def curvatures(self, scores: FloatArray, labels: IntArray) -> FloatArray:
        """Return the second derivatives, (m, k - 1, k - 1)."""
        shares = self._shares(scores, labels)
        means = shares @ self.basis.T
        squares = np.einsum("mj,aj,bj->mab", shares, self.basis, self.basis, optimize=True)
        curvatures: FloatArray = SHARPNESS * (squares - means[:, :, None] * means[:, None, :])
        return curvatures


Loss = SoftHinge | SoftMaxHinge


def choose_loss(k: int) -> Loss:
    """Return the loss for k classes."""
    return SoftHinge() if k == 2 else SoftMaxHinge(k)


def _sigmoid(x: FloatArray) -> FloatArray:
    tail = np.exp(-np.abs(x))
    return np.where(x >= 0, 1 / (1 + tail), tail / (1 + tail))
