"""Computes all estimates of a survey from a snapshot of its counters."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from encoders.survey import Plan
from encoders.survey.features import NO_LABEL
from encoders.survey.silo_plan import SiloPlan
from ldp_aggregator.arrays import BoolArray, FloatArray
from ldp_aggregator.estimation.class_prior import pool_prior
from ldp_aggregator.estimation.cross_tables import TableResult, describe_tables
from ldp_aggregator.estimation.estimators import (
    ESTIMATORS,
    ClassConditionals,
    EstimationError,
    Estimator,
)
from ldp_aggregator.estimation.feature_descriptions import describe_features
from ldp_aggregator.estimation.feature_result import FeatureResult
from ldp_aggregator.estimation.intervals import IntervalEstimate, detect_non_uniform_classes
from ldp_aggregator.estimation.json_form import (
    read_count,
    read_probabilities,
    read_text,
    read_texts,
    reading,
    to_json_list,
)
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

_Part = TypeVar("_Part")
_ONE_CLASS = pool_prior([], 1).estimate
_NO_LABEL_ENTRIES = NO_LABEL.as_dict() | {"n": None, "prior": _ONE_CLASS.as_dict(), "smoothed": [1.0]}


@dataclass(frozen=True)
class Estimates:
    """All estimates of a survey."""

    survey: str
    plan_digest: str
    estimator: str
    label: str
    """Name of the label; empty without one."""
    classes: tuple[str, ...]
    """The values of the label, in the order of their codes; one empty text without a label."""
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
    """Whether reports look fake, and how far fake ones could move the estimates; None if not
    computed."""
    tables: tuple[TableResult, ...] = ()
    """Of the questions about several features."""
    validation_result: ValidationResult | None = None
    """The validation result, if the survey is a validation round."""
    validation: Estimates | None = None
    """The estimates of a validation round of an earlier model, or None. The classifier uses only the
    features that the round selects."""
    silos: SiloSummary | None = None
    """What the estimates contain from silos; None for a survey of people alone."""

    @property
    def has_label(self) -> bool:
        """Whether the survey has a label. Without one, all people are one class."""
        return len(self.classes) > 1

    @property
    def used_features(self) -> frozenset[int]:
        """Indices of the features that the classifier uses: all, or those that a validation round selects."""
        result = self.validation.validation_result if self.validation else None
        return result.find_selected(self.features) if result else frozenset(range(len(self.features)))

    @property
    def validation_snapshot(self) -> Snapshot | None:
        """The counters of the validation round, if there was one."""
        result = self.validation.validation_result if self.validation else None
        return result.snapshot if result else None

    @property
    def people(self) -> int:
        """Number of reports of people, or of silos' rows, or their sum if both are pooled."""
        if self.silos is None:
            return self.reports
        return max(round(self.silos.rows), 0) + (self.silos.people or 0)

    @property
    def non_uniform(self) -> BoolArray:
        """For which classes the share differs significantly from 1/k. Shape (k,)."""
        return detect_non_uniform_classes(self.raw_prior)

    def as_dict(self) -> dict[str, Any]:
        """Return all estimates for JSON; unknown and infinite values become None."""
        return {
            "survey": self.survey,
            "plan_digest": self.plan_digest,
            "estimator": self.estimator,
            "reports": self.reports,
            **({"label": self._label_entries()} if self.has_label else {}),
            "features": [feature.as_dict() for feature in self.features],
            **({"tables": [table.as_dict() for table in self.tables]} if self.tables else {}),
            "poisoning": self.poisoning.as_dict() if self.poisoning else None,
            "validation_result": self.validation_result.as_dict() if self.validation_result else None,
            "validation": self.validation.as_dict() if self.validation else None,
            "silos": self.silos.as_dict() if self.silos else None,
        }

    def _label_entries(self) -> dict[str, Any]:
        return {
            "name": self.label,
            "values": list(self.classes),
            "n": self.label_n,
            "prior": self.raw_prior.as_dict(),
            "non_uniform": self.non_uniform.tolist(),
            "smoothed": to_json_list(self.prior),
        }

    @classmethod
    def from_dict(cls, document: Mapping[str, Any]) -> Estimates:
        """Return the estimates that :meth:`as_dict` wrote; counters of further rounds and silos are None.

        Raises
        ------
        ValueError
            If an entry is missing or of a wrong type, shape or size; the message names it.
        """
        with reading("label"):
            label = document.get("label", _NO_LABEL_ENTRIES)
            classes, label_n = read_texts(label["values"]), label["n"]
            k = len(classes)
            raw_prior = IntervalEstimate.from_dict(label["prior"], (k,))
            prior = read_probabilities(label["smoothed"], (k,), read_text(label["name"]))
        features = []
        for index, entry in enumerate(document["features"]):
            with reading(f"features.{index}"):
                kind = NumberResult if entry["kind"] == NumberResult.kind else FeatureResult
                features.append(kind.from_dict(entry, k))
        texts = {}
        tables = []
        for index, entry in enumerate(document.get("tables", ())):
            with reading(f"tables.{index}"):
                tables.append(TableResult.from_dict(entry))
        for name in ("survey", "plan_digest", "estimator"):
            with reading(name):
                texts[name] = read_text(document[name])
        with reading("reports"):
            reports = read_count(document["reports"])

        def read(name: str, parse: Callable[[Any], _Part]) -> _Part | None:
            with reading(name):
                return None if document[name] is None else parse(document[name])

        return cls(
            **texts,
            label=label["name"],
            classes=classes,
            label_n=None if label_n is None else read_count(label_n),
            reports=reports,
            raw_prior=raw_prior,
            prior=prior,
            features=tuple(features),
            tables=tuple(tables),
            poisoning=read("poisoning", PoisoningSummary.from_dict),
            validation_result=read("validation_result", ValidationResult.from_dict),
            validation=read("validation", cls.from_dict),
            silos=read("silos", lambda entry: SiloSummary.from_dict(entry, k)),
        )


