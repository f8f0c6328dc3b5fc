"""From a number's noisy moments to the normal distributions a classifier uses: two recipes.

Both return P(x | label) for normalised x in [-1, 1], and P(missing | label) where it can be.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ldp_aggregator.arrays import FloatArray
from ldp_aggregator.estimation.bayes.shrinkage import shrink
from ldp_aggregator.estimation.discrete.negative_estimates import replace_negatives
from ldp_aggregator.estimation.numeric.number import Number

MIN_VARIANCE = 1e-6
"""Least variance of a normalised number: a standard deviation of a two-thousandth of its range."""
_MAX_VARIANCE = 1.0
_EVEN_VARIANCE = 1 / 3


@dataclass(frozen=True)
class Gaussian:
    """A normal distribution per label; (k,) arrays.

    Attributes
    ----------
    mean, variance : arrays
        Of the normalised number.
    missing : array or None
        P(missing | label); None if it cannot be missing.
    """

    mean: FloatArray
    variance: FloatArray
    missing: FloatArray | None


def smooth_numbers(numbers: Sequence[Number], prior: FloatArray) -> list[Gaussian]:
    """Return distributions that tell classes apart no further than the noise allows.

    Class means are shrunk towards their feature's centre, and class variances, relative to the pooled
    variance within classes, towards one. What uncertainty of the means is left is added to the variances,
    as the predictive distribution has it, but the same to all: a label is no likelier for being known
    better. At small budgets all classes become alike, so that the feature cannot outvote the prior; with
    many reports this is Gaussian Naive Bayes.

    Parameters
    ----------
    numbers : sequence of Number
    prior : (k,) array
        P(label), consistent.
    """
    if not numbers:
        return []
    raw_means, mean_noise = np.stack([each.raw_mean for each in numbers], axis=1)
    raw_variances, variance_noise = np.stack([each.raw_variance for each in numbers], axis=1)
    level = _within(raw_variances, variance_noise, prior)[:, None]
    means, doubt = shrink(raw_means, mean_noise, np.sqrt(level[:, 0]))
    variances = level * _ratios(raw_variances / level, variance_noise / level**2, prior)
    variances = np.clip(variances, MIN_VARIANCE, _MAX_VARIANCE) + (doubt @ prior)[:, None]
    return [
        Gaussian(np.clip(mean, -1.0, 1.0), variance, _smooth_missing(number))
        for mean, variance, number in zip(means, variances, numbers, strict=True)
    ]


def _within(variances: FloatArray, noise: FloatArray, prior: FloatArray) -> FloatArray:
    """Return each feature's variance within classes, pooled; at least its own standard error."""
    known = np.isfinite(variances) & np.isfinite(noise)
    weights = np.where(known, prior, 0.0)
    total = weights.sum(axis=1)
    weights /= np.where(total > 0, total, 1.0)[:, None]
    level = (weights * np.where(known, variances, 0.0)).sum(axis=1)
    error = np.sqrt((weights**2 * np.where(known, noise, 0.0)).sum(axis=1))
    level = np.where(total > 0, np.maximum(level, error), _EVEN_VARIANCE)
    return np.clip(level, MIN_VARIANCE, _MAX_VARIANCE)


def _ratios(ratios: FloatArray, noise: FloatArray, prior: FloatArray) -> FloatArray:
    """Return how class variances compare with the pooled one; at least the comparison's own error.

    Only the differences between classes are taken from the shrunk ratios: small variances are estimated
    with small errors, which draws their centre down.
    """
    shrunk, doubt = shrink(ratios, noise, np.ones(len(ratios)))
    shrunk += 1 - (shrunk * prior).sum(axis=1, keepdims=True)
    return np.maximum(shrunk, np.sqrt(doubt))


def _smooth_missing(number: Number) -> FloatArray | None:
    """Return P(missing | label), (k,): the estimated shares with noise added so that none is near 0 or 1.

    To the joint shares of missing and of present, raised to 0 where negative, one standard deviation of their
    noise is added before they are divided by their sum. Tables of discrete features are made in another way:
    by their posterior means, see :mod:`posterior`. Without reports, or without a prior, all shares are 1/2.
    """
    if not number.can_be_missing:
        return None
    if number.missing is None or not number.prior.known:
        return np.full(number.labels, 0.5)
    noise = np.stack([each.variance(number.noise) for each in (number.missing, number.present)])
    joint = np.maximum(np.stack([number.missing.value, number.present.value]), 0.0) + np.sqrt(noise.mean())
    share: FloatArray = joint[0] / joint.sum(axis=0)
    return share


def paper_number(number: Number, counts: FloatArray) -> Gaussian:
    """Return the observed mean divided by P(label), and E[x^2] less the mean's square.

    Yilmaz et al. 2019, section 3.2. The paper does not say what to do about a negative variance; it is raised
    to MIN_VARIANCE. It does not mention missing values either: their shares are treated as any frequency,
    negative counts set to 1.

    Parameters
    ----------
    number : Number
    counts : (k,) array
        Estimated number of people of each label, positive.
    """
    people = counts.sum()
    mean_heard, square_heard = number.mean_question, number.square_question
    zeros = np.zeros(number.labels)
    first, gone = (mean_heard.raw[0], mean_heard.raw[1]) if mean_heard else (zeros, zeros)
    missing = replace_negatives(gone * people) if number.can_be_missing else zeros
    present = replace_negatives(counts - missing) if number.can_be_missing else counts
    mean = first * people / present
    square = square_heard.raw[0] * people / present if square_heard else mean**2 + _EVEN_VARIANCE
    share = missing / (missing + present) if number.can_be_missing else None
    return Gaussian(mean, np.maximum(square - mean**2, MIN_VARIANCE), share)
