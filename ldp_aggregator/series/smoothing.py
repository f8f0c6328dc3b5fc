"""Smooths levels of several waves: a random walk, observed with noise of known variance."""

from __future__ import annotations

import numpy as np

from ldp_aggregator.arrays import FloatArray, IntArray

STEPS = np.concatenate([[0.0], np.logspace(-8, -2, 25)])
"""Variances of the walk's step from one wave to the next, as shares of the squared range. The trend is the
mean over them, weighted by their likelihood."""
_FIRST = 100.0
"""Variance of the walk's start, in the same unit: nothing is known about it."""


def smooth_levels(
    values: FloatArray, variances: FloatArray, waves: IntArray
) -> tuple[FloatArray, FloatArray]:
    """Return the smoothed levels and their variances, by Kalman's filter and the smoother of Rauch et al.

    Parameters
    ----------
    values, variances : float arrays, shape (T, ...)
        The levels in units of their range; an infinite variance means that nothing is known.
    waves : int array, shape (T,)
        The indices of the waves.
    """
    gaps = np.diff(waves, prepend=waves[:1])
    shape = (*values.shape[1:], len(STEPS))
    mean, variance, score = np.zeros(shape), np.full(shape, _FIRST), np.zeros(shape)
    filtered: list[tuple[FloatArray, FloatArray, FloatArray]] = []
    known = np.isfinite(values) & np.isfinite(variances)
    for level, precision, gap in zip(
        np.where(known, values, 0.0)[..., None],
        np.divide(1.0, variances, out=np.zeros(values.shape), where=known)[..., None],
        gaps,
        strict=True,
    ):
        before = variance + gap * STEPS
        gain, error = before * precision / (1 + before * precision), level - mean
        score -= (np.log1p(before * precision) + precision * (1 - gain) * error**2) / 2
        mean, variance = mean + gain * error, before * (1 - gain)
        filtered.append((before, mean, variance))
    found = [(mean, variance)]
    for (later, *_), (_, own, own_variance) in zip(filtered[:0:-1], filtered[-2::-1], strict=True):
        share = own_variance / later
        variance = own_variance + share**2 * (variance - later)
        mean = own + share * (mean - own)
        found.append((mean, variance))
    means, spreads = (np.stack(each) for each in zip(*found[::-1], strict=True))
    weights = np.exp(score - score.max(axis=-1, keepdims=True))
    weights /= weights.sum(axis=-1, keepdims=True)
    smoothed = (weights * means).sum(axis=-1)
    return smoothed, (weights * (spreads + (means - smoothed[..., None]) ** 2)).sum(axis=-1)
