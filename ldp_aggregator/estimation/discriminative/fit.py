"""Fits the scores of a classifier to the moments that reports estimate, with rows that have no label.

Naive Bayes adds the scores of all features as if they were independent within each class. Logistic regression
weights them so that they predict the label together. Its equations need the joint frequencies of each value
and class, which the reports estimate, and the joint distribution of the features, which rows without labels
show. The closest published methods are those of Wang et al. (ALT 2021) and Ma and Yang (JMLR 2024).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise, product

import numpy as np

from ldp_aggregator.arrays import FloatArray, IntArray
from ldp_aggregator.estimation.discriminative.gauss_newton import (
    NormalPrior,
    PosteriorMode,
    evidence_of_mean,
    find_mode,
)
from ldp_aggregator.estimation.discriminative.informative_equations import MAX_EQUATIONS, find_informative
from ldp_aggregator.estimation.discriminative.label_moments import ALL_ROWS, LabelMoments
from ldp_aggregator.estimation.discriminative.moment_equations import (
    ContrastNoise,
    MomentEquations,
    ScoreModel,
    class_contrasts,
    set_up_equations,
)
from ldp_aggregator.estimation.discriminative.raking import RakedRows

SCALE_VARIANCE = 0.5
"""Prior variance of a common factor of the Naive Bayes scores, which are too large where features overlap."""
RAW_SHARE = 0.5
"""Share of the raw moments in the fitted ones; the others are those of Naive Bayes, see `_mix_moments`."""
FEATURE_SCALE_VARIANCES = (0.0, 0.1, 0.3, 1.0)
"""Prior variances of a factor of each feature; the reports choose among them."""
CELL_VARIANCES = (0.0, 0.01, 0.1, 1.0)
"""Prior variances of what is added to each score; the reports choose among them."""
INTERCEPT_VARIANCE = 0.3
_FIRST_SETTING = (0.1, 0.1)
"""The variances of the first fit, at whose probabilities the noise of the equations is evaluated."""
_FIRST_SCALE = 0.5
"""The noise of the first fit is evaluated at this fraction of the Naive Bayes scores."""


@dataclass(frozen=True)
class NaiveBayesScores:
    """Scores of a Naive Bayes model: a row's score is the intercept plus one entry of each table."""

    intercept: FloatArray
    """log P(class). Shape (k,)."""
    tables: Sequence[FloatArray]
    """log P(value | class) of the features of the moments, in their order. Sequence of (A_i, k) arrays."""
    offsets: FloatArray
    """log-densities of the rows' numbers; each number gets a factor. Shape (rows, k, numbers)."""


@dataclass(frozen=True)
class FittedScores:
    """Scores fitted to the reports; equal for all classes means uninformative."""

    intercept: FloatArray
    """Shape (k,)."""
    tables: tuple[FloatArray, ...]
    """One per feature of the moments. Tuple of (A_i, k) arrays."""
    gains: FloatArray
    """Factors of the offsets. Shape (numbers,)."""
    probabilities: FloatArray
    """P(class | row) of the rows. Shape (rows, k)."""
    association: float
    """How much the reports contradict that all features are uninformative: the chi-square of the raw
    moments minus its expectation, in its standard deviations."""
    log_evidence: float
    """Of the best setting of the prior, minus that of Naive Bayes with a fitted intercept. If it is above
    zero, the reports are more probable with other scores than those of Naive Bayes."""


def fit_scores(
    naive_bayes: NaiveBayesScores, moments: LabelMoments, indicators: FloatArray, raked: RakedRows
) -> FittedScores:
    """Fit scores: the posterior mode for each setting of the prior, averaged by the settings' evidence.

    The parameters are a priori normal around the scores of Naive Bayes. A common factor, a factor of each
    feature and a term of each score vary. With little information the scores hardly change.

    Parameters
    ----------
    naive_bayes : NaiveBayesScores
    moments : LabelMoments
        Of the features whose values the rows hold.
    indicators : (rows, cells) array
        1 where a row has the value of a cell; without a cell for the label question.
    raked : RakedRows
        The weights of the rows.
    """
    design = np.concatenate([np.ones((len(indicators), 1)), indicators], axis=1)
    model = ScoreModel(design, naive_bayes.offsets)
    raw, moments = moments, _mix_moments(naive_bayes, moments)
    mean = _centre_scores(naive_bayes)
    observed = slice(0 if ALL_ROWS in moments.features else 1, None)
    blocks = np.cumsum([1, *map(len, naive_bayes.tables)])

    first_prior = _prior(mean, blocks, model.k, *_FIRST_SETTING)

    def evaluate_at(probabilities: FloatArray) -> ContrastNoise:
        return ContrastNoise.at_probabilities(
            model, raked.weights, moments, observed, probabilities, raked.effective_rows
        )

    def set_up(noise: ContrastNoise, probabilities: FloatArray) -> MomentEquations:
        kept = None
        if noise.count > MAX_EQUATIONS:
            kept = find_informative(model, raked.weights, observed, noise, probabilities, first_prior)
        return set_up_equations(model, raked.weights, moments.mean, observed, noise, kept)

    probabilities = model.predict(_FIRST_SCALE * mean)
    first = find_mode(set_up(evaluate_at(probabilities), probabilities), first_prior)
    noise = evaluate_at(first.probabilities)
    equations = set_up(noise, first.probabilities)
    modes = [
        find_mode(equations, _prior(mean, blocks, model.k, *setting))
        for setting in product(FEATURE_SCALE_VARIANCES, CELL_VARIANCES)
    ]
    parameters = _average(modes)
    coefficients, gains = model.split(parameters)
    scores = coefficients @ model.contrasts.T
    return FittedScores(
        intercept=scores[0],
        tables=tuple(np.split(scores, blocks)[1:-1]),
        gains=gains,
        probabilities=model.predict(parameters),
        association=_measure_association(equations, noise, raw.mean, mean),
        log_evidence=max(mode.log_evidence for mode in modes) - _evidence_of_naive_bayes(equations, mean),
    )


