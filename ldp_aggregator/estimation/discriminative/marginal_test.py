"""Tests whether rows without labels have the values of a feature as often as the reports estimate."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import NormalDist

import numpy as np

from ldp_aggregator.arrays import FloatArray, IntArray
from ldp_aggregator.estimation.discriminative.label_moments import LabelMoments

_ROW_SHARE = 0.5
"""A share of zero is replaced by this many rows' share: its variance is not zero."""


def compute_marginal_p_values(moments: LabelMoments, codes: IntArray) -> dict[int, float]:
    """Return the p-value of each feature; it is small if rows and reports describe different populations.

    The statistic is the sum over the values of (s - m)^2 / v, with m the share of the rows, s the estimate of
    the reports and v the variance of their difference. Its distribution is that of a weighted sum of squares
    of normal variables; the weights are the eigenvalues of the correlation of the differences.

    Parameters
    ----------
    moments : LabelMoments
        Of the features whose values the rows hold.
    codes : (rows, features) int array
    """
    moments = moments.without_label_question()
    ends = np.cumsum(moments.sizes).tolist()
    shares, covariance = moments.shares, moments.share_covariance
    found = {}
    for feature, size, end in zip(moments.features, moments.sizes, ends, strict=True):
        cells = slice(end - size, end)
        observed = np.bincount(codes[:, feature], minlength=size) / len(codes)
        found[feature] = _compute_p_value(shares[cells], covariance[cells, cells], observed, len(codes))
    return found


def _compute_p_value(shares: FloatArray, covariance: FloatArray, observed: FloatArray, rows: int) -> float:
    least = _ROW_SHARE / rows
    pooled = np.clip((np.clip(shares, 0.0, 1.0) + observed) / 2, least, 1 - least)
    sampling = -np.outer(pooled, pooled)
    np.fill_diagonal(sampling, pooled * (1 - pooled))
    total = covariance + sampling / rows
    variance = np.diag(total)
    correlation = total / np.sqrt(np.outer(variance, variance))
    weights = np.maximum(np.linalg.eigvalsh(correlation), 0.0)
    return tail_of_weighted_squares(weights.tolist(), float(((shares - observed) ** 2 / variance).sum()))


def tail_of_weighted_squares(weights: Sequence[float], value: float) -> float:
    """Return P(sum of w z^2 > value) for standard normal z, approximately.

    The sum is replaced by a chi-square variable, shifted and scaled, with the same mean, variance and
    skewness (Pearson 1959). The tail of the chi-square is that of Wilson and Hilferty (1931).
    """
    first, second, third = (sum(weight**power for weight in weights) for power in (1, 2, 3))
    freedom = second**3 / third**2
    quantile = freedom + (value - first) * (freedom / second) ** 0.5
    if quantile <= 0:
        return 1.0
    spread = 2 / (9 * freedom)
    return NormalDist().cdf(-((quantile / freedom) ** (1 / 3) - 1 + spread) / spread**0.5)
