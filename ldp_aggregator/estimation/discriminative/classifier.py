"""Trains a classifier on reports and on rows without labels."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from encoders.survey.numeric_features import GRID
from ldp_aggregator.arrays import FloatArray, IntArray
from ldp_aggregator.estimation.discriminative.fit import (
    FittedScores,
    NaiveBayesScores,
    fit_scores,
)
from ldp_aggregator.estimation.discriminative.label_moments import (
    ALL_ROWS,
    DiscriminativeError,
    LabelMoments,
)
from ldp_aggregator.estimation.discriminative.raking import RakedRows, rake
from ldp_aggregator.estimation.numeric.gaussians import Gaussian

MAX_ROWS = 4000
"""More rows are a random sample of this many: the noise of the reports is then far larger than theirs."""
MAX_ROW_MOMENTS = 3_000_000
"""Largest product of rows and moments: of a survey with many values and classes fewer rows are used."""
MIN_ASSOCIATION = 3.0
"""Least significance of all features together, in standard deviations; with less Naive Bayes is kept.

Their noise includes that of the rows, so the significance of the same reports increases with the rows.
"""
MIN_GAIN = 0.01
"""Least factor of a number's scores; a normal distribution has a finite variance."""
_SAMPLE_SEED = 0


@dataclass(frozen=True)
class DiscriminativeFit:
    """A classifier fitted to reports and rows, in the form of Naive Bayes."""

    prior: FloatArray
    """Shape (k,)."""
    conditionals: tuple[FloatArray | Gaussian, ...]
    """Their logarithms add up to the scores. Each column of a table adds up to one, but the entries are
    weights of the classifier, not estimates of P(value | class). Tuple of (A_i, k) arrays and
    Gaussians."""
    fitted: tuple[int, ...]
    """The features whose scores were fitted; the others keep those of Naive Bayes. Empty if the reports
    are mostly noise: prior and conditionals are then unchanged."""
    chi_squares: dict[int, float]
    """How much the rows contradict the reports, see :class:`RakedRows`."""
    codes: IntArray
    """The rows without labels that were used: all, or a sample. Shape (rows, features)."""
    raked: RakedRows
    """Their weights."""
    association: float
    """How significant all features together are, in standard deviations. Below MIN_ASSOCIATION the model
    is Naive Bayes: the intercept and the scores of a fit would follow noise that Naive Bayes removes."""
    log_evidence: float
    """Log evidence of the fit minus that of Naive Bayes with a fitted intercept."""


