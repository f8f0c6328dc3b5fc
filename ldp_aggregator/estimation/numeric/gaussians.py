"""Computes the normal distributions of a classifier from noisy moments, for both estimators.

Both return P(x | label) for normalised x in [-1, 1], and P(missing | label) if x can be missing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ldp_aggregator.arrays import FloatArray
from ldp_aggregator.codec import require
from ldp_aggregator.estimation.bayes.posterior import shrink
from ldp_aggregator.estimation.discrete.frequencies import replace_negatives
from ldp_aggregator.estimation.numeric.number import ClassMoments

MIN_VARIANCE = 1e-6
"""The standard deviation is 1/2000 of the number's range."""
MAX_VARIANCE = 1.0
"""The variance of a number that is -1 for half of the people and 1 for the other half."""
UNIFORM_VARIANCE = 1 / 3
"""The variance of the uniform distribution on [-1, 1]."""


def clip_variance(variance: FloatArray) -> FloatArray:
    """Clip noisy variances, which may be negative, to the possible range."""
    return np.clip(variance, MIN_VARIANCE, MAX_VARIANCE)


@dataclass(frozen=True)
class Gaussian:
    """A normal distribution per label; (k,) arrays."""

    mean: FloatArray
    variance: FloatArray
    """Mean and variance of the normalised number."""
    missing: FloatArray | None
    """P(missing | label); None if the number cannot be missing."""

    def check_entries(self) -> None:
        """Raise ValueError unless these are distributions that exclude no label."""
        shapes = {each.shape for each in vars(self).values() if each is not None}
        require(len(shapes) == 1, "mean, variance and missing: need one shape")
        require(bool(np.isfinite(self.mean).all()), "a mean is not a number")
        are_variances = bool((np.isfinite(self.variance) & (self.variance >= MIN_VARIANCE)).all())
        require(are_variances, f"a variance is less than {MIN_VARIANCE:g}")
        are_shares = self.missing is None or bool(((self.missing > 0) & (self.missing < 1)).all())
        require(are_shares, "the shares of missing values are not between 0 and 1")


def smooth_numbers(numbers: Sequence[ClassMoments], prior: FloatArray) -> list[Gaussian]:
    """Return distributions whose classes differ no more than the noise allows.

    Class means are shrunk towards their feature's centre, and class variances, relative to the pooled
    variance within classes, towards one. The posterior variance of the means is added to the variances, as
    in the predictive distribution, but the same for all classes: a class is no likelier because its mean is
    known better. At a small epsilon all classes become equal, so that the feature cannot outvote the prior;
    with many reports this is Gaussian Naive Bayes.

    Parameters
    ----------
    numbers : sequence of ClassMoments
    prior : (k,) array
        P(label), a distribution.
    """
    if not numbers:
        return []
    raw_means, mean_variance = np.stack([each.raw_mean for each in numbers], axis=1)
    raw_variances, variance_noise = np.stack([each.raw_variance for each in numbers], axis=1)
    level = _pooled_variance(raw_variances, variance_noise, prior)[:, None]
    means, mean_variance = shrink(raw_means, mean_variance, np.sqrt(level[:, 0]))
    variances = level * _variance_ratios(raw_variances / level, variance_noise / level**2, prior)
    variances = clip_variance(variances) + (mean_variance @ prior)[:, None]
    return [
        Gaussian(np.clip(mean, -1.0, 1.0), variance, _smooth_missing(number))
        for mean, variance, number in zip(means, variances, numbers, strict=True)
    ]


def _pooled_variance(variances: FloatArray, noise: FloatArray, prior: FloatArray) -> FloatArray:
    """Return each feature's pooled variance within classes; at least the standard error of this variance."""
    known = np.isfinite(variances) & np.isfinite(noise)
    weights = np.where(known, prior, 0.0)
    total = weights.sum(axis=1)
    weights /= np.where(total > 0, total, 1.0)[:, None]
    level = (weights * np.where(known, variances, 0.0)).sum(axis=1)
    error = np.sqrt((weights**2 * np.where(known, noise, 0.0)).sum(axis=1))
    level = np.where(total > 0, np.maximum(level, error), UNIFORM_VARIANCE)
    return clip_variance(level)


def _variance_ratios(ratios: FloatArray, noise: FloatArray, prior: FloatArray) -> FloatArray:
    """Return the ratios of class variances to the pooled variance; at least the standard error of a ratio.

    Only the differences between classes are taken from the shrunk ratios, not their centre: it is biased
    downwards, because small variances have small standard errors.
    """
    shrunk, variance = shrink(ratios, noise, np.ones(len(ratios)))
    shrunk += 1 - (shrunk * prior).sum(axis=1, keepdims=True)
    return np.maximum(shrunk, np.sqrt(variance))


def _smooth_missing(number: ClassMoments) -> FloatArray | None:
    """Return P(missing | label), (k,): estimated shares, with noise added so that none is near 0 or 1.

    Negative joint shares of missing and of present are set to 0. Then one standard deviation of their noise
    is added, and they are divided by their sum. Tables of discrete features are posterior means instead, see
    :mod:`posterior`. Without reports, or without a prior, all shares are 1/2.
    """
    if not number.can_be_missing:
        return None
    if number.missing is None or not number.prior.known:
        return np.full(number.k, 0.5)
    noise = np.stack([each.variance(number.noise) for each in (number.missing, number.present)])
    joint = np.maximum(np.stack([number.missing.value, number.present.value]), 0.0) + np.sqrt(noise.mean())
    share: FloatArray = joint[0] / joint.sum(axis=0)
    return share


def paper_gaussian(number: ClassMoments, counts: FloatArray) -> Gaussian:
    """Return the paper's normal distributions: mean E[x 1(c)] / P(c), variance E[x^2 | c] - mean^2.

    Yilmaz et al. 2019, section 3.2. The paper does not define what to do with a negative variance; here it is
    raised to MIN_VARIANCE. The paper does not mention missing values either: their shares are treated like
    any frequency, and negative counts become 1.

    Parameters
    ----------
    number : ClassMoments
    counts : (k,) array
        Estimated number of people of each label, positive.
    """
    people = counts.sum()
    mean_moments, square_moments = number.mean_question, number.square_question
    zeros = np.zeros(number.k)
    first, missing_share = (mean_moments.raw[0], mean_moments.raw[1]) if mean_moments else (zeros, zeros)
    missing = replace_negatives(missing_share * people) if number.can_be_missing else zeros
    present = replace_negatives(counts - missing) if number.can_be_missing else counts
    mean = first * people / present
    square = square_moments.raw[0] * people / present if square_moments else mean**2 + UNIFORM_VARIANCE
    share = missing / (missing + present) if number.can_be_missing else None
    return Gaussian(mean, np.maximum(square - mean**2, MIN_VARIANCE), share)
