"""Computes all estimates of a survey, and the result of each feature, from a snapshot of its counters."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from encoders.survey.features import NumericFeature
from ldp_aggregator.arrays import BoolArray, FloatArray
from ldp_aggregator.codec import OPTIONAL, require, to_json
from ldp_aggregator.estimation import raw_estimates
from ldp_aggregator.estimation.class_prior import pool_prior
from ldp_aggregator.estimation.discrete.frequencies import compute_sum_covariances, project_simplex
from ldp_aggregator.estimation.estimators import (
    ESTIMATORS,
    ClassConditionals,
    EstimationError,
    Estimator,
    Gaussian,
    NaiveBayesParameters,
)
from ldp_aggregator.estimation.feature_result import FeatureResult
from ldp_aggregator.estimation.intervals import IntervalEstimate, detect_non_uniform_classes
from ldp_aggregator.estimation.number_result import NumberResult
from ldp_aggregator.estimation.numeric.number import ClassMoments
from ldp_aggregator.estimation.poisoning.published import PublishedEstimates
from ldp_aggregator.estimation.poisoning.summary import PoisoningSummary, check_poisoning
from ldp_aggregator.estimation.pooling import check_same_features, pool_estimates
from ldp_aggregator.estimation.silo_influence import SiloSummary
from ldp_aggregator.estimation.table_result import TableResult, describe_tables
from ldp_aggregator.estimation.validation_result import (
    ValidationResult,
    check_same_survey,
    make_uninformative,
)
from ldp_aggregator.snapshot import AnySnapshot, SiloSnapshot, Snapshot

_ONE_CLASS = pool_prior([], 1).estimate


class Majority(NamedTuple):
    place: int
    """The index among the classes."""
    name: str
    share: float


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
    class_counts: IntervalEstimate | None = field(default=None, metadata=OPTIONAL)
    """Number of rows of each class, (k,), of which noise is the only error; of a curator alone."""

    JSON_DERIVED = ("non_uniform",)

    @property
    def has_label(self) -> bool:
        """Whether the survey has a label. Without one, all people are one class."""
        return len(self.classes) > 1

    @property
    def used_features(self) -> frozenset[int]:
        """Indices of the features that the classifier uses: all, or those that a validation round selects."""
        result = self.validation.validation_result if self.validation else None
        names = [each.name for each in self.features]
        return result.find_selected(names) if result else frozenset(range(len(names)))

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

    @property
    def majority(self) -> Majority | None:
        """The class with the largest estimated share; None if the shares are unknown."""
        if not np.isfinite(self.raw_prior.value).all():
            return None
        shares = project_simplex(self.raw_prior.value[None, :])[0]
        index = int(shares.argmax())
        return Majority(index, self.classes[index], float(shares[index]))

    @property
    def omitted_entries(self) -> tuple[str, ...]:
        return () if self.has_label else _OF_LABEL

    @staticmethod
    def complete_entries(values: dict[str, Any]) -> None:
        if not values.keys() & set(_OF_LABEL):
            values.update(label="", classes=("",), label_n=None, raw_prior=_ONE_CLASS)

    def as_dict(self) -> dict[str, Any]:
        """Return all estimates for JSON; unknown and infinite values become None."""
        found: dict[str, Any] = to_json(self)
        return found

    def check_entries(self) -> None:
        k = len(self.classes)
        require(self.raw_prior.value.shape == (k,), f"raw_prior: needs the shares of {k} classes")
        for each in self.features:
            of_classes = each.by_class.means if isinstance(each, NumberResult) else each.conditionals
            require(of_classes.value.shape[-1] == k, f"{each.name}: needs estimates of {k} classes")
        counts = self.class_counts
        require(
            counts is None or counts.value.shape == (k,),
            f"class_counts: needs the number of rows of {k} classes",
        )
        influence = self.silos.influence if self.silos else None
        require(influence is None or influence.prior.shape == (k,), "silos: needs moves of each class")


_OF_LABEL = ("label", "classes", "label_n", "raw_prior", "non_uniform")


def estimate_snapshot(
    snapshot: AnySnapshot,
    estimator: str = "default",
    validation: Snapshot | None = None,
    poisoning: bool = False,
    silos: Sequence[SiloSnapshot] = (),
) -> Estimates:
    """Estimate a survey from its counters; parameters and errors are those of :func:`estimate_survey`."""
    return estimate_survey(snapshot, estimator, validation, poisoning, silos)[0]


def estimate_survey(
    snapshot: AnySnapshot,
    estimator: str = "default",
    validation: Snapshot | None = None,
    poisoning: bool = False,
    silos: Sequence[SiloSnapshot] = (),
) -> tuple[Estimates, NaiveBayesParameters]:
    """Compute all estimates of a survey, and the probabilities that its classifier uses.

    Questions without totals count as zero reports. Raw estimates do not depend on the estimator, except that
    "paper" takes the prior from the label question alone.

    `validation` has the counters of a round that validated an earlier model: features that it does not select
    become uninformative for the classifier. `silos` are further surveys of silos with the same label and
    features, whose estimates are pooled, see :mod:`pooling`. `poisoning` checks the reports of people for
    fake ones; this takes up to twice as long, or several times if each person answers all questions.

    Raises EstimationError if the estimator is unknown or needs a question that the survey does not ask, if
    the validated model is not a model of this survey, or if a survey of silos has another label or other
    features.
    """
    stages, plan = _find_estimator(estimator), snapshot.plan
    # 1. Raw estimates: unbiased frequencies and moments of every question, with their covariances.
    surveys, raw = _estimate_raw(snapshot, silos)

    # 2. The class prior: raw for people, smoothed for the classifier.
    raw_prior, prior = stages.estimate_prior(raw)

    # 3. Per feature, P(value | class) for the classifier: a table, or a normal distribution per class.
    conditionals = stages.estimate_conditionals(raw, prior)

    # 4. If there was a validation round: features that it does not select become uninformative.
    conditionals = _mask_unselected(conditionals, prior, snapshot, validation)

    # 5. Per feature and table, the raw estimates with confidence intervals, for people.
    features = describe_features(snapshot, raw, conditionals, prior)

    # 6. On request: tests for fake reports, and how far such reports could move the estimates.
    described = features if raw is surveys[0] else None
    summary = _check_reports(snapshot, surveys[0], described, conditionals, stages) if poisoning else None

    estimates = Estimates(
        survey=plan.id,
        plan_digest=plan.digest,
        estimator=estimator,
        label=plan.label.name,
        classes=tuple(plan.label.values),
        label_n=raw.label.n if raw.label else None,
        reports=raw.reports,
        raw_prior=raw_prior,
        features=features,
        poisoning=summary,
        tables=describe_tables(raw.tables),
        validation_result=ValidationResult.from_snapshot(snapshot) if plan.validation else None,
        validation=estimate_snapshot(validation, poisoning=poisoning) if validation else None,
        silos=SiloSummary.from_estimates(surveys),
    )
    return estimates, NaiveBayesParameters(prior, conditionals)


def to_covariance(
    snapshot: AnySnapshot, name: str, *, by_class: bool = False, silos: Sequence[SiloSnapshot] = ()
) -> FloatArray:
    """Compute the covariance matrix of the raw shares of a feature, of the classes, or of a table.

    The variance of a sum w'F of shares is w' C w, and of a difference F_a - F_b it is C_aa + C_bb - 2 C_ab.
    If a report supports its true value with probability p and another with q, n reports of one question give
    (Wang et al. 2017, equation 4, for two values)::

        Cov(F_a, F_b) = (P(a report supports a and b) - g_a g_b) / (n (p - q)^2),   g_a = q + (p - q) f_a

    Parameters
    ----------
    snapshot : Snapshot or SiloSnapshot
        The counters. Of a survey with waves, the last wave with reports; :meth:`Snapshot.select` chooses.
    name : str
        A feature or choice of the plan, its label, or the features of a table, as in ``"age x smokes"``.
    by_class : bool
        Whether to return that of P(value, class): entry a k + c is value a in class c.
    silos : sequence of SiloSnapshot
        See :func:`estimate_survey`.

    Returns
    -------
    (A, A) array
        Of the shares of A values or cells, in their order; (A k, A k) for k classes. The diagonal has the
        squares of the standard errors. Shares have no unit. Infinite without reports.

    Raises
    ------
    EstimationError
        If the survey does not ask for shares of that name, for example of a number.
    """
    _, raw = _estimate_raw(snapshot.select(), silos)
    label, shares = snapshot.plan.label.name, raw.feature_estimates if by_class else raw.share_estimates
    if name and name == label:
        return raw.prior.covariance if raw.prior.known else np.full((raw.k, raw.k), np.inf)
    estimates = {each.name: shares[index] for index, each in enumerate(snapshot.plan.features)}
    tables = {" x ".join(each.name for each in table.asked_features): table for table in raw.tables}
    estimate = (estimates | tables).get(name)
    if not estimate or isinstance(estimate, ClassMoments):
        asked = [
            each for each in estimates if estimates[each] and not isinstance(estimates[each], ClassMoments)
        ]
        known = ", ".join(filter(None, [*asked, *tables, label]))
        raise EstimationError(f"{name}: there are no estimated shares; choose one of {known}")
    size = len(estimate.raw)
    if not estimate.n:
        return np.full((size, size), np.inf)
    return compute_sum_covariances(estimate, np.eye(size), 1, 0)


def _mask_unselected(
    conditionals: ClassConditionals, prior: FloatArray, snapshot: AnySnapshot, validation: Snapshot | None
) -> ClassConditionals:
    if validation is None:
        return conditionals
    check_same_survey(snapshot, validation)
    names = [each.name for each in snapshot.plan.features]
    selected = ValidationResult.from_snapshot(validation).find_selected(names)
    return tuple(
        each if index in selected else make_uninformative(each, prior)
        for index, each in enumerate(conditionals)
    )


def _estimate_raw(
    snapshot: AnySnapshot, silos: Sequence[SiloSnapshot]
) -> tuple[list[raw_estimates.RawEstimates], raw_estimates.RawEstimates]:
    """Return the raw estimates of each survey, and the pooled ones, which are those of a single survey."""
    for each in silos:
        check_same_features(snapshot.plan, each.plan)
    surveys = [raw_estimates.compute_raw_estimates(each) for each in (snapshot, *silos)]
    return surveys, pool_estimates(surveys[0], surveys[1:]) if silos else surveys[0]


def _check_reports(
    snapshot: AnySnapshot,
    raw: raw_estimates.RawEstimates,
    features: Sequence[FeatureResult | NumberResult] | None,
    conditionals: ClassConditionals,
    stages: Estimator,
) -> PoisoningSummary | None:
    if not isinstance(snapshot, Snapshot):
        return None
    raw_prior, prior = stages.estimate_prior(raw)
    if features is None:
        features = describe_features(snapshot, raw, conditionals, prior)
    return check_poisoning(
        PublishedEstimates(snapshot, raw, features, describe_tables(raw.tables), raw_prior)
    )


def estimate_parameters(
    snapshot: AnySnapshot,
    estimator: str = "default",
    validation: Snapshot | None = None,
    silos: Sequence[SiloSnapshot] = (),
) -> NaiveBayesParameters:
    """Estimate what a classifier needs: stages 1 to 4 of :func:`estimate_survey`, in half the time."""
    stages = _find_estimator(estimator)
    _, raw = _estimate_raw(snapshot, silos)
    _, prior = stages.estimate_prior(raw)
    conditionals = stages.estimate_conditionals(raw, prior)
    return NaiveBayesParameters(prior, _mask_unselected(conditionals, prior, snapshot, validation))


def _find_estimator(name: str) -> Estimator:
    if name not in ESTIMATORS:
        raise EstimationError(f"estimator {name!r} is not one of {', '.join(ESTIMATORS)}")
    return ESTIMATORS[name]


# -- the result of each feature ---------------------------------------------------------------------


def describe_features(
    snapshot: AnySnapshot, raw: raw_estimates.RawEstimates, conditionals: ClassConditionals, prior: FloatArray
) -> tuple[FeatureResult | NumberResult, ...]:
    found: list[FeatureResult | NumberResult] = []
    asked = raw_estimates.summarise_questions(snapshot) if isinstance(snapshot, Snapshot) else {}
    parts = zip(snapshot.plan.features, raw.feature_estimates, raw.share_estimates, conditionals, strict=True)
    for index, (feature, estimate, shares, conditional) in enumerate(parts):
        if isinstance(estimate, ClassMoments):
            assert isinstance(feature, NumericFeature)
            assert isinstance(conditional, Gaussian)
            mean, square = asked.get(index, (raw_estimates.NOT_ASKED, raw_estimates.NOT_ASKED))
            if raw.silos:
                mean = mean.add_silos(raw.silos)
            questions = (mean, square)
            found.append(NumberResult.from_estimates(feature, questions, estimate, conditional, prior))
        else:
            assert not isinstance(feature, NumericFeature)
            assert not isinstance(conditional, Gaussian)
            assert not isinstance(shares, ClassMoments)
            found.append(FeatureResult.from_estimates(feature, estimate, prior, shares))
    return tuple(found)
