"""Estimators: compute the probabilities that a classifier uses from raw estimates.

"paper" follows Yilmaz et al. 2019, on reports whose noise is discrete (SHE: variance .195 instead of .320 at
epsilon 5). "default" pools the prior from all questions, and shrinks differences between classes that noise
could explain: else noisy features outvote the prior at a small epsilon.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Self, cast

import numpy as np

from encoders.errors import LdpError
from encoders.survey import Feature, NumericFeature
from ldp_aggregator.arrays import FloatArray
from ldp_aggregator.codec import reading, require, require_probabilities
from ldp_aggregator.estimation.bayes.posterior import shrink, smooth_prior, smooth_tables
from ldp_aggregator.estimation.discrete.frequencies import Frequencies, replace_negatives
from ldp_aggregator.estimation.intervals import IntervalEstimate, estimate_cells
from ldp_aggregator.estimation.numeric.moments import ABSENT
from ldp_aggregator.estimation.numeric.number import ClassMoments
from ldp_aggregator.estimation.raw_estimates import RawEstimates

# -- normal distributions ---------------------------------------------------------------------------
# Computed from noisy moments, for both estimators: P(x | label) for normalised x in [-1, 1], and
# P(missing | label) if x can be missing.


MIN_VARIANCE = 1e-6
"""The standard deviation is 1/2000 of the number's range."""
MAX_VARIANCE = 1.0
"""The variance of a number that is -1 for half of the people and 1 for the other half."""
UNIFORM_VARIANCE = 1 / 3
"""The variance of the uniform distribution on [-1, 1]."""


