"""Chooses between Naive Bayes and a classifier fitted to rows without labels, by validation rounds if any.

The reports alone choose by their noise. If each of two validation rounds validated one of the classifiers,
their answers choose. A plan does not name the kind of its model, so a round is recognised by its scores: they
are those of one of the two classifiers that the same reports and rows train.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from statistics import NormalDist

import numpy as np

from encoders.survey.validation_round import NATS, Validation
from ldp_aggregator.arrays import FloatArray
from ldp_aggregator.estimation import ClassConditional, Estimates, estimate_parameters, estimate_snapshot
from ldp_aggregator.estimation.unlabelled_summary import ChosenBy, ClassifierKind
from ldp_aggregator.estimation.validation_result import SELECTION_ERROR, ValidationResult
from ldp_aggregator.models.unlabelled_fit import RowFit, fit_to_rows
from ldp_aggregator.models.unlabelled_rows import UnlabelledRows, UnlabelledRowsError
from ldp_aggregator.models.validation_scores import round_conditionals, round_prior
from ldp_aggregator.snapshot import Snapshot

Classifier = tuple[FloatArray, Sequence[ClassConditional]]
"""The prior and the conditionals of a classifier."""
_TOLERANCE = 0.01
"""Distance, in nats, up to which scores count as equal; floats differ a little between machines."""
_SHARE = 0.1
"""The same as a share of the distance to the other classifier: a few late reports change scores a little."""


@dataclass(frozen=True, kw_only=True)
class Choice:
    """The classifier that is kept, and why."""

    fit: RowFit
    """The classifier: the fit, or Naive Bayes."""
    estimates: Estimates
    """The estimates that belong to it: `validation` is the round that validated it, if two rounds did."""
    validated: ClassifierKind | None
    """The classifier that this round validated: None without a round."""
    chosen_by: ChosenBy = ChosenBy.REPORTS
    compared: Estimates | None = None
    """The estimates of the round that validated the other classifier; None unless there are two rounds."""


def choose_classifier(
    snapshot: Snapshot, estimates: Estimates, rows: UnlabelledRows, second: Snapshot | None = None
) -> Choice:
    """Fit a classifier to reports and rows, and choose between it and Naive Bayes.

    Parameters
    ----------
    snapshot : Snapshot
    estimates : Estimates
        Their `validation` is the first validation round, if there is one.
    rows : UnlabelledRows
    second : Snapshot, optional
        The counters of the second validation round.

    Raises
    ------
    UnlabelledRowsError
        As :func:`fit_to_rows`, and if the two rounds did not validate one classifier each.
    DiscriminativeError, EstimationError
    """
    training = _TrainedClassifiers(snapshot, rows)
    first_result = _find_result(estimates)
    if second is None:
        validated = training.find_kind(first_result) if first_result else None
        return Choice(fit=training.fit(estimates), estimates=estimates, validated=validated)
    if first_result is None:
        raise UnlabelledRowsError("a second validation round needs estimates with a first validation round")
    others = estimate_snapshot(snapshot, validation=second, poisoning=estimates.poisoning is not None)
    second_result = _find_result(others)
    assert second_result is not None
    results = (first_result, second_result)
    kinds = [training.find_kind(each) for each in results]
    _require_both(results, kinds)
    kept, chosen_by = compare_classifiers(dict(zip(kinds, results, strict=True)))
    by_kind = dict(zip(kinds, (estimates, others), strict=True))
    fit = training.fit(by_kind[ClassifierKind.FITTED])
    if not fit.kept:  # the features that the round selects are too few for a fit
        kept, chosen_by = ClassifierKind.NAIVE_BAYES, ChosenBy.REPORTS
    if kept == ClassifierKind.NAIVE_BAYES:
        plain = by_kind[ClassifierKind.NAIVE_BAYES]
        fit = fit.keep_naive_bayes(plain.prior, tuple(each.smoothed for each in plain.features))
    other = by_kind[
        ClassifierKind.FITTED if kept == ClassifierKind.NAIVE_BAYES else ClassifierKind.NAIVE_BAYES
    ]
    return Choice(
        fit=fit, estimates=by_kind[kept], validated=kept, chosen_by=chosen_by, compared=other.validation
    )


def compare_classifiers(
    results: Mapping[ClassifierKind, ValidationResult],
) -> tuple[ClassifierKind, ChosenBy]:
    """Return which of the two classifiers to keep, and whether answers or reports chose it.

    The reports chose the fitted classifier. It is kept unless the accuracy of Naive Bayes is significantly
    higher, each with the features that its round selects; one-sided, with probability of error
    SELECTION_ERROR.
    """
    (fitted, fitted_error), (plain, plain_error) = (
        results[kind].selected_accuracy for kind in (ClassifierKind.FITTED, ClassifierKind.NAIVE_BAYES)
    )
    gain, error = fitted - plain, math.hypot(fitted_error, plain_error)
    significant = abs(gain) > NormalDist().inv_cdf(1 - SELECTION_ERROR) * error
    if not significant:  # also if an accuracy is unknown
        return ClassifierKind.FITTED, ChosenBy.REPORTS
    return (ClassifierKind.FITTED if gain > 0 else ClassifierKind.NAIVE_BAYES), ChosenBy.ANSWERS


def _find_result(estimates: Estimates) -> ValidationResult | None:
    return estimates.validation.validation_result if estimates.validation else None


def _require_both(results: Sequence[ValidationResult], kinds: Sequence[ClassifierKind]) -> None:
    """Raise UnlabelledRowsError unless two rounds validated one classifier of each kind."""
    names = [each.snapshot.plan.id for each in results if each.snapshot]
    for name, kind in zip(names, kinds, strict=True):
        if kind == ClassifierKind.OTHER:
            raise UnlabelledRowsError(
                f"{name} validated a model that is neither of the two classifiers that these reports and "
                "rows train: name the reports and rows that its model was trained on, or leave this round out"
            )
    if kinds[0] == kinds[1]:
        raise UnlabelledRowsError(
            f"{names[0]} and {names[1]} both validated the same kind of classifier, {kinds[0]}: name one of "
            "them"
        )


# -- recognising a validated model ----------------------------------------------------------------


@dataclass(frozen=True)
class _TrainedClassifiers:
    """Trains the two classifiers on the same reports and rows."""

    snapshot: Snapshot
    rows: UnlabelledRows

    @cached_property
    def naive_bayes(self) -> Classifier:
        """Naive Bayes of all features."""
        parameters = estimate_parameters(self.snapshot)
        return parameters.prior, parameters.conditionals

    @cached_property
    def all_features(self) -> frozenset[int]:
        """All features of the survey."""
        return frozenset(range(len(self.snapshot.plan.features)))

    @cached_property
    def full_fit(self) -> RowFit:
        """The fit of all features."""
        return self.fit_features(self.all_features)

    def fit_features(self, features: Collection[int]) -> RowFit:
        """Fit some features, the others keep the scores of Naive Bayes."""
        prior, conditionals = self.naive_bayes
        return fit_to_rows(self.snapshot, prior, conditionals, self.rows, features)

    def fit(self, estimates: Estimates) -> RowFit:
        """Fit the features that the estimates use; the others are uninformative after a validation."""
        if estimates.used_features == self.all_features:
            return self.full_fit
        conditionals = [feature.smoothed for feature in estimates.features]
        return fit_to_rows(self.snapshot, estimates.prior, conditionals, self.rows, estimates.used_features)

    def find_kind(self, result: ValidationResult) -> ClassifierKind:
        """Return which classifier a round validated."""
        assert result.snapshot is not None
        model = result.snapshot.plan.validation
        assert model is not None
        if not _measure_distance(model, self.naive_bayes):  # saves the time of a fit
            return ClassifierKind.NAIVE_BAYES
        # the order lacks features that an earlier round did not select, or that are uninformative
        feature_sets = dict.fromkeys((self.all_features, frozenset(model.order)))
        fits = [fit for features in feature_sets for fit in self._try_fit(features)]
        return find_nearest(
            model, {ClassifierKind.NAIVE_BAYES: [self.naive_bayes], ClassifierKind.FITTED: fits}
        )

    def _try_fit(self, features: frozenset[int]) -> list[Classifier]:
        """Return the fit of some features; nothing if it is not kept, or if the rows do not allow it."""
        try:
            fit = self.full_fit if features == self.all_features else self.fit_features(features)
        except UnlabelledRowsError:  # the features that the model uses may allow a fit
            return []
        return [(fit.prior, fit.conditionals)] if fit.kept else []


def find_nearest(
    model: Validation, classifiers: Mapping[ClassifierKind, Sequence[Classifier]]
) -> ClassifierKind:
    """Return the kind of the classifier that has the scores of a validated model, or ClassifierKind.OTHER.

    Parameters
    ----------
    model : Validation
    classifiers : mapping from kind to sequence of Classifier
        The classifiers of two kinds that the same reports and rows train.
    """
    distances = {
        kind: min((_measure_distance(model, each) for each in of_kind), default=math.inf)
        for kind, of_kind in classifiers.items()
    }
    nearest, other = sorted(distances, key=lambda kind: distances[kind])
    limit = _SHARE * distances[other] if math.isfinite(distances[other]) else 0.0
    return nearest if distances[nearest] <= max(_TOLERANCE, limit) else ClassifierKind.OTHER


def _measure_distance(model: Validation, classifier: Classifier) -> float:
    """Return the Euclidean distance of the scores that the model uses, centred over the classes, in nats."""
    prior, conditionals = classifier
    tables = round_conditionals(model.features, conditionals)
    pairs = [
        ((model.prior,), (round_prior(prior),)),
        *((model.scores[index], tables[index]) for index in model.order),
    ]
    differences = np.concatenate([np.subtract(one, other) for one, other in pairs]) / NATS
    return float(np.linalg.norm(differences - differences.mean(axis=1, keepdims=True)))
