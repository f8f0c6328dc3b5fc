"""Computes all estimates of a survey from a snapshot of its counters."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from ldp_aggregator.arrays import FloatArray
from ldp_aggregator.estimation.estimators import (
    ESTIMATORS,
    ClassConditionals,
    EstimationError,
    Estimator,
)
from ldp_aggregator.estimation.feature_descriptions import describe_features
from ldp_aggregator.estimation.feature_result import FeatureResult
from ldp_aggregator.estimation.intervals import IntervalEstimate, detect_non_uniform_classes, to_json_list
from ldp_aggregator.estimation.number_result import NumberResult
from ldp_aggregator.estimation.poisoning.summary import PoisoningSummary, check_poisoning
from ldp_aggregator.estimation.pooling import check_same_features, pool_estimates
from ldp_aggregator.estimation.raw_estimates import RawEstimates, compute_raw_estimates
from ldp_aggregator.estimation.silo_influence import SiloSummary
from ldp_aggregator.estimation.validation_result import (
    ValidationResult,
    check_same_survey,
    find_validation_result,
    mask_unselected_features,
)
from ldp_aggregator.snapshot import AnySnapshot, SiloSnapshot, Snapshot


@dataclass(frozen=True)
class Estimates:
    """All estimates of a survey."""

    survey: str
    plan_digest: str
    estimator: str
    label: str
    """Name of the label."""
    classes: tuple[str, ...]
    """The values of the label, in the order of their codes."""
    label_n: int | None
    """Reports of the label question; None if the survey does not ask it."""
    reports: int
    """Reports of all questions, and messages of silos."""
    raw_prior: IntervalEstimate
    """P(label), (k,), unbiased; shown to people."""
    prior: FloatArray
    """P(label), a distribution; used by the classifier. Shape (k,)."""
    features: tuple[FeatureResult | NumberResult, ...]
    poisoning: PoisoningSummary | None
    """Whether reports look fabricated, and how far fabricated ones could move the estimates; None if not
    computed."""
    validation_result: ValidationResult | None = None
    """The validation result, if the survey is a validation round."""
    validation: Estimates | None = None
    """The estimates of a validation round of an earlier model, or None. The classifier uses only the
    features that the round selects."""
    silos: SiloSummary | None = None
    """What the estimates contain from silos; None for a survey of people alone."""

    @property
    def used_features(self) -> frozenset[int]:
        """Indices of the features that the classifier uses: all, or those that a validation round selects."""
        result = self.validation.validation_result if self.validation else None
        return result.selected_features if result else frozenset(range(len(self.features)))

    @property
    def validation_snapshot(self) -> Snapshot | None:
        """The counters of the validation round, if there was one."""
        result = self.validation.validation_result if self.validation else None
        return result.snapshot if result else None

    @property
    def warnings(self) -> tuple[str, ...]:
        """Warnings that a reader must know before using the estimates, one sentence each."""
        return tuple(_find_warnings(self))

    def as_dict(self) -> dict[str, Any]:
        """Return all estimates for JSON; unknown and infinite values become None."""
        optional = {
            "validation_result": self.validation_result,
            "validation": self.validation,
            "silos": self.silos,
        }
        return {name: part.as_dict() for name, part in optional.items() if part} | {
            "survey": self.survey,
            "plan_digest": self.plan_digest,
            "estimator": self.estimator,
            "reports": self.reports,
            "label": {
                "name": self.label,
                "values": list(self.classes),
                "n": self.label_n,
                "prior": self.raw_prior.as_dict(),
                "non_uniform": detect_non_uniform_classes(self.raw_prior).tolist(),
                "smoothed": to_json_list(self.prior),
            },
            "features": [feature.as_dict() for feature in self.features],
            "poisoning": self.poisoning.as_dict() if self.poisoning else None,
            "warnings": list(self.warnings),
        }


def estimate_snapshot(
    snapshot: AnySnapshot,
    estimator: str = "default",
    validation: Snapshot | None = None,
    poisoning: bool = False,
    silos: SiloSnapshot | None = None,
) -> Estimates:
    """Estimate priors, conditionals, means and variances, each with its standard error, from counters.

    Parameters
    ----------
    snapshot : Snapshot or SiloSnapshot
        The plan and the totals of its questions; questions without totals count as zero reports.
    estimator : {"default", "paper"}
        The estimator of the classifier's probabilities; raw estimates do not depend on it, except that
        "paper" takes the prior from the label question alone.
    validation : Snapshot, optional
        The counters of a round that validated an earlier model. Features that it does not select become
        uninformative for the classifier.
    poisoning : bool
        Whether to check the reports of people for fabricated ones; this takes up to 50% longer.
    silos : SiloSnapshot, optional
        The counters of a survey of silos with the same label and features, whose estimates are pooled with
        those of `snapshot`, see :mod:`pooling`.

    Raises
    ------
    EstimationError
        If the estimator is unknown or needs a question that the survey does not ask, if the validated model
        is not a model of this survey, or if the silos have another label or other features.
    """
    stages, plan = _find_estimator(estimator), snapshot.plan
    # 1. Raw estimates: unbiased frequencies and moments of every question, with their covariances.
    own, raw = _estimate_raw(snapshot, silos)

    # 2. The class prior: raw for people, smoothed for the classifier.
    prior = stages.estimate_prior(raw)

    # 3. Per feature, P(value | class) for the classifier: a table, or a normal distribution per class.
    conditionals = stages.estimate_conditionals(raw, prior.smoothed)

    # 4. If there was a validation round: features that it does not select become uninformative.
    validated = _estimate_validation(snapshot, validation, poisoning)
    if validated:
        conditionals = mask_unselected_features(conditionals, prior.smoothed, validated.validation_result)

    # 5. Per feature, the raw estimates with confidence intervals and its relevance, for people.
    features = describe_features(snapshot, raw, conditionals, prior.smoothed)

    # 6. On request: tests for fabricated reports, and how far such reports could move the estimates.
    described = features if raw is own else None
    summary = _check_reports(snapshot, own, described, conditionals, stages) if poisoning else None

    return Estimates(
        survey=plan.id,
        plan_digest=plan.digest,
        estimator=estimator,
        label=plan.label.name,
        classes=tuple(plan.label.values),
        label_n=raw.label.n if raw.label else None,
        reports=raw.reports,
        raw_prior=prior.raw,
        prior=prior.smoothed,
        features=features,
        poisoning=summary,
        validation_result=find_validation_result(snapshot),
        validation=validated,
        silos=SiloSummary.from_estimates(own, raw),
    )


def _estimate_validation(
    snapshot: AnySnapshot, validation: Snapshot | None, poisoning: bool
) -> Estimates | None:
    if validation is None:
        return None
    check_same_survey(snapshot, validation)
    return estimate_snapshot(validation, poisoning=poisoning)


def _estimate_raw(snapshot: AnySnapshot, silos: SiloSnapshot | None) -> tuple[RawEstimates, RawEstimates]:
    """Return the raw estimates of a survey, and the same pooled with those of silos, if there are any."""
    own = compute_raw_estimates(snapshot)
    if silos is None:
        return own, own
    if not isinstance(snapshot, Snapshot):
        raise EstimationError("estimates of silos are pooled with those of a survey of people")
    check_same_features(snapshot.plan, silos.plan)
    return own, pool_estimates(own, compute_raw_estimates(silos))


def _check_reports(
    snapshot: AnySnapshot,
    raw: RawEstimates,
    features: Sequence[FeatureResult | NumberResult] | None,
    conditionals: ClassConditionals,
    stages: Estimator,
) -> PoisoningSummary | None:
    """Check the reports of people; their features are described here unless they are given."""
    if not isinstance(snapshot, Snapshot):
        return None
    prior = stages.estimate_prior(raw)
    if features is None:
        features = describe_features(snapshot, raw, conditionals, prior.smoothed)
    return check_poisoning(snapshot, raw, features, prior.raw)


@dataclass(frozen=True)
class NaiveBayesParameters:
    """The probabilities that a Naive Bayes classifier uses."""

    prior: FloatArray
    """P(label). Shape (k,)."""
    conditionals: ClassConditionals
    """P(value | label) of each feature; each column of a table is a distribution. Tuple of (A_i, k) arrays
    and Gaussians."""


def estimate_parameters(
    snapshot: AnySnapshot,
    estimator: str = "default",
    validation: Snapshot | None = None,
    silos: SiloSnapshot | None = None,
) -> NaiveBayesParameters:
    """Estimate what a classifier needs: stages 1 to 4 of :func:`estimate_snapshot`, in half the time."""
    stages = _find_estimator(estimator)
    _, raw = _estimate_raw(snapshot, silos)
    prior = stages.estimate_prior(raw).smoothed
    conditionals = stages.estimate_conditionals(raw, prior)
    if validation:
        check_same_survey(snapshot, validation)
        conditionals = mask_unselected_features(
            conditionals, prior, ValidationResult.from_snapshot(validation)
        )
    return NaiveBayesParameters(prior, conditionals)


def _find_estimator(name: str) -> Estimator:
    if name not in ESTIMATORS:
        raise EstimationError(f"estimator {name!r} is not one of {', '.join(ESTIMATORS)}")
    return ESTIMATORS[name]


def _find_warnings(estimates: Estimates) -> Iterator[str]:
    silos = estimates.silos
    if estimates.reports == 0:
        sent = "reports" if silos is None or silos.people is not None else "messages"
        yield f"there are no {sent} yet, so the estimates contain no information"
        return
    if silos and silos.warning:
        yield silos.warning
    for feature in estimates.features:
        if feature.warning:
            yield f"{feature.name}: {feature.warning}"
    if estimates.poisoning:
        for check in estimates.poisoning.questions:
            if check.warning:
                yield f"{check.question}: {check.warning}"
    if estimates.validation:
        yield from (f"{estimates.validation.survey}: {each}" for each in estimates.validation.warnings)
    if not math.isfinite(float(estimates.raw_prior.stderr.max())):
        yield f"{estimates.label}: no reports estimate its prior"