def clip_variance(variance: FloatArray) -> FloatArray:
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
    variance within classes, towards one. The posterior variance of the means is added to the variances, as in
    the predictive distribution, but the same for all classes: a class is no likelier because its mean is
    known better. At a small epsilon all classes become equal, so that the feature cannot outvote the prior;
    with many reports this is Gaussian Naive Bayes. `prior` is the distribution P(label), (k,).
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
    """Return the ratios of class variances to the pooled variance; at least the standard error of a ratio."""
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
    any frequency, and negative counts become 1. `counts`, (k,), are the estimated numbers of people of each
    label, positive.
    """
    people = counts.sum()
    zeros = np.zeros(number.k)
    raw = {
        power: values
        for each in reversed(number.questions)
        for power, values in zip(each.powers, each.raw, strict=True)
    }
    missing = replace_negatives(raw.get(ABSENT, zeros) * people) if number.can_be_missing else zeros
    present = replace_negatives(counts - missing) if number.can_be_missing else counts
    mean = raw.get(1, zeros) * people / present
    square = raw[2] * people / present if 2 in raw else mean**2 + UNIFORM_VARIANCE
    share = missing / (missing + present) if number.can_be_missing else None
    return Gaussian(mean, np.maximum(square - mean**2, MIN_VARIANCE), share)


# -- estimators -------------------------------------------------------------------------------------


class EstimationError(LdpError):
    """The chosen estimator cannot compute probabilities from these totals."""


ClassConditional = FloatArray | Gaussian
"""P(value | label) of one feature: a table (A_i, k), or for numbers a normal distribution per class."""
ClassConditionals = tuple[ClassConditional, ...]


@dataclass(frozen=True)
class NaiveBayesParameters:
    """The probabilities that a Naive Bayes classifier uses."""

    prior: FloatArray
    """P(label). Shape (k,)."""
    conditionals: ClassConditionals
    """P(value | label) of each feature; each column of a table is a distribution. Tuple of (A_i, k) arrays
    and Gaussians."""

    kind = "nb"
    JSON_KINDS = (kind,)
    JSON_DERIVED = ("kind",)

    def for_plan(self, features: Sequence[Feature], k: int) -> Self:
        """Return the parameters; raise ValueError unless they are distributions of these features."""
        require(self.prior.shape == (k,), f"prior: needs the shares of {k} classes")
        require_probabilities(self.prior, "the classes")
        require(len(self.conditionals) == len(features), "conditionals: needs one for each feature")
        for feature, each in zip(features, self.conditionals, strict=True):
            with reading(feature.name):
                if isinstance(each, Gaussian):
                    is_valid = isinstance(feature, NumericFeature) and each.mean.shape == (k,)
                    require(is_valid, f"needs normal distributions of {k} classes")
                    check_missing(each.missing, cast(NumericFeature, feature))
                else:
                    is_valid = not isinstance(feature, NumericFeature) and each.shape == (feature.size, k)
                    require(is_valid, f"needs a table with the shape {(feature.size, k)}")
                    require_probabilities(each, feature.name)
        return self


def check_missing(missing: object, feature: NumericFeature) -> None:
    can_be_missing = feature.missing != "error"
    require(can_be_missing or missing is None, "has shares of missing values, but cannot be missing")
    require(not can_be_missing or missing is not None, "lacks the shares of missing values")


PriorEstimate = tuple[IntervalEstimate, FloatArray]
"""The class prior P(label), (k,): the unbiased estimate, and the distribution for the classifier."""


@dataclass(frozen=True)
class Estimator:
    estimate_prior: Callable[[RawEstimates], PriorEstimate]
    estimate_conditionals: Callable[[RawEstimates, FloatArray], ClassConditionals]
    """Takes the raw estimates and the smoothed prior. Each column of a returned table is a distribution."""


def _default_prior(raw: RawEstimates) -> PriorEstimate:
    """Return the pooled prior and its posterior mean, which noise alone never makes zero for a class."""
    return raw.prior.estimate, smooth_prior(raw.prior.estimate)


def _default_conditionals(raw: RawEstimates, prior: FloatArray) -> ClassConditionals:
    """Return posterior tables and shrunk normal distributions, so noisy features cannot outvote the prior."""
    discrete = {
        index: each for index, each in enumerate(raw.feature_estimates) if not isinstance(each, ClassMoments)
    }
    sizes = [raw.features[index].size for index in discrete]
    tables = iter(smooth_tables(list(discrete.values()), sizes, prior))
    gaussians = iter(smooth_numbers(raw.numbers, prior))
    return tuple(next(tables) if index in discrete else next(gaussians) for index in range(len(raw.features)))


def _paper_prior(raw: RawEstimates) -> PriorEstimate:
    """Return the prior from the label question; negative counts become 1 (Yilmaz et al. 2019, 3.1.1)."""
    if raw.silos:
        raise EstimationError(
            "the paper's estimator is for reports of people, and these estimates contain messages of silos: "
            "use the default estimator"
        )
    if raw.label is None:
        raise EstimationError(
            "the paper's estimator takes the class prior from a label question, which this survey does not "
            f"ask: {'give [label] a weight of 1 in the survey, or ' * (raw.k > 1)}use the default estimator"
        )
    if not all(isinstance(each, Frequencies | ClassMoments | None) for each in raw.feature_estimates):
        raise EstimationError(
            "the paper's estimator needs one question with the label for each feature, and this survey asks "
            "about some in several: use the default estimator"
        )
    counts = _positive_counts(raw.label, raw.k)
    return estimate_cells(raw.label.raw, raw.label.covariance), counts / counts.sum()


def _paper_conditionals(raw: RawEstimates, prior: FloatArray) -> ClassConditionals:
    """Return ratios of counts; negative counts become 1 (Yilmaz et al. 2019, sections 3.1.2 and 3.2)."""
    # _paper_prior has raised an error unless these are frequencies of questions
    assert raw.label is not None
    class_counts = _positive_counts(raw.label, raw.k)
    return tuple(
        paper_gaussian(each, class_counts)
        if isinstance(each, ClassMoments)
        else _count_ratios(cast("Frequencies | None", each), feature.size, raw.k)
        for each, feature in zip(raw.feature_estimates, raw.features, strict=True)
    )


def _count_ratios(frequencies: Frequencies | None, size: int, k: int) -> FloatArray:
    if frequencies is None:
        return np.full((size, k), 1.0 / size)
    joint = _positive_counts(frequencies, size * k).reshape(size, k)
    ratios: FloatArray = joint / joint.sum(axis=0)
    return ratios


def _positive_counts(frequencies: Frequencies, domain: int) -> FloatArray:
    return replace_negatives(frequencies.raw * frequencies.n if frequencies.n else np.zeros(domain))


ESTIMATORS = {
    "default": Estimator(_default_prior, _default_conditionals),
    "paper": Estimator(_paper_prior, _paper_conditionals),
}
