"""Estimators: compute the probabilities that a classifier uses from raw estimates.

"paper" follows Yilmaz et al. 2019. The reports may still differ from the paper's: SHE's noise is discrete and
has less variance than the paper's real-valued noise (.195 instead of .320 at epsilon 5), and THE applies its
threshold on the device. "default" is the project's own: it pools the prior from all questions, and shrinks
differences between classes that noise could explain. Without shrinkage, at a small epsilon, the paper's
ratios of noisy counts let uninformative features outvote the prior.
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
from ldp_aggregator.estimation.bayes.posterior import smooth_prior, smooth_tables
from ldp_aggregator.estimation.class_prior import label_prior
from ldp_aggregator.estimation.discrete.covariance import TableEstimate
from ldp_aggregator.estimation.discrete.frequencies import Frequencies, replace_negatives
from ldp_aggregator.estimation.intervals import IntervalEstimate
from ldp_aggregator.estimation.numeric.gaussians import Gaussian, paper_gaussian, smooth_numbers
from ldp_aggregator.estimation.numeric.number import ClassMoments
from ldp_aggregator.estimation.raw_estimates import RawEstimates


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
    """Raise ValueError unless a number has shares of missing values exactly if it can be missing."""
    can_be_missing = feature.missing != "error"
    require(can_be_missing or missing is None, "has shares of missing values, but cannot be missing")
    require(not can_be_missing or missing is not None, "lacks the shares of missing values")


@dataclass(frozen=True)
class PriorEstimate:
    """The class prior P(label), (k,), as a raw estimate and as a distribution."""

    raw: IntervalEstimate
    """Unbiased."""
    smoothed: FloatArray
    """The distribution for the classifier."""


@dataclass(frozen=True)
class Estimator:
    """The two stages of an estimator."""

    estimate_prior: Callable[[RawEstimates], PriorEstimate]
    """Takes the raw estimates."""
    estimate_conditionals: Callable[[RawEstimates, FloatArray], ClassConditionals]
    """Takes the raw estimates and the smoothed prior. Each column of a returned table is a distribution."""


def _default_prior(raw: RawEstimates) -> PriorEstimate:
    """Return the pooled prior and its posterior mean, which noise alone never makes zero for a class."""
    return PriorEstimate(raw.prior.estimate, smooth_prior(raw.prior.estimate))


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
    """Return the prior from the label question; negative counts become 1 (Yilmaz et al. 2019, section 3.1.1).

    Raises
    ------
    EstimationError
        If the survey does not ask the label question.
    """
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
    return PriorEstimate(label_prior(raw.label), counts / counts.sum())


def _paper_conditionals(raw: RawEstimates, prior: FloatArray) -> ClassConditionals:
    """Return ratios of counts; negative counts become 1 (Yilmaz et al. 2019, sections 3.1.2 and 3.2)."""
    assert raw.label is not None  # or _paper_prior has raised an error
    class_counts = _positive_counts(raw.label, raw.k)
    return tuple(
        paper_gaussian(each, class_counts)
        if isinstance(each, ClassMoments)
        else _count_ratios(_require_reports(each), feature.size, raw.k)
        for each, feature in zip(raw.feature_estimates, raw.features, strict=True)
    )


def _require_reports(estimate: TableEstimate | None) -> Frequencies | None:
    assert estimate is None or isinstance(estimate, Frequencies)  # or _paper_prior has raised an error
    return estimate


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
