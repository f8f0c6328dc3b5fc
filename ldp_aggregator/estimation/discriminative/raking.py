"""Weights rows without labels, so that their values are as frequent as the reports estimate (raking)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ldp_aggregator.arrays import FloatArray

_NEWTON_STEPS = 50
_SHIFT_STEPS = 20
_TOLERANCE = 1e-9
_RIDGE = 1e-9
"""Added to the curvature; the values of a feature add up to one, so without noise it is singular."""
_ROW_SHARE = 0.5
"""An estimated share of zero is replaced by this many rows' share; rows do not prove that nobody has it."""


@dataclass(frozen=True)
class RakedRows:
    """Weighted rows."""

    weights: FloatArray
    """Above zero; they add up to one. Shape (rows,)."""
    chi_squares: FloatArray
    """Squared differences between the rows' shares and the reports' estimates, before raking, in units of
    their variance, averaged over the values of each feature. About 1 if both describe one population.
    Shape (features,)."""
    shift: float
    """How much more than samples of one population the rows and the reports differ: the variance of a
    share m beyond its errors is shift m (1 - m)."""
    effective_rows: float
    """The number of rows of a random sample that would differ as much: 1 / (1 / rows + shift)."""


def rake(
    indicators: FloatArray, shares: FloatArray, covariance: FloatArray, sizes: Sequence[int]
) -> RakedRows:
    """Weight rows by exp(lambda . x), as close to the estimated shares as their errors support.

    The weights w minimise  N KL(w | equal) + (s - m)' V^-1 (s - m) / 2, where m = sum of w x are the weighted
    shares, s the estimated ones, V their covariance and N the number of rows. If the shares differ by more
    than both errors, the rows come from another population: N is then replaced by the number of rows of a
    random sample that would differ as much.

    Parameters
    ----------
    indicators : (rows, cells) array
        1 where a row has the value of the cell, otherwise 0.
    shares, covariance : (cells,) and (cells, cells) arrays
        Estimates of the shares and their covariance.
    sizes : sequence of int
        Numbers of cells of the features, which are adjacent.
    """
    rows = len(indicators)
    observed, variance = indicators.mean(axis=0), np.diag(covariance)
    spread = _bernoulli_variance(shares, observed, rows)
    squares = (shares - observed) ** 2
    shift = _estimate_shift(squares, variance + spread / rows, spread)
    effective = 1 / (1 / rows + shift)
    starts = np.cumsum([0, *sizes])[:-1].astype(np.int64)
    ratios = squares / (variance + spread / rows)
    return RakedRows(
        weights=_tilt(indicators, shares, covariance, effective),
        chi_squares=np.add.reduceat(ratios, starts) / sizes,
        shift=shift,
        effective_rows=effective,
    )


def _bernoulli_variance(shares: FloatArray, observed: FloatArray, rows: int) -> FloatArray:
    """Return m (1 - m) at the mean of both estimates of m, never zero."""
    least = _ROW_SHARE / rows
    share = np.clip((np.clip(shares, 0.0, 1.0) + observed) / 2, least, 1 - least)
    variance: FloatArray = share * (1 - share)
    return variance


def _estimate_shift(squares: FloatArray, errors: FloatArray, spread: FloatArray) -> float:
    """Return the shift t >= 0 with E[squares] = errors + t spread, by iterated weighted moments."""
    shift = 0.0
    for _ in range(_SHIFT_STEPS):
        weights = spread / (errors + shift * spread) ** 2
        shift = max(float(weights @ (squares - errors) / (weights @ spread)), 0.0) if len(squares) else 0.0
    return shift


def _tilt(indicators: FloatArray, shares: FloatArray, covariance: FloatArray, rows: float) -> FloatArray:
    """Return the weights exp(lambda . x), normalised, by Newton's method on the convex dual problem."""
    cells = len(shares)
    slopes = np.zeros(cells)

    def dual(slopes: FloatArray) -> tuple[float, FloatArray]:
        scores = indicators @ slopes
        peak = scores.max()
        odds = np.exp(scores - peak)
        value = np.log(odds.mean()) + peak - slopes @ shares + rows / 2 * slopes @ covariance @ slopes
        return float(value), odds / odds.sum()

    value, weights = dual(slopes)
    for _ in range(_NEWTON_STEPS):
        weighted = indicators.T * weights
        means = weighted.sum(axis=1)
        gradient = means - shares + rows * covariance @ slopes
        curvature = weighted @ indicators - np.outer(means, means) + rows * covariance
        ridge = _RIDGE * (1 + np.diag(curvature).mean()) * np.eye(cells)
        step = np.linalg.solve(curvature + ridge, gradient)
        decrease, length = float(gradient @ step), 1.0
        if decrease < _TOLERANCE:
            break
        new_value, new_weights = dual(slopes - step)
        while new_value > value - 1e-4 * length * decrease and length > _TOLERANCE:
            length /= 2
            new_value, new_weights = dual(slopes - length * step)
        slopes, value, weights = slopes - length * step, new_value, new_weights
    return weights
