"""The results of a survey of people, silos or a curator: what a model file stores, and all views show."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from functools import cached_property

import numpy as np

from encoders.build import Build, find_build
from encoders.survey import Feature, Plan
from encoders.survey.silo_plan import SiloPlan
from ldp_aggregator.codec import require
from ldp_aggregator.estimation import Estimates, FeatureResult, NaiveBayesParameters, NumberResult
from ldp_aggregator.estimation.estimates import estimate_survey
from ldp_aggregator.estimation.feature_result import join_choices
from ldp_aggregator.prediction.predictor import Classifier
from ldp_aggregator.prediction.scoring import LogProbabilities
from ldp_aggregator.privacy_statement import AuditResult, PrivacyStatement, state_privacy
from ldp_aggregator.series.series import POOLED, Series, estimate_series, pool_waves
from ldp_aggregator.simulated_population import SyntheticPopulation
from ldp_aggregator.snapshot import ALL_WAVES, LAST_WAVE, AnySnapshot, SiloSnapshot, Snapshot


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
    series: Series | None = None
    """Which wave the results are of, and the course of each figure; None without waves."""
    build: Build | None = field(default_factory=find_build)
    """The build that computed the results; None if an earlier version wrote their file."""

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

    @cached_property
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
    wave: str = LAST_WAVE,
    tables: str = POOLED,
    discount: float = 1.0,
) -> Results:
    """Estimate a survey of people or of silos, or several that are pooled, and state its privacy.

    Of a survey with waves, these are the results of one wave. The classifier takes P(label) from it, and by
    default P(value | label) from all waves.

    Parameters
    ----------
    snapshot, estimator, validation, silos, poisoning
        See :func:`~ldp_aggregator.estimation.estimates.estimate_survey`.
    audit : AuditResult, optional
        The audit of the survey's plan, see :func:`~ldp_aggregator.privacy_statement.read_audit`.
    wave, tables, discount
        See :func:`~ldp_aggregator.series.series.estimate_series`; without waves they change nothing.

    Raises
    ------
    EstimationError, SnapshotError
        See the functions above; if there is no such wave.
    """
    series = pooled = None
    if isinstance(snapshot, Snapshot):
        series = estimate_series(snapshot, wave, tables, discount, estimator)
        if series and series.waves and series.tables == POOLED and series.wave != ALL_WAVES:
            pooled = pool_waves(snapshot, series.wave, discount)
        snapshot = snapshot.select(wave)
    estimates, classifier = estimate_survey(snapshot, estimator, validation, poisoning, silos)
    described = estimates
    if pooled:
        of_all, parameters = estimate_survey(pooled, estimator, validation, silos=silos)
        classifier = replace(classifier, conditionals=parameters.conditionals)
        described = replace(estimates, features=of_all.features)
    every_silo = estimates.silos.snapshots if estimates.silos else ()
    has_model = snapshot.plan.label.exists and not estimates.validation_result
    return Results(
        plan=snapshot.plan,
        privacy=state_privacy(snapshot, audit, validation, every_silo),
        estimates=estimates,
        classifier=classifier,
        usefulness=find_usefulness(described, classifier) if has_model else None,
        series=series,
    )


# -- what predictions are worth ---------------------------------------------------------------------
# Checks whether a trained model predicts anything but the most frequent class, and whether reports are fake.
#
# Both are computed when a model is trained, and stored with it: a prediction needs nothing else.


_MAX_CELLS = 2_000_000
_MAX_PEOPLE = 20_000
"""Number of synthetic people, at most; fewer if there are many features."""
_NEARLY_EVERYONE = 0.99


class Useless(StrEnum):
    WEAK = "weak"
    """The features that distinguish the classes change hardly any prediction."""
    NOTHING = "nothing"
    """No feature distinguishes the classes, and the model predicts one class for nearly everyone."""
    UNSUPPORTED = "unsupported"
    """No feature distinguishes the classes, although the model predicts several."""


@dataclass(frozen=True, kw_only=True)
class Usefulness:
    useless: Useless | None = None
    """Why only the most frequent class can be predicted; None if others can, or if this is unknown."""
    majority: str | None = None
    """The most frequent class; None if the shares are unknown."""
    majority_share: float | None = None
    """Its estimated share."""
    questions: int = 0
    tested: int = 0
    alarms: int = 0
    """Numbers of questions: all, those that can be tested for fake reports, and those with an alarm."""

    def check_entries(self) -> None:
        is_known = self.majority is not None and self.majority_share is not None
        is_unknown = self.majority is None and self.majority_share is None and self.useless is None
        require(is_known or is_unknown, "majority and majority_share: need both, or neither")
        require(0 <= (self.majority_share or 0.0) <= 1, "majority_share: needs a number from 0 to 1")
        require(self.alarms <= self.tested <= self.questions, "alarms, tested and questions: do not fit")


def find_usefulness(estimates: Estimates, classifier: NaiveBayesParameters) -> Usefulness:
    majority, poisoning = estimates.majority, estimates.poisoning
    return Usefulness(
        useless=_find_useless(estimates, classifier),
        majority=majority.name if majority else None,
        majority_share=majority.share if majority else None,
        questions=len(poisoning.questions) if poisoning else 0,
        tested=len(poisoning.questions) - len(poisoning.untested) if poisoning else 0,
        alarms=len(poisoning.alarms) if poisoning else 0,
    )


def _find_useless(estimates: Estimates, classifier: NaiveBayesParameters) -> Useless | None:
    """Return the reason why only the most frequent class can be predicted; None if others can, or no class.

    This is so in two cases: no feature that the model uses distinguishes the classes, or the model predicts
    the most frequent class for nearly everyone. The second is counted for synthetic people, drawn from the
    estimates.
    """
    if not estimates.has_label or not estimates.reports or not np.isfinite(estimates.raw_prior.stderr).all():
        return None
    prior, conditionals = classifier.prior, classifier.conditionals
    people = max(100, min(_MAX_PEOPLE, _MAX_CELLS // len(conditionals)))
    codes, _ = SyntheticPopulation(prior, conditionals).draw_people(people, np.random.default_rng(0))
    scores = LogProbabilities.from_probabilities(prior, conditionals).compute_scores(codes)
    is_majority = scores.argmax(axis=1) == prior.argmax()
    distinguish = any(estimates.features[index].distinguishable for index in estimates.used_features)
    if is_majority.mean() >= _NEARLY_EVERYONE:
        return Useless.WEAK if distinguish else Useless.NOTHING
    return None if distinguish else Useless.UNSUPPORTED
