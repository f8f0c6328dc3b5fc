"""The results of a survey of people, silos or a curator: what a model file stores, and all views show."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from encoders.survey import Feature, Plan
from encoders.survey.silo_plan import SiloPlan
from ldp_aggregator.estimation import Estimates, FeatureResult, NaiveBayesParameters, NumberResult
from ldp_aggregator.estimation.choice_results import join_choices
from ldp_aggregator.estimation.estimates import estimate_survey
from ldp_aggregator.prediction.predictor import Classifier
from ldp_aggregator.privacy_statement import AuditResult, PrivacyStatement, state_privacy
from ldp_aggregator.snapshot import AnySnapshot, SiloSnapshot, Snapshot
from ldp_aggregator.usefulness import Usefulness, find_usefulness


@dataclass(frozen=True, kw_only=True)
class Results:
    """The results of one survey of people, of silos, of both, or of a curator."""

    plan: Plan | SiloPlan
    privacy: PrivacyStatement
    estimates: Estimates
    """All unknown for a linear model or a tree of a curator."""
    classifier: Classifier
    """What a model predicts with. Of a survey without a label, the shares of all people."""
    usefulness: Usefulness | None = None
    """What the predictions are worth; None without a label, and for a curator."""

    @property
    def has_label(self) -> bool:
        """Whether the survey has a label, and so a model."""
        return self.plan.label.exists

    @property
    def is_curator(self) -> bool:
        """Whether a curator had the rows."""
        return self.privacy.curator is not None

    @property
    def has_estimates(self) -> bool:
        """Whether there are estimates; a linear model or a tree of a curator has none."""
        return isinstance(self.classifier, NaiveBayesParameters)

    @property
    def is_validation(self) -> bool:
        """Whether the survey is a validation round, which has no classes and features to show."""
        return self.estimates.validation_result is not None

    @property
    def has_people(self) -> bool:
        """Whether people reported, not silos alone."""
        return not isinstance(self.plan, SiloPlan) and not self.is_curator

    @property
    def joined_features(self) -> list[tuple[Feature, FeatureResult | NumberResult]]:
        """The entries of the survey with their results; several answers to one question are one feature."""
        return list(join_choices(self.plan.features, self.estimates.features))

    @property
    def used_features(self) -> list[str]:
        """The names of the features that the classifier uses, in the order of the survey.

        They are those that a validation round selects, or that a curator measured; else all.
        """
        features = self.plan.features
        if self.is_curator and self.has_estimates:
            return [each.name for each in self.estimates.features if each.is_asked]
        return [features[index].name for index in sorted(self.estimates.used_features)]


def make_results(
    snapshot: AnySnapshot,
    estimator: str = "default",
    *,
    validation: Snapshot | None = None,
    silos: Sequence[SiloSnapshot] = (),
    audit: AuditResult | None = None,
    poisoning: bool = True,
) -> Results:
    """Estimate a survey of people or of silos, or several that are pooled, and state its privacy.

    Parameters
    ----------
    snapshot, estimator, validation, silos, poisoning
        See :func:`~ldp_aggregator.estimation.estimates.estimate_survey`.
    audit : AuditResult, optional
        The audit of the survey's plan, see :func:`~ldp_aggregator.privacy_statement.read_audit`.

    Raises
    ------
    EstimationError
        See :func:`~ldp_aggregator.estimation.estimates.estimate_survey`.
    """
    estimates, classifier = estimate_survey(snapshot, estimator, validation, poisoning, silos)
    every_silo = estimates.silos.snapshots if estimates.silos else ()
    has_model = snapshot.plan.label.exists and not estimates.validation_result
    return Results(
        plan=snapshot.plan,
        privacy=state_privacy(snapshot, audit, validation, every_silo),
        estimates=estimates,
        classifier=classifier,
        usefulness=find_usefulness(estimates, classifier) if has_model else None,
    )
