"""Linear models with noise in the objective, and the epsilon that they realise in one dimension."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.optimize import minimize
from scipy.special import expit

from ldp_aggregator.arrays import FloatArray
from ldp_aggregator.prediction.linear_model import SHARPNESS


@dataclass(frozen=True)
class MarginLoss:
    """A convex loss l(z) of the margin z = y w.x, its slope l'(z), and its curvature l''(z)."""

    value: Callable[[FloatArray], FloatArray]
    slope: Callable[[FloatArray], FloatArray]
    curvature: Callable[[FloatArray], FloatArray]


def huber(h: float) -> MarginLoss:
    """Return the Huber loss of a support vector machine, whose curvature is at most 1 / (2h)."""

    def value(z: FloatArray) -> FloatArray:
        return np.where(z > 1 + h, 0.0, np.where(z < 1 - h, 1 - z, (1 + h - z) ** 2 / (4 * h)))

    def slope(z: FloatArray) -> FloatArray:
        return -np.clip((1 + h - z) / (2 * h), 0.0, 1.0)

    def curvature(z: FloatArray) -> FloatArray:
        return np.where(np.abs(1 - z) <= h, 1 / (2 * h), 0.0)

    return MarginLoss(value, slope, curvature)


LOGISTIC = MarginLoss(
    value=lambda z: np.logaddexp(0.0, -z),
    slope=lambda z: -expit(-z),
    curvature=lambda z: expit(-z) * expit(z),
)
SOFT_HINGE = MarginLoss(
    value=lambda z: np.logaddexp(0.0, -SHARPNESS * (z - 1)) / SHARPNESS,
    slope=lambda z: -expit(-SHARPNESS * (z - 1)),
    curvature=lambda z: SHARPNESS * expit(-SHARPNESS * (z - 1)) * expit(SHARPNESS * (z - 1)),
)
"""The loss of this project's linear models for two classes."""


def minimise(
    x: FloatArray, signs: FloatArray, loss: MarginLoss, ridge: float, linear: FloatArray
) -> FloatArray:
    """Return w that minimises sum_i l(y_i w.x_i) + (ridge / 2) ||w||^2 + b.w.

    Parameters
    ----------
    x : (m, d) array
    signs : (m,) array
        Labels of -1 or 1.
    loss : MarginLoss
    ridge : float
    linear : (d,) array
        The noise b.
    """
    rows = x * signs[:, None]
    scale = max(len(rows), 1)

    def objective(w: FloatArray) -> tuple[float, FloatArray]:
        margins = rows @ w
        value = float(loss.value(margins).sum()) + ridge / 2 * float(w @ w) + float(linear @ w)
        gradient: FloatArray = rows.T @ loss.slope(margins) + ridge * w + linear
        return value / scale, gradient / scale

    options = {"maxiter": 300, "maxfun": 2000, "gtol": 1e-8, "ftol": 1e-14}
    found = minimize(objective, np.zeros(x.shape[1]), jac=True, method="L-BFGS-B", options=options)
    return np.asarray(found.x, dtype=np.float64)


def draw_ball(size: int, rate: float, rng: np.random.Generator) -> FloatArray:
    """Return b in R^size with density proportional to e^(-rate ||b||)."""
    direction = rng.standard_normal(size)
    return direction / np.linalg.norm(direction) * rng.gamma(size, 1 / rate)


def log_density(
    rows: Sequence[float], loss: MarginLoss, ridge: float, rate: float, weights: FloatArray
) -> FloatArray:
    """Return the exact log density of the released weight in one dimension, at each of `weights`.

    The noise b = -(sum of gradients + ridge w) is a bijection of w, so the density of w is that of b times
    |db / dw|.

    Parameters
    ----------
    rows : sequence of float
        y_i x_i of each row.
    loss, ridge, rate : the mechanism's
    weights : array
    """
    noise, jacobian = -ridge * weights, np.full_like(weights, ridge)
    for row in rows:
        noise = noise - row * loss.slope(row * weights)
        jacobian = jacobian + row**2 * loss.curvature(row * weights)
    density: FloatArray = np.log(rate / 2) - rate * np.abs(noise) + np.log(jacobian)
    return density


def realised_epsilon(
    one: Sequence[float],
    other: Sequence[float],
    loss: MarginLoss,
    ridge: float,
    rate: float,
    weights: FloatArray | None = None,
) -> float:
    """Return the largest log ratio of the densities of two neighbouring data sets on a grid of weights."""
    grid = np.linspace(-20, 20, 200_001) if weights is None else weights
    ratio = log_density(one, loss, ridge, rate, grid) - log_density(other, loss, ridge, rate, grid)
    return float(np.abs(ratio).max())
