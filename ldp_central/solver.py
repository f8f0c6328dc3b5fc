"""Minimises a regularised convex loss plus a linear term, to a gradient that certifies the solution.

Newton's method. The Hessian of many rows is estimated from a sample of them: it only directs the steps. The
gradient is that of all rows. A fast one, by matrix products, finds the minimum; a second one, whose rounding
errors are bounded, certifies it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ldp_aggregator.arrays import FloatArray, IntArray
from ldp_aggregator.prediction.linear_model import SHARPNESS, Design, find_class_basis
from ldp_central.coded_rows import CentralError

# -- the loss ---------------------------------------------------------------------------------------


@dataclass(frozen=True)
class SoftHinge:
    """The loss ln(sum_j e^(tau (s_j - s_y + [j != y]))) / tau of a row with the label y and k class scores.

    The scores of the classes add up to zero; they have k - 1 coordinates. With two classes, the coordinate is
    the difference of both scores. A row's gradient has at most the length 1 with two classes and sqrt(2) with
    more, and its curvature is bounded by the sharpness tau, which the proof of epsilon uses.
    """

    k: int

    @property
    def scores(self) -> int:
        return self.k - 1

    @property
    def lipschitz(self) -> float:
        return SHARPNESS / (4 if self.k == 2 else 2)

    @cached_property
    def basis(self) -> FloatArray:
        """The class scores of each coordinate, (k - 1, k)."""
        return find_class_basis(self.k)

    def _exponents(self, scores: FloatArray, labels: IntArray) -> FloatArray:
        """Return tau (s_j - s_y + [j != y]) for each class and row, (k, m)."""
        exponents: FloatArray = SHARPNESS * (self.basis.T @ scores.T)
        own = labels, np.arange(len(labels))
        exponents += SHARPNESS - exponents[own]
        exponents[own] = 0
        return exponents

    def loss(self, scores: FloatArray, labels: IntArray) -> float:
        exponents = self._exponents(scores, labels)
        peak = exponents.max(axis=0)
        return float((peak + np.log(np.exp(exponents - peak).sum(axis=0))).sum()) / SHARPNESS

    def _shares(self, scores: FloatArray, labels: IntArray) -> FloatArray:
        exponents = self._exponents(scores, labels)
        weights = np.exp(exponents - exponents.max(axis=0))
        shares: FloatArray = weights / weights.sum(axis=0)
        return shares

    def residuals(self, scores: FloatArray, labels: IntArray) -> FloatArray:
        shares = self._shares(scores, labels)
        shares[labels, np.arange(len(labels))] -= 1
        return shares.T @ self.basis.T

    def curvatures(self, scores: FloatArray, labels: IntArray) -> FloatArray:
        shares = self._shares(scores, labels)
        means = shares.T @ self.basis.T
        squares = np.einsum("jm,aj,bj->mab", shares, self.basis, self.basis, optimize=True)
        curvatures: FloatArray = SHARPNESS * (squares - means[:, :, None] * means[:, None, :])
        return curvatures


# -- the solver -------------------------------------------------------------------------------------


TOLERANCE = 1e-9
"""The solver stops where ||gradient|| / lambda is at most this: the distance to the minimum is not larger."""
_MAX_STEPS = 200
_MAX_HALVINGS = 30
_SAMPLE_ROWS = 4096
_SLOW = 0.5
"""A step that leaves more of the gradient than this may have an old Hessian: it is computed again."""
_STEPS_PER_HESSIAN = 4
_MAX_HESSIANS = 4
_MAX_MATRIX_SIZE = 1 << 26
"""Up to this size the coordinates of all rows are kept as a matrix."""
_FEW_COORDINATES = 4
"""With more coordinates per feature, looking up is faster than a matrix."""
_PAIR_COORDINATES = 10
"""With more coordinates per feature than this, sums over pairs of codes are faster than matrix products."""
_MAX_PAIR_CODES = 64
_HESSIAN_WORK = 1 << 33
"""Multiplications for one Hessian, from which the number of rows of its sample follows."""


@dataclass(frozen=True)
class Objective:
    """sum_i loss(x_i W, y_i) + (ridge / 2) ||W||^2 + <linear, W>, for W of shape (columns, scores)."""

    design: Design
    columns: Sequence[IntArray]
    """Codes of the features. Sequence of (m,) arrays."""
    labels: IntArray
    """Shape (m,)."""
    loss: SoftHinge
    ridge: float
    """lambda."""
    linear: FloatArray
    """The noise b. Shape (columns, scores)."""

    def value(self, weights: FloatArray, scores: FloatArray) -> float:
        penalty = 0.5 * self.ridge * (weights**2).sum() + (self.linear * weights).sum()
        return self.loss.loss(scores, self.labels) + float(penalty)

    @cached_property
    def matrix(self) -> FloatArray | None:
        """The coordinates of all rows, (m, columns); None if looking them up is faster, or they are many."""
        many = self.design.columns > _FEW_COORDINATES * (len(self.columns) + 1)
        if many or len(self.labels) * self.design.columns > _MAX_MATRIX_SIZE:
            return None
        return self.design.matrix(self.columns, slice(None))

    def scores(self, weights: FloatArray) -> FloatArray:
        return self.design.scores(self.columns, weights)

    def gradient(self, weights: FloatArray, scores: FloatArray) -> FloatArray:
        residuals = self.loss.residuals(scores, self.labels)
        return self.design.pull_back(self.columns, residuals) + self.ridge * weights + self.linear

    def fast_scores(self, weights: FloatArray) -> FloatArray:
        return self.scores(weights) if self.matrix is None else self.matrix @ weights

    def fast_gradient(self, weights: FloatArray, scores: FloatArray) -> FloatArray:
        residuals = self.loss.residuals(scores, self.labels)
        if self.matrix is None:
            pulled = self.design.fast_pull_back(self.columns, residuals)
        else:
            pulled = self.matrix.T @ residuals
        gradient: FloatArray = pulled + self.ridge * weights + self.linear
        return gradient

    def inverse_hessian(self, scores: FloatArray) -> FloatArray:
        """Return the inverse of the Hessian, its data part scaled up from a sample of rows."""
        c, d, features = self.loss.scores, self.design.columns, len(self.columns) + 1
        few_codes = max(len(block) for block in self.design.blocks) <= _MAX_PAIR_CODES
        by_pairs = few_codes and d > _PAIR_COORDINATES * features
        work = 30 * (c * features) ** 2 if by_pairs else (c * d) ** 2
        sample = max(_SAMPLE_ROWS, _HESSIAN_WORK // work)
        rows = slice(None, None, -(-len(scores) // sample) or 1)
        curvatures = self.loss.curvatures(scores[rows], self.labels[rows])
        columns = [column[rows] for column in self.columns]
        # single precision is enough to direct the steps
        x = None if by_pairs else self.design.matrix(columns, slice(None)).astype(np.float32)
        hessian = np.empty((d, c, d, c))
        for a in range(c):
            for b in range(a + 1):
                h = curvatures[:, a, b]
                part = (
                    self.design.gram(columns, h) if x is None else x.T @ (x * h[:, None].astype(np.float32))
                )
                hessian[:, a, :, b] = hessian[:, b, :, a] = part
        flat = hessian.reshape(d * c, d * c) * (len(scores) / max(len(curvatures), 1))
        flat[np.diag_indices(d * c)] += self.ridge
        return np.asarray(np.linalg.inv(flat), dtype=np.float64)


def minimise(objective: Objective) -> FloatArray:
    """Return W with ||gradient|| at most TOLERANCE lambda; raise CentralError if there is none."""
    point = _Point.at(objective, np.zeros_like(objective.linear))
    curvature, age, hessians = _Curvature(objective.inverse_hessian(point.scores)), 0, 1
    for _ in range(_MAX_STEPS):
        if point.norm <= TOLERANCE / 2 * objective.ridge:
            point = _Point.at(objective, point.weights, certified=True)
            if point.norm <= TOLERANCE * objective.ridge:
                return point.weights
        following, age = _step(objective, point, -curvature.solve(point.gradient)), age + 1
        if following is not None:
            curvature.learn(following.weights - point.weights, following.gradient - point.gradient)
        left = 1.0 if following is None else following.norm / point.norm
        point = following or point
        if left > _SLOW and (following is None or (age >= _STEPS_PER_HESSIAN and hessians < _MAX_HESSIANS)):
            curvature = _Curvature(objective.inverse_hessian(point.scores))
            age, hessians = 0, hessians + 1
    raise CentralError(
        "the solver of the linear model did not converge; nothing is released. Use the learner tree or nb"
    )


class _Curvature:
    """An inverse Hessian that learns from the steps that were made (L-BFGS, Nocedal and Wright 2006, 7.2)."""

    def __init__(self, inverse: FloatArray) -> None:
        self._inverse = inverse
        self._pairs: list[tuple[FloatArray, FloatArray]] = []

    def learn(self, step: FloatArray, change: FloatArray) -> None:
        """Take the change of the gradient along a step into account."""
        if (step * change).sum() > 0:
            self._pairs.append((step.ravel(), change.ravel()))

    def solve(self, gradient: FloatArray) -> FloatArray:
        """Return the product of the inverse Hessian and a gradient."""
        rest, factors = gradient.ravel().copy(), []
        for step, change in reversed(self._pairs):
            factors.append((step @ rest) / (step @ change))
            rest -= factors[-1] * change
        rest = self._inverse @ rest
        for (step, change), factor in zip(self._pairs, reversed(factors), strict=True):
            rest += (factor - (change @ rest) / (step @ change)) * step
        return rest.reshape(gradient.shape)


@dataclass(frozen=True)
class _Point:
    weights: FloatArray
    scores: FloatArray
    value: float
    gradient: FloatArray

    @classmethod
    def at(cls, objective: Objective, weights: FloatArray, certified: bool = False) -> _Point:
        scores = objective.scores(weights) if certified else objective.fast_scores(weights)
        gradient = (objective.gradient if certified else objective.fast_gradient)(weights, scores)
        return cls(weights, scores, objective.value(weights, scores), gradient)

    @property
    def norm(self) -> float:
        return float(np.linalg.norm(self.gradient))


def _step(objective: Objective, point: _Point, direction: FloatArray) -> _Point | None:
    """Return a point in a direction with a smaller gradient or objective, or None if every point is worse."""
    size = 1.0
    for _ in range(_MAX_HALVINGS):
        following = _Point.at(objective, point.weights + size * direction)
        slope = size * float((point.gradient * direction).sum())
        if following.norm < 0.9 * point.norm or following.value < point.value + 1e-4 * slope:
            return following
        size /= 2
    return None
