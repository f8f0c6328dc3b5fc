"""Fits the classifier of a model to reports and rows without labels, and compares the rows with the reports.

The method is in :mod:`ldp_aggregator.estimation.discriminative`. The estimates of the survey do not change.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

import numpy as np

from encoders.survey import Plan
from ldp_aggregator.arrays import FloatArray, IntArray
from ldp_aggregator.estimation import ClassConditional
from ldp_aggregator.estimation.discriminative import estimate_label_moments, fit_classifier
from ldp_aggregator.estimation.discriminative.marginal_test import compute_marginal_p_values
from ldp_aggregator.models.unlabelled_rows import UnlabelledRows, UnlabelledRowsError
from ldp_aggregator.prediction.scoring import LogProbabilities, normalise_log_scores
from ldp_aggregator.snapshot import Snapshot

WARNING_LEVEL = 0.005
"""Probability, at most, of a warning if the rows are a random sample of the people who reported."""
MAX_DESIGN_EFFECT = 5.0
"""Largest factor by which raking may increase the variance of the rows' averages (Kish 1965)."""
_MAX_NAMED = 8


@dataclass(frozen=True, kw_only=True)
class RowFit:
    """A classifier fitted to reports and rows, or Naive Bayes where that is kept."""

    prior: FloatArray
    """Shape (k,)."""
    conditionals: tuple[ClassConditional, ...]
    """Tuple of (A_i, k) arrays and Gaussians."""
    fitted: tuple[int, ...]
    """The features whose scores were fitted. Empty if the reports are mostly noise: `prior` and
    `conditionals` are then those of Naive Bayes."""
    association: float
    """How significant all features together are, in standard deviations."""
    confidence: float
    """The mean probability of the predicted class over the rows, weighted to agree with the reports."""
    contradicting: tuple[int, ...]
    """The features whose values are significantly more or less frequent in the rows than in the reports."""
    codes: IntArray
    """The rows that were used: all, or a sample. Shape (rows, features)."""
    weights: FloatArray
    """Their weights, which make them agree with the reports. Shape (rows,)."""

    @property
    def kept(self) -> bool:
        """Whether the fit is kept."""
        return bool(self.fitted)

    def keep_naive_bayes(self, prior: FloatArray, conditionals: tuple[ClassConditional, ...]) -> RowFit:
        """Return this with a Naive Bayes model in place of the fit."""
        return replace(
            self,
            prior=prior,
            conditionals=conditionals,
            fitted=(),
            confidence=_measure_confidence(prior, conditionals, self.codes, self.weights),
        )


def fit_to_rows(
    snapshot: Snapshot,
    prior: FloatArray,
    conditionals: Sequence[ClassConditional],
    rows: UnlabelledRows,
    used: Collection[int],
) -> RowFit:
    """Fit a classifier to reports and rows, starting from the Naive Bayes model of the reports.

    Parameters
    ----------
    snapshot : Snapshot
    prior, conditionals
        Of Naive Bayes, as the default estimator returns them.
    rows : UnlabelledRows
    used : collection of int
        The features that the model uses: all, or those that a validation round selected.

    Raises
    ------
    UnlabelledRowsError
        If the rows have no feature that can be fitted, or contradict the reports so much that raking does
        not help.
    DiscriminativeError
        If the survey does not allow a fit.
    """
    features = sorted(rows.present.intersection(used))
    moments = estimate_label_moments(snapshot).select(features)
    if not moments.without_label_question().features:
        raise UnlabelledRowsError(
            "the unlabelled rows need a feature with categories or bins that has reports and that the "
            "model uses; numbers without bins alone cannot be fitted"
        )
    fit = fit_classifier(prior, conditionals, moments, rows.codes, features)
    p_values = compute_marginal_p_values(moments, rows.codes)
    contradicting = [feature for feature, p in p_values.items() if p < WARNING_LEVEL / len(p_values)]
    weights = fit.raked.weights
    if contradicting and len(weights) * float(weights @ weights) > MAX_DESIGN_EFFECT:
        raise UnlabelledRowsError(
            "the unlabelled rows contradict the reports too much "
            f"({name_features(snapshot.plan, contradicting)}): weights that make them agree would leave the "
            f"information of fewer than one in {MAX_DESIGN_EFFECT:g} rows. Check that their values mean "
            "what those of the survey mean, leave out columns where they do not, or use rows of a more "
            "similar population"
        )
    return RowFit(
        prior=fit.prior,
        conditionals=fit.conditionals,
        fitted=fit.fitted,
        association=fit.association,
        confidence=_measure_confidence(fit.prior, fit.conditionals, fit.codes, weights),
        contradicting=tuple(contradicting),
        codes=fit.codes,
        weights=weights,
    )


def _measure_confidence(
    prior: FloatArray, conditionals: Sequence[ClassConditional], codes: IntArray, weights: FloatArray
) -> float:
    """Return the weighted mean, over rows, of the probability of the predicted class."""
    model = LogProbabilities.from_probabilities(prior, conditionals)
    highest = normalise_log_scores(model.compute_scores(codes)).max(axis=1)
    return float(np.average(np.exp(highest), weights=weights))


def name_features(plan: Plan, indices: Sequence[int]) -> str:
    """Return the names of some features, at most a few."""
    names = [plan.features[index].name for index in indices]
    more = f" and {len(names) - _MAX_NAMED} more" if len(names) > _MAX_NAMED else ""
    return ", ".join(names[:_MAX_NAMED]) + more