def fit_classifier(
    prior: FloatArray,
    conditionals: Sequence[FloatArray | Gaussian],
    moments: LabelMoments,
    codes: IntArray,
    features: Sequence[int] | None = None,
) -> DiscriminativeFit:
    """Fit a classifier that starts from Naive Bayes, or keep Naive Bayes if the reports are mostly noise.

    Parameters
    ----------
    prior, conditionals
        Of Naive Bayes, from the same reports.
    moments : LabelMoments
        See :func:`estimate_label_moments`.
    codes : (rows, features) int array
        The rows without labels, coded as by :func:`ldp_aggregator.rows.encode_table.encode_table`.
    features : sequence of int, optional
        The features to fit; by default all. The others, for example those that the rows do not have, keep the
        scores of Naive Bayes: they count as independent of the fitted ones within each class.

    Raises
    ------
    DiscriminativeError
        If there are fewer than two rows, no feature to fit, or too many values and classes.
    """
    wanted = range(len(conditionals)) if features is None else features
    moments = moments.select(wanted)
    tables = {
        index: np.log(each)
        for index in moments.features
        if index != ALL_ROWS and not isinstance(each := conditionals[index], Gaussian)
    }
    numbers = {index: each for index in wanted if isinstance(each := conditionals[index], Gaussian)}
    if len(codes) < 2 or not tables:
        raise DiscriminativeError("the fit needs at least two rows, and one feature with reports")
    codes = _sample(codes, min(MAX_ROWS, MAX_ROW_MOMENTS // moments.mean.size))
    indicators = _mark_values(codes, tables)
    marginals = moments.without_label_question()
    raked = rake(indicators, marginals.shares, marginals.share_covariance, marginals.sizes)
    offsets = np.zeros((len(codes), len(prior), len(numbers)))
    for number, (index, gaussian) in enumerate(numbers.items()):
        offsets[:, :, number] = _log_density(gaussian, codes[:, index])
    scores = NaiveBayesScores(np.log(prior), list(tables.values()), offsets)
    fitted = fit_scores(scores, moments, indicators, raked)
    new_prior = prior
    changed: dict[int, FloatArray | Gaussian] = {}
    if fitted.association >= MIN_ASSOCIATION:
        new_prior, changed = _to_probabilities(fitted, list(tables), numbers)
    return DiscriminativeFit(
        prior=new_prior,
        conditionals=tuple(changed.get(index, each) for index, each in enumerate(conditionals)),
        fitted=tuple(sorted(changed)),
        chi_squares=dict(zip(tables, raked.chi_squares.tolist(), strict=True)),
        codes=codes,
        raked=raked,
        association=fitted.association,
        log_evidence=fitted.log_evidence,
    )


def _mark_values(codes: IntArray, tables: Mapping[int, FloatArray]) -> FloatArray:
    """Return 1 where a row has the value of a cell, otherwise 0; shape (rows, cells)."""
    for index, table in tables.items():
        if not 0 <= codes[:, index].min() <= codes[:, index].max() < len(table):
            raise DiscriminativeError(f"feature {index}: codes must be from 0 to {len(table) - 1}")
    marks = [codes[:, index, None] == np.arange(len(table)) for index, table in tables.items()]
    return np.concatenate(marks, axis=1).astype(np.float64)


def _to_probabilities(
    fitted: FittedScores, tables: Sequence[int], numbers: Mapping[int, Gaussian]
) -> tuple[FloatArray, dict[int, FloatArray | Gaussian]]:
    """Return a prior and, by feature, tables and normal distributions with the same predictions as scores."""
    intercept = fitted.intercept
    changed: dict[int, FloatArray | Gaussian] = {}
    for index, table in zip(tables, fitted.tables, strict=True):
        changed[index], shift = _normalise_table(table)
        intercept = intercept + shift
    gains = np.maximum(fitted.gains, MIN_GAIN).tolist()
    for (index, gaussian), gain in zip(numbers.items(), gains, strict=True):
        changed[index], shift = _scale_gaussian(gaussian, gain)
        intercept = intercept + shift
    odds = np.exp(intercept - intercept.max())
    return odds / odds.sum(), changed


def _sample(codes: IntArray, count: int) -> IntArray:
    """Return at most `count` of the rows, equal for equal rows."""
    if len(codes) <= count:
        return codes
    chosen = np.random.default_rng(_SAMPLE_SEED).choice(len(codes), count, replace=False)
    sample: IntArray = codes[np.sort(chosen)]
    return sample


def _normalise_table(scores: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return a table whose columns add up to one, and what to add to the intercept for equal predictions."""
    centred = scores - scores.mean(axis=1, keepdims=True)
    peak = centred.max(axis=0)
    odds = np.exp(centred - peak)
    return odds / odds.sum(axis=0), peak + np.log(odds.sum(axis=0))


def _log_density(gaussian: Gaussian, codes: IntArray) -> FloatArray:
    """Return the log-density of coded numbers, or log P(missing), for each class; shape (rows, k)."""
    peak, missing = _log_peak(gaussian)
    x = ((codes - GRID) / GRID)[:, None]
    scores: FloatArray = peak - (x - gaussian.mean) ** 2 / (2 * gaussian.variance)
    if missing is not None:
        scores[codes > 2 * GRID] = missing
    return scores


def _log_peak(gaussian: Gaussian) -> tuple[FloatArray, FloatArray | None]:
    peak = -0.5 * np.log(2 * np.pi * gaussian.variance)
    if gaussian.missing is None:
        return peak, None
    return peak + np.log1p(-gaussian.missing), np.log(gaussian.missing)


def _scale_gaussian(gaussian: Gaussian, gain: float) -> tuple[Gaussian, FloatArray]:
    """Return a distribution whose log-density is `gain` times as large, and what to add to the intercept."""
    peak, missing = _log_peak(gaussian)
    variance = gaussian.variance / gain
    shift = gain * peak + 0.5 * np.log(2 * np.pi * variance)
    if missing is None:
        return Gaussian(gaussian.mean, variance, None), shift
    total = np.logaddexp(shift, gain * missing)
    return Gaussian(gaussian.mean, variance, np.exp(gain * missing - total)), total
