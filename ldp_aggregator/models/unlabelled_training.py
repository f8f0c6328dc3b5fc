"""Trains a model on the reports of a survey and on rows without labels, and describes it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from encoders.survey import NumericFeature, Plan
from encoders.survey.validation_round import NATS, Validation
from ldp_aggregator.arrays import FloatArray
from ldp_aggregator.estimation import ClassConditional, Estimates, Gaussian
from ldp_aggregator.models.unlabelled_fit import RowFit, fit_to_rows
from ldp_aggregator.models.unlabelled_rows import UnlabelledRowsError, read_unlabelled_rows
from ldp_aggregator.results.unlabelled_text import FITTED, NAIVE_BAYES
from ldp_aggregator.snapshot import Snapshot


@dataclass(frozen=True, kw_only=True)
class UnlabelledClassifier:
    """The classifier of a model that was trained with rows without labels.

    Attributes
    ----------
    prior : (k,) array
    conditionals : tuple of (A_i, k) arrays and Gaussians
        The logarithms add up to the scores; they are weights, not estimates.
    kept : bool
        Whether this is the classifier fitted to the rows; otherwise it is Naive Bayes.
    description : dict
        What the model file contains about the rows, for people, see
        :func:`ldp_aggregator.results.unlabelled_text.describe_unlabelled`. It has neither the exact number of
        the rows nor a digest.
    """

    prior: FloatArray
    conditionals: tuple[ClassConditional, ...]
    kept: bool
    description: dict[str, Any]


def fit_unlabelled(
    snapshot: Snapshot, estimates: Estimates, rows: Any, *, public: bool = False
) -> UnlabelledClassifier:
    """Fit a classifier to the reports of a survey and to rows without labels.

    Epsilon does not cover the rows: the classifier depends on them, and may reveal something about the people
    in them. Pass the result to :func:`ldp_aggregator.save_model`.

    Parameters
    ----------
    snapshot : Snapshot
        The counters that the estimates were computed from.
    estimates : Estimates
        Of the default estimator.
    rows : DataFrame, list of dicts, dict of columns, or (rows, features) array
        At least 100 rows, better 500. Columns that are no feature of the survey are ignored, also the labels;
        features without a column keep the scores of Naive Bayes.
    public : bool
        Whether the rows are public; the model file then states so.

    Raises
    ------
    UnlabelledRowsError
        If the rows are too few, have no column of the survey, or contradict the reports too much.
    RowError
        If a value of a row does not fit the survey.
    DiscriminativeError
        If the survey does not allow a fit.
    """
    if estimates.estimator != "default":
        raise UnlabelledRowsError("a fit to rows without labels needs the default estimator")
    read = read_unlabelled_rows(snapshot.plan, rows)
    conditionals = [feature.smoothed for feature in estimates.features]
    fit = fit_to_rows(snapshot, estimates.prior, conditionals, read, estimates.used_features)
    return UnlabelledClassifier(
        prior=fit.prior,
        conditionals=fit.conditionals,
        kept=fit.kept,
        description={
            "classifier": FITTED if fit.kept else NAIVE_BAYES,
            "association": round(fit.association, 2),
            "confidence": round(fit.confidence, 3),
            "rows": round_to_one_digit(len(read.codes)),
            "declared_public": public,
            "fitted": _name(snapshot.plan, fit.fitted),
            "absent": _name(snapshot.plan, sorted(set(range(len(conditionals))) - read.present)),
            "contradicting": _name(snapshot.plan, fit.contradicting),
            "validated": _find_validated(estimates, fit, conditionals),
        },
    )


def round_to_one_digit(count: int) -> int:
    """Return a number rounded to its first digit."""
    return int(float(f"{count:.0e}"))


def _name(plan: Plan, places: Sequence[int]) -> list[str]:
    return [plan.features[place].name for place in places]


def _find_validated(estimates: Estimates, fit: RowFit, naive_bayes: Sequence[ClassConditional]) -> str | None:
    """Return which classifier has the scores nearest to those that devices validated; None without a round.

    The validated model is of an earlier training, so its scores are seldom exactly those of either.
    """
    result = estimates.validation.validation_result if estimates.validation else None
    if result is None:
        return None
    places = [place for place in fit.fitted if place in result.selected_features]
    distances = [_compare_scores(result.model, each, places) for each in (fit.conditionals, naive_bayes)]
    return FITTED if fit.kept and distances[0] < distances[1] else NAIVE_BAYES


def _compare_scores(
    model: Validation, conditionals: Sequence[ClassConditional], places: Sequence[int]
) -> float:
    """Return the squared distance of the scores of discrete features, centred over the classes."""
    total = 0.0
    for place in places:
        table = conditionals[place]
        if isinstance(model.features[place], NumericFeature) or isinstance(table, Gaussian):
            continue
        difference = np.array(model.scores[place]) / NATS - np.log(table)
        total += float(np.square(difference - difference.mean(axis=1, keepdims=True)).sum())
    return total
