"""What pages, cards and summaries of results are made from."""

from __future__ import annotations

from dataclasses import dataclass, field

from encoders.survey import Feature, Plan
from encoders.survey.silo_plan import SiloPlan
from ldp_aggregator.estimation import Estimates, FeatureResult, NumberResult
from ldp_aggregator.estimation.choice_results import join_choices
from ldp_aggregator.privacy_statement import PrivacyStatement
from ldp_aggregator.statements.model import Useless


@dataclass(frozen=True, kw_only=True)
class SurveyResults:
    """The results of one survey."""

    plan: Plan | SiloPlan
    estimates: Estimates
    privacy: PrivacyStatement = field(default_factory=PrivacyStatement)
    useless: Useless | None = None
    """Why the model supports no prediction but the most frequent class; None if it does, or without a
    model."""

    @property
    def is_validation(self) -> bool:
        """Whether the survey is a validation round, which has no classes and features to show."""
        return self.estimates.validation_result is not None

    @property
    def has_people(self) -> bool:
        """Whether people reported, not silos alone."""
        return not isinstance(self.plan, SiloPlan)

    @property
    def joined_features(self) -> list[tuple[Feature, FeatureResult | NumberResult]]:
        """The entries of the survey with their results; several answers to one question are one feature."""
        return list(join_choices(self.plan.features, self.estimates.features))

    @property
    def used_features(self) -> list[str]:
        """The names of the features that the classifier uses, in the order of the survey."""
        names = [feature.name for feature in self.plan.features]
        return [names[index] for index in sorted(self.estimates.used_features)]