def _mix_moments(scores: NaiveBayesScores, moments: LabelMoments) -> LabelMoments:
    """Return the mean of the raw moments and of P(value | class) P(class) of Naive Bayes.

    Scores and raw moments come from the same reports and share their noise. Where Naive Bayes attributes a
    difference between classes to noise and removes it, a fit to raw moments alone would restore it by a
    factor above 1. A fit to those of Naive Bayes alone would remove what the features show only together.
    """
    tables = np.exp(np.concatenate(list(scores.tables)) + scores.intercept)
    mean = moments.mean.copy()
    cells = slice(len(mean) - len(tables), None)
    mean[cells] = RAW_SHARE * mean[cells] + (1 - RAW_SHARE) * tables
    return replace(moments, mean=mean)


def _measure_association(
    equations: MomentEquations, noise: ContrastNoise, moments: FloatArray, mean: FloatArray
) -> float:
    """Return the chi-square of all equations of the moments if all scores are zero, standardised."""
    free = equations.model.k - 1
    uninformative = np.concatenate([mean[:free], np.zeros(len(mean) - free)])
    expected = equations.sum_rows(equations.model.predict(uninformative))
    differences = noise.whiten((moments - expected)[:, :, None]).ravel()
    return float((differences @ differences - len(differences)) / np.sqrt(2 * len(differences)))


def _evidence_of_naive_bayes(equations: MomentEquations, mean: FloatArray) -> float:
    """Return the log evidence of the scores of Naive Bayes, with their own or a fitted intercept."""
    variances = np.zeros_like(mean)
    variances[: equations.model.k - 1] = INTERCEPT_VARIANCE
    fixed = NormalPrior(mean, variances, np.zeros((len(mean), 1)), np.zeros(1))
    return max(evidence_of_mean(equations, mean), find_mode(equations, fixed).log_evidence)


def _centre_scores(scores: NaiveBayesScores) -> FloatArray:
    """Return the scores of Naive Bayes as parameters: contrasts of classes, then a gain of 1 per number."""
    contrasts = class_contrasts(len(scores.intercept))
    columns = np.concatenate([scores.intercept[None], *scores.tables]) @ contrasts
    return np.concatenate([columns.ravel(), np.ones(scores.offsets.shape[2])])


def _prior(
    mean: FloatArray, blocks: IntArray, k: int, feature_variance: float, cell_variance: float
) -> NormalPrior:
    """Return the prior of a setting.

    `blocks` are the columns of the design at which the features begin, and its number of columns. A feature's
    factor and the common factor are directions of the scores of Naive Bayes.
    """
    ends, free = blocks * (k - 1), k - 1
    edges: list[int] = [*ends.tolist(), *range(ends[-1] + 1, len(mean) + 1)]
    directions = np.zeros((len(mean), len(edges)))
    for number, (start, end) in enumerate(pairwise(edges)):
        directions[start:end, number] = mean[start:end]
    directions[free:, -1] = mean[free:]
    variances = np.full(len(mean), cell_variance)
    variances[:free], variances[ends[-1] :] = INTERCEPT_VARIANCE, 0.0
    direction_variances = np.full(len(edges), feature_variance)
    direction_variances[-1] = SCALE_VARIANCE
    return NormalPrior(mean, variances, directions, direction_variances)


def _average(modes: Sequence[PosteriorMode]) -> FloatArray:
    """Average the parameters of several settings, weighted by their evidence."""
    evidence = np.array([mode.log_evidence for mode in modes])
    odds = np.exp(evidence - evidence.max())
    average: FloatArray = odds @ np.stack([mode.parameters for mode in modes]) / odds.sum()
    return average
