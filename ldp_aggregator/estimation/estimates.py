"""From a snapshot of totals to everything that is known about a survey's population."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from encoders.survey.numeric_features import NumericFeature
from ldp_aggregator.arrays import FloatArray
from ldp_aggregator.estimation.contrasts import detect_non_uniform_classes
from ldp_aggregator.estimation.estimators import ESTIMATORS, EstimationError, Estimator, NaiveBayesParameters
from ldp_aggregator.estimation.feature_result import FeatureResult
from ldp_aggregator.estimation.intervals import IntervalEstimate, jsonable
from ldp_aggregator.estimation.meter import measure_estimates
from ldp_aggregator.estimation.number_result import NumberResult, QuestionSummary
from ldp_aggregator.estimation.numeric.gaussians import Gaussian
from ldp_aggregator.estimation.numeric.number import Number
from ldp_aggregator.estimation.poisoning.summary import Poisoning
from ldp_aggregator.estimation.raw_estimates import RawEstimates, asked_about, compute_raw_estimates, total_of
from ldp_aggregator.estimation.validation_result import ValidationResult, make_uninformative
from ldp_aggregator.snapshot import Snapshot


@dataclass(frozen=True)
class Estimates:
    """What is known about a survey's population.

    Attributes
    ----------
    survey, plan_digest, estimator : str
    label : str
        Name of the label.
    classes : tuple of str
        The labels, in the order of their codes.
    label_n : int or None
        Reports of the label question; None if the survey does not ask it.
    reports : int
        Reports of all questions together.
    raw_prior : IntervalEstimate
        (k,) P(label), unbiased, for people.
    prior : (k,) array
        P(label), consistent, for the classifier.
    features : tuple of (FeatureResult or NumberResult)
    poisoning : Poisoning
        Whether reports look made up, and how far made-up ones could move the figures.
    validation_result : ValidationResult or None
        What devices said of a model, if that is what the survey asks.
    validation : Estimates or None
        Those of a further round, in which devices judged an earlier model: the classifier uses what it keeps.
    """

    survey: str
    plan_digest: str
    estimator: str
    label: str
    classes: tuple[str, ...]
    label_n: int | None
    reports: int
    raw_prior: IntervalEstimate
    prior: FloatArray
    features: tuple[FeatureResult | NumberResult, ...]
    poisoning: Poisoning
    validation_result: ValidationResult | None = None
    validation: Estimates | None = None

    @property
    def used_features(self) -> frozenset[int]:
        """The features that the classifier uses, by place: all, or those that a judged model keeps."""
        verdicts = self.validation.validation_result if self.validation else None
        return verdicts.selected_features if verdicts else frozenset(range(len(self.features)))

    @property
    def validation_snapshot(self) -> Snapshot | None:
        """The totals of the round in which devices judged an earlier model, if there was one."""
        verdicts = self.validation.validation_result if self.validation else None
        return verdicts.snapshot if verdicts else None

    @property
    def warnings(self) -> tuple[str, ...]:
        """What a reader should know before trusting the figures, one sentence each."""
        return tuple(_warnings(self))

    def as_dict(self) -> dict[str, Any]:
        """Return everything for JSON; unknown and infinite figures become None."""
        more = {"verdicts": self.validation_result, "validation": self.validation}
        return {name: part.as_dict() for name, part in more.items() if part} | {
            "survey": self.survey,
            "plan_digest": self.plan_digest,
            "estimator": self.estimator,
            "reports": self.reports,
            "label": {
                "name": self.label,
                "values": list(self.classes),
                "n": self.label_n,
                "prior": self.raw_prior.as_dict(),
                "uneven": detect_non_uniform_classes(self.raw_prior).tolist(),
                "smoothed": jsonable(self.prior),
            },
            "features": [feature.as_dict() for feature in self.features],
            "poisoning": self.poisoning.as_dict(),
            "warnings": list(self.warnings),
        }


def estimate_snapshot(
    snapshot: Snapshot, estimator: str = "default", validation: Snapshot | None = None
) -> Estimates:
    """Estimate priors, conditionals, means and variances, each with its standard error, from totals.

    Parameters
    ----------
    snapshot : Snapshot
        The plan and the totals of its questions; questions without totals count as zero reports.
    estimator : {"default", "paper"}
        The recipe for the classifier's probabilities; raw figures do not depend on it, except that
        "paper" takes the prior from the label question alone.
    validation : Snapshot, optional
        The totals of a round that judged an earlier model: for the classifier, features that it did better
        without tell nothing of the label.

    Raises
    ------
    EstimationError
        On an unknown estimator, or one that needs a question the survey does not ask; or if what was judged
        is no model of this survey.
    """
    plan, answers = snapshot.plan, compute_raw_estimates(snapshot)
    judged = estimate_snapshot(_of_same(snapshot, validation)) if validation else None
    chosen = _keeping(_recipe(estimator)(answers), judged.validation_result if judged else None)
    features = tuple(_features(snapshot, answers, chosen))
    return Estimates(
        survey=plan.id,
        plan_digest=plan.digest,
        estimator=estimator,
        label=plan.label.name,
        classes=tuple(plan.label.values),
        label_n=answers.label.n if answers.label else None,
        reports=answers.reports,
        raw_prior=chosen.raw_prior,
        prior=chosen.prior,
        features=features,
        poisoning=measure_estimates(snapshot, answers, features, chosen.raw_prior),
        validation_result=ValidationResult.from_snapshot(snapshot) if plan.validation else None,
        validation=judged,
    )


def estimate_parameters(
    snapshot: Snapshot, estimator: str = "default", validation: Snapshot | None = None
) -> NaiveBayesParameters:
    """Estimate only what a classifier needs, see :func:`estimate_snapshot`: the short way for simulations."""
    verdicts = ValidationResult.from_snapshot(_of_same(snapshot, validation)) if validation else None
    return _keeping(_recipe(estimator)(compute_raw_estimates(snapshot)), verdicts)


def _of_same(snapshot: Snapshot, validation: Snapshot) -> Snapshot:
    """Return a validation that is of the same survey, and spends as much; else raise EstimationError."""
    plan, other = snapshot.plan, validation.plan
    judged = other.validation
    own = (plan.family, plan.label, plan.features, plan.projection)
    if not judged or own != (other.family, judged.label, judged.features, judged.projection):
        raise EstimationError(f"{other.id} validates no model of {plan.id}: it is not of that survey")
    if other.epsilon != plan.epsilon:
        why = "one family spends the same in each round"
        raise EstimationError(
            f"{other.id} spends epsilon {other.epsilon}, and {plan.id} {plan.epsilon}: {why}"
        )
    return validation


def _keeping(found: NaiveBayesParameters, verdicts: ValidationResult | None) -> NaiveBayesParameters:
    """Silence the features that a judged model does not keep."""
    if verdicts is None:
        return found
    kept, pairs = verdicts.selected_features, enumerate(found.conditionals)
    conditionals = (each if place in kept else make_uninformative(each, found.prior) for place, each in pairs)
    return replace(found, conditionals=tuple(conditionals))


def _recipe(estimator: str) -> Estimator:
    if estimator not in ESTIMATORS:
        raise EstimationError(f"estimator {estimator!r} is not one of {', '.join(ESTIMATORS)}")
    return ESTIMATORS[estimator]


def _features(
    snapshot: Snapshot, answers: RawEstimates, chosen: NaiveBayesParameters
) -> Iterator[FeatureResult | NumberResult]:
    asked = asked_about(snapshot.plan)
    parts = zip(answers.features, answers.feature_estimates, chosen.conditionals, strict=True)
    for place, (feature, heard, conditional) in enumerate(parts):
        if isinstance(feature, NumericFeature):
            assert isinstance(heard, Number)
            assert isinstance(conditional, Gaussian)
            counted = [
                QuestionSummary.from_question(each, total_of(snapshot, each).n if each else 0)
                for each in asked[place]
            ]
            yield NumberResult.from_estimates(feature, counted, heard, conditional, chosen.prior)
        else:
            assert not isinstance(heard, Number)
            assert not isinstance(conditional, Gaussian)
            yield FeatureResult.from_estimates(feature, heard, conditional, chosen.prior)


def _warnings(estimates: Estimates) -> Iterator[str]:
    if estimates.reports == 0:
        yield "there are no reports yet: every figure is a guess"
        return
    for feature in estimates.features:
        if feature.warning:
            yield f"{feature.name}: {feature.warning}"
    for meter in estimates.poisoning.questions:
        if meter.warning:
            yield f"{meter.question}: {meter.warning}"
    if estimates.validation:
        yield from (f"{estimates.validation.survey}: {each}" for each in estimates.validation.warnings)
    if not math.isfinite(float(estimates.raw_prior.stderr.max())):
        yield f"{estimates.label}: nothing is known about the prior"
