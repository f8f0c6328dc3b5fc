"""Trains a model on the reports of a survey and on rows without labels, and describes it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from encoders.survey import Feature, Plan
from ldp_aggregator.arrays import FloatArray
from ldp_aggregator.estimation import ClassConditional, Estimates
from ldp_aggregator.estimation.unlabelled_summary import (
    ClassifierKind,
    MeasuredAccuracy,
    UnlabelledSummary,
)
from ldp_aggregator.models.classifier_choice import Choice, choose_classifier
from ldp_aggregator.models.model_document import no_classifier
from ldp_aggregator.models.unlabelled_rows import UnlabelledRowsError, read_unlabelled_rows
from ldp_aggregator.snapshot import Snapshot


@dataclass(frozen=True, kw_only=True)
class UnlabelledClassifier:
    """The classifier of a model that was trained with rows without labels."""

    prior: FloatArray
    """Shape (k,)."""
    conditionals: tuple[ClassConditional, ...]
    """The logarithms add up to the scores; they are weights, not estimates. Tuple of (A_i, k) arrays and
    Gaussians."""
    kept: bool
    """Whether this is the classifier fitted to the rows; otherwise it is Naive Bayes."""
    summary: UnlabelledSummary
    """What the model file contains about the rows."""
    estimates: Estimates
    """The estimates to save with this classifier. If two validation rounds compared classifiers, their
    `validation` is the round that validated this one."""
    compared: Estimates | None = None
    """The estimates of the validation round of the other classifier; None unless two rounds compared them."""

    @property
    def compared_snapshot(self) -> Snapshot | None:
        """The counters of the validation round of the other classifier, if two rounds compared them."""
        result = self.compared.validation_result if self.compared else None
        return result.snapshot if result else None


def fit_unlabelled(
    snapshot: Snapshot,
    estimates: Estimates,
    rows: Any,
    *,
    public: bool = False,
    second_validation: Snapshot | None = None,
    entries: Sequence[Feature] = (),
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
    second_validation : Snapshot, optional
        The counters of a second validation round, beside that of the estimates. One of the two rounds
        validated Naive Bayes, the other the classifier fitted to these reports and rows. Their answers then
        choose; save the `estimates` of the result.
    entries : sequence of Feature, optional
        The entries of the rows with their missing codes, by default those of the plan.

    Raises
    ------
    ModelError
        If the survey has no label.
    UnlabelledRowsError
        If the rows are too few, have no column of the survey, or contradict the reports too much; if two
        validation rounds did not validate one classifier each.
    RowError
        If a value of a row does not fit the survey.
    DiscriminativeError
        If the survey does not allow a fit.
    EstimationError
        If the second round validated a model of another survey.
    """
    if not estimates.has_label:
        raise no_classifier(snapshot.plan, "unlabelled rows cannot improve one")
    if estimates.estimator != "default":
        raise UnlabelledRowsError("a fit to unlabelled rows needs estimates with estimator='default'")
    read = read_unlabelled_rows(snapshot.plan, rows, entries)
    choice = choose_classifier(snapshot, estimates, read, second_validation)
    fit, plan = choice.fit, snapshot.plan
    return UnlabelledClassifier(
        prior=fit.prior,
        conditionals=fit.conditionals,
        kept=fit.kept,
        estimates=choice.estimates,
        compared=choice.compared,
        summary=UnlabelledSummary(
            classifier=ClassifierKind.FITTED if fit.kept else ClassifierKind.NAIVE_BAYES,
            chosen_by=choice.chosen_by,
            association=round(fit.association, 2),
            confidence=round(fit.confidence, 3),
            rows=round_to_one_digit(len(read.codes)),
            declared_public=public,
            fitted=_name(plan, fit.fitted),
            absent=_name(plan, sorted(set(range(len(plan.features))) - read.present)),
            contradicting=_name(plan, fit.contradicting),
            validated=choice.validated,
            compared=_measure(choice) if choice.compared else None,
        ),
    )


def round_to_one_digit(count: int) -> int:
    """Return a number rounded to its first digit."""
    return int(float(f"{count:.0e}"))


def _name(plan: Plan, indices: Sequence[int]) -> tuple[str, ...]:
    return tuple(plan.features[index].name for index in indices)


def _measure(choice: Choice) -> dict[ClassifierKind, MeasuredAccuracy]:
    """Return the results of two validation rounds, by classifier."""
    other = next(
        each for each in (ClassifierKind.FITTED, ClassifierKind.NAIVE_BAYES) if each != choice.validated
    )
    assert choice.validated is not None
    measured = {}
    for kind, estimates in ((choice.validated, choice.estimates.validation), (other, choice.compared)):
        assert estimates is not None
        assert estimates.validation_result is not None
        value, stderr = estimates.validation_result.selected_accuracy
        known = math.isfinite(value) and math.isfinite(stderr)
        measured[kind] = MeasuredAccuracy(
            survey=estimates.survey,
            reports=estimates.reports,
            accuracy=value if known else None,
            stderr=stderr if known else None,
        )
    return measured
