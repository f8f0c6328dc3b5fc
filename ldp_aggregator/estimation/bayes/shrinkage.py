"""Hierarchical shrinkage of class means, with scales learned from all features.

With two classes, one feature has only one difference between them, which is not enough to separate signal
from noise. Many features show how large such differences usually are.
"""

from __future__ import annotations

import numpy as np

from ldp_aggregator.arrays import FloatArray

SCALES = (0.0, 0.1, 0.2, 0.4, 0.8, 1.6)
"""Standard deviations of the classes of one feature around its centre, in the feature's own unit."""
PSEUDO_COUNT = 1 / len(SCALES)
"""Number of features added at every scale, together one feature (Perks 1947)."""
_ITERATIONS = 50


def shrink(values: FloatArray, variances: FloatArray, unit: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Shrink each feature's class values towards their common centre, as far as noise explains their spread.

    The model: a value is normal around its truth with the given variance, the truth is normal around the
    feature's centre with standard deviation scale * unit, and the scale is one of SCALES. How frequent each
    scale is among the features is unknown, and averaged over. The result is averaged over the posterior of
    the feature's scale. The classes of a feature that is only noise become equal.

    Parameters
    ----------
    values : (features, k) array
        NaN where nothing is known.
    variances : (features, k) array
        Variances of `values`; infinite where nothing is known.
    unit : (features,) array
        The unit of SCALES for each feature.

    Returns
    -------
    means, variances : (features, k) arrays
        Posterior means and variances. A feature of which nothing is known has centre 0.
    """
    known = np.isfinite(values) & np.isfinite(variances)
    values = np.where(known, values, 0.0)
    information = np.where(known, 1.0 / np.where(known, variances, 1.0), 0.0)
    fits = [_fit_scale(values, information, (scale * unit[:, None]) ** 2) for scale in SCALES]
    likely, means, spreads = (np.stack(parts) for parts in zip(*fits, strict=True))
    weights = fit_scale_weights(likely, PSEUDO_COUNT)[:, :, None]
    mean = (weights * means).sum(axis=0)
    return mean, (weights * (spreads + (means - mean) ** 2)).sum(axis=0)


def _fit_scale(
    values: FloatArray, information: FloatArray, between: FloatArray
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return log-likelihood (features,), means and variances of the truth, if its variance is `between`."""
    precision = information / (1 + between * information)
    total = precision.sum(axis=1, keepdims=True)
    centre = (precision * values).sum(axis=1, keepdims=True) / np.where(total > 0, total, 1.0)
    off = values - centre
    logs = np.log(np.where(precision > 0, precision, 1.0)).sum(axis=1)
    # the centre is unknown too, so the likelihood is integrated over it (restricted likelihood)
    logs -= np.log(np.where(total > 0, total, 1.0))[:, 0]
    likely = 0.5 * (logs - (precision * off**2).sum(axis=1))
    return likely, centre + between * precision * off, between / (1 + between * information)


def fit_scale_weights(likely: FloatArray, pseudo_count: float) -> FloatArray:
    """Return each feature's probabilities of the scales, (scales, features), from its log-likelihoods.

    The frequencies of the scales among the features are unknown, and a priori have a symmetric Dirichlet
    distribution with parameter `pseudo_count`; with 1 all frequencies are equally probable. They are averaged
    over their posterior: given the scales of the other features, the next feature has each scale with a
    probability proportional to `pseudo_count` plus the number of those that have it. The numbers are replaced
    by their expectations (collapsed variational Bayes of order zero, Asuncion et al. 2009). So a single
    feature's weights are its likelihoods, and many features determine the frequencies.
    """
    odds = np.exp(likely - likely.max(axis=0))
    weights: FloatArray = odds / odds.sum(axis=0)
    for _ in range(_ITERATIONS):
        others = weights.sum(axis=1, keepdims=True) - weights
        weights = odds * (pseudo_count + others)
        weights /= weights.sum(axis=0)
    return weights
