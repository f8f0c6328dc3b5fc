"""Two recipes from estimated frequencies to the probabilities a classifier uses.

"paper" follows 001 to the letter; "default" is the project's own (METHODS, section 5). A recipe sees
what every question said and returns the class prior and one table P(value | label) per feature.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from encoders.errors import LdpError
from ldp_aggregator.estimation.consistency import FloatArray, clip_and_normalise
from ldp_aggregator.estimation.figures import Figure
from ldp_aggregator.estimation.frequencies import Frequencies
from ldp_aggregator.estimation.prior import label_prior, pool_prior, replace_negatives


class EstimationError(LdpError):
    """Totals that the chosen estimator cannot turn into probabilities."""


@dataclass(frozen=True)
class Answers:
    """What was heard of a survey, by question.

    Attributes
    ----------
    k : int
        Number of labels.
    sizes : sequence of int
        Number of values A_i of each feature.
    label : Frequencies or None
        The label question's, if the survey asks it.
    coupled : sequence of (Frequencies or None)
        Each feature's coupled question's, if the survey asks it.
    """

    k: int
    sizes: Sequence[int]
    label: Frequencies | None
    coupled: Sequence[Frequencies | None]


@dataclass(frozen=True)
class Probabilities:
    """What a recipe returns.

    Attributes
    ----------
    raw_prior : Figure
        (k,) unbiased prior with standard errors.
    prior : (k,) array
        The distribution for the classifier.
    conditionals : tuple of (A_i, k) arrays
        P(value | label), each column a distribution, for the classifier.
    """

    raw_prior: Figure
    prior: FloatArray
    conditionals: tuple[FloatArray, ...]


def default_recipe(answers: Answers) -> Probabilities:
    """Pool the prior from all reports and smooth each conditional by one standard deviation.

    E(x, c) = max(F, 0) + sqrt(mean V); P(x | c) = E / sum over x of E. Where noise drowns the answer
    the table is nearly uniform, so the feature cannot outvote the prior (METHODS, section 5).
    """
    asked = [each for each in (*answers.coupled, answers.label) if each is not None]
    pooled = pool_prior(asked, answers.k)
    prior = clip_and_normalise(np.nan_to_num(pooled.value))
    coupled = zip(answers.coupled, answers.sizes, strict=True)
    return Probabilities(pooled, prior, tuple(_smooth(each, size, answers.k) for each, size in coupled))


def _smooth(estimated: Frequencies | None, size: int, k: int) -> FloatArray:
    if estimated is None or estimated.n == 0:
        return np.full((size, k), 1.0 / size)
    joint = np.maximum(estimated.raw, 0.0) + math.sqrt(estimated.mean_variance)
    return _columns_to_one(joint.reshape(size, k))


def paper_recipe(answers: Answers) -> Probabilities:
    """Follow 001, section 3.1: the label question's prior, negative counts set to 1, plain ratios.

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
    prior = _positive_counts(answers.label, answers.k)
    coupled = zip(answers.coupled, answers.sizes, strict=True)
    tables = tuple(_ratios(each, size, answers.k) for each, size in coupled)
    return Probabilities(label_prior(answers.label), prior / prior.sum(), tables)


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


Recipe = Callable[[Answers], Probabilities]

ESTIMATORS: dict[str, Recipe] = {"default": default_recipe, "paper": paper_recipe}
