"""Two recipes from raw estimates to the probabilities a classifier uses.

"paper" follows Yilmaz et al. 2019 to the letter. "default" is the project's own: it pools the prior from
all questions and shrinks what noise alone could explain towards features that are independent of the label,
because at a small epsilon the paper's plain ratios of noisy counts let such features outvote the prior. A
recipe sees what every question said and returns the class prior and, per feature, a table P(value | label)
or a normal distribution per label.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from encoders.errors import LdpError
from ldp_aggregator.arrays import FloatArray
from ldp_aggregator.estimation.bayes.posterior import smooth_prior, smooth_tables
from ldp_aggregator.estimation.class_prior import label_prior
from ldp_aggregator.estimation.discrete.frequencies import Frequencies
from ldp_aggregator.estimation.discrete.negative_estimates import replace_negatives
from ldp_aggregator.estimation.intervals import IntervalEstimate
from ldp_aggregator.estimation.numeric.gaussians import Gaussian, paper_number, smooth_numbers
from ldp_aggregator.estimation.numeric.number import Number
from ldp_aggregator.estimation.raw_estimates import RawEstimates


class EstimationError(LdpError):
    """Totals that the chosen estimator cannot turn into probabilities."""


ClassConditional = FloatArray | Gaussian
"""P(value | label) of one feature: a table (A_i, k), or for numbers a normal distribution per label."""


@dataclass(frozen=True)
class NaiveBayesParameters:
    """What a recipe returns.

    Attributes
    ----------
    raw_prior : IntervalEstimate
        (k,) unbiased prior with standard errors.
    prior : (k,) array
        The distribution for the classifier.
    conditionals : tuple of (A_i, k) arrays and Gaussians
        P(value | label) of each feature, for the classifier; each column of a table is a distribution.
    """

    raw_prior: IntervalEstimate
    prior: FloatArray
    conditionals: tuple[ClassConditional, ...]


def default_estimator(answers: RawEstimates) -> NaiveBayesParameters:
    """Pool the prior from all reports, and tell classes apart no further than noise allows.

    Prior and tables are those of the posterior, see :mod:`posterior`: noise alone rules nobody out, and
    features that noise drowns cannot outvote the prior. Numbers are shrunk, see
    :func:`gaussians.smooth_numbers`.
    """
    prior = smooth_prior(answers.prior.estimate)
    gaussians = iter(smooth_numbers(answers.numbers, prior))
    tables = iter(smooth_tables(*answers.discrete, prior))
    conditionals = tuple(
        next(gaussians) if isinstance(each, Number) else next(tables) for each in answers.feature_estimates
    )
    return NaiveBayesParameters(answers.prior.estimate, prior, conditionals)


def paper_estimator(answers: RawEstimates) -> NaiveBayesParameters:
    """Use the label question's prior, negative counts set to 1, and plain ratios.

    Yilmaz et al. 2019, section 3.

    Raises
    ------
    EstimationError
        If the survey does not ask the label question, which the paper's prior comes from.
    """
    if answers.label is None:
        raise EstimationError(
            "the paper's estimator takes the class prior from a label question, which this survey does not "
            "ask: give [label] a weight of 1 in the survey, or use the default estimator"
        )
    counts = _positive_counts(answers.label, answers.k)
    conditionals = tuple(
        paper_number(each, counts) if isinstance(each, Number) else _ratios(each, feature.size, answers.k)
        for each, feature in zip(answers.feature_estimates, answers.features, strict=True)
    )
    return NaiveBayesParameters(label_prior(answers.label), counts / counts.sum(), conditionals)


def _ratios(estimated: Frequencies | None, size: int, k: int) -> FloatArray:
    if estimated is None:
        return np.full((size, k), 1.0 / size)
    return _columns_to_one(_positive_counts(estimated, size * k).reshape(size, k))


def _positive_counts(estimated: Frequencies, domain: int) -> FloatArray:
    counts = estimated.raw * estimated.n if estimated.n else np.zeros(domain)
    return replace_negatives(counts)


def _columns_to_one(joint: FloatArray) -> FloatArray:
    columns: FloatArray = joint / joint.sum(axis=0)
    return columns


Estimator = Callable[[RawEstimates], NaiveBayesParameters]

ESTIMATORS: dict[str, Estimator] = {"default": default_estimator, "paper": paper_estimator}