def estimate_snapshot(
    snapshot: AnySnapshot,
    estimator: str = "default",
    validation: Snapshot | None = None,
    poisoning: bool = False,
    silos: Sequence[SiloSnapshot] = (),
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
        Whether to check the reports of people for fake ones; this takes up to 50% longer.
    silos : sequence of SiloSnapshot
        The counters of further surveys of silos with the same label and features, whose estimates are pooled
        with those of `snapshot`, see :mod:`pooling`.

    Raises
    ------
    EstimationError
        If the estimator is unknown or needs a question that the survey does not ask, if the validated model
        is not a model of this survey, or if a survey of silos has another label or other features.
    """
    stages, plan = _find_estimator(estimator), snapshot.plan
    # 1. Raw estimates: unbiased frequencies and moments of every question, with their covariances.
    surveys, raw = _estimate_raw(snapshot, silos)

    # 2. The class prior: raw for people, smoothed for the classifier.
    prior = stages.estimate_prior(raw)

    # 3. Per feature, P(value | class) for the classifier: a table, or a normal distribution per class.
    conditionals = stages.estimate_conditionals(raw, prior.smoothed)

    # 4. If there was a validation round: features that it does not select become uninformative.
    validated = _estimate_validation(snapshot, validation, poisoning)
    conditionals = _mask_unselected(conditionals, prior.smoothed, plan, validated)

    # 5. Per feature and table, the raw estimates with confidence intervals, for people.
    features = describe_features(snapshot, raw, conditionals, prior.smoothed)

    # 6. On request: tests for fake reports, and how far such reports could move the estimates.
    described = features if raw is surveys[0] else None
    summary = _check_reports(snapshot, surveys[0], described, conditionals, stages) if poisoning else None

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
        tables=describe_tables(raw.tables),
        validation_result=find_validation_result(snapshot),
        validation=validated,
        silos=SiloSummary.from_estimates(surveys),
    )


def _mask_unselected(
    conditionals: ClassConditionals, prior: FloatArray, plan: Plan | SiloPlan, validated: Estimates | None
) -> ClassConditionals:
    if validated is None:
        return conditionals
    assert validated.validation_result is not None
    selected = validated.validation_result.find_selected(plan.features)
    return mask_unselected_features(conditionals, prior, selected)


def _estimate_validation(
    snapshot: AnySnapshot, validation: Snapshot | None, poisoning: bool
) -> Estimates | None:
    if validation is None:
        return None
    check_same_survey(snapshot, validation)
    return estimate_snapshot(validation, poisoning=poisoning)


def _estimate_raw(
    snapshot: AnySnapshot, silos: Sequence[SiloSnapshot]
) -> tuple[list[RawEstimates], RawEstimates]:
    """Return the raw estimates of each survey, and the pooled ones, which are those of a single survey."""
    for each in silos:
        check_same_features(snapshot.plan, each.plan)
    surveys = [compute_raw_estimates(each) for each in (snapshot, *silos)]
    return surveys, pool_estimates(surveys[0], surveys[1:]) if silos else surveys[0]


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
    silos: Sequence[SiloSnapshot] = (),
) -> NaiveBayesParameters:
    """Estimate what a classifier needs: stages 1 to 4 of :func:`estimate_snapshot`, in half the time."""
    stages = _find_estimator(estimator)
    _, raw = _estimate_raw(snapshot, silos)
    prior = stages.estimate_prior(raw).smoothed
    conditionals = stages.estimate_conditionals(raw, prior)
    if validation:
        check_same_survey(snapshot, validation)
        selected = ValidationResult.from_snapshot(validation).find_selected(snapshot.plan.features)
        conditionals = mask_unselected_features(conditionals, prior, selected)
    return NaiveBayesParameters(prior, conditionals)


def _find_estimator(name: str) -> Estimator:
    if name not in ESTIMATORS:
        raise EstimationError(f"estimator {name!r} is not one of {', '.join(ESTIMATORS)}")
    return ESTIMATORS[name]
