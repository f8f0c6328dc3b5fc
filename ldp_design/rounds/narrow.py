"""Decides which features a further round leaves out: those that are hardly informative about the label.

A further round asks some of the first round's questions, in the same proportions. So the reports of all
rounds add up, and more people answer the remaining questions.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import accumulate

import numpy as np

from encoders.mechanisms import NumericMechanism
from encoders.survey import Plan, Question, Survey
from encoders.survey.plan_checks import MAX_WEIGHT
from ldp_aggregator.estimation import Estimates, estimate_snapshot
from ldp_aggregator.estimation.relevance import compute_relevance
from ldp_aggregator.snapshot import Snapshot

MIN_EXPLAINED_SHARE = 0.9
"""A round keeps the fewest questions whose explained relevance is this share of that of all questions."""
MAX_MEDIAN_STDERR = 1.0
"""Nothing is left out while the median standard error of the relevances, which are 0 to 1, is larger."""
MIN_GAIN = 1.1
"""Nothing is left out unless as many people again explain this many times as much as without narrowing."""
MAX_ROUNDS = 10
"""More rounds never gained accuracy."""
_LABEL_WEIGHT_TOLERANCE = 0.05
_MAX_MULTIPLIER = 1000

FeatureIndices = tuple[int, ...]
"""The features of a question."""


@dataclass(frozen=True)
class FeatureRelevance:
    """How informative a feature is about the label, estimated from the reports so far."""

    explained: float
    """The feature's relevance in the classifier's tables, see :func:`relevance.compute_relevance`."""
    stderr: float
    """Standard error of the feature's raw relevance; infinite without reports."""
    noise: float
    """The expected relevance of noise alone."""

    def expect_explained(self, people: float) -> float:
        """Return the relevance to expect after removing the noise, with `people` times as many reports."""
        return self.explained**2 / (self.explained + self.noise / people) if self.explained else 0.0


def compute_round_ends(people: int, rounds: int) -> list[int]:
    """Return the number of people at the end of each round: half in the first, then equal shares."""
    shares = [1.0] if rounds == 1 else [0.5, *(0.5 / (rounds - 1) for _ in range(rounds - 1))]
    return [round(people * share) for share in accumulate(shares)]


def next_round(survey: Survey, snapshot: Snapshot, validation: Snapshot | None = None) -> Survey:
    """Return the next round's survey, given the reports of all rounds so far; see :func:`narrow_survey`."""
    estimates = estimate_snapshot(snapshot, validation=validation)
    return narrow_survey(survey, list_relevances(estimates), find_validated_features(estimates, survey))


def list_relevances(estimates: Estimates) -> list[FeatureRelevance]:
    """Return the relevance of each feature for the classifier."""
    return [
        FeatureRelevance(
            explained=compute_relevance(feature.smoothed, estimates.prior),
            stderr=float(feature.relevance.estimate.stderr),
            noise=feature.relevance.noise,
        )
        for feature in estimates.features
    ]


def find_validated_features(estimates: Estimates, survey: Survey) -> frozenset[int]:
    """Return the validated model's features if the next round should ask only about these, else no features.

    This is so if the validation selected a subset of the model's features, or if the survey asks about
    features that the model does not have.
    """
    result = estimates.validation.validation_result if estimates.validation else None
    if result is None:
        return frozenset()
    features = result.find_selected(estimates.features)
    asked = {index for index, weight in enumerate(survey.weights[1:]) if weight}
    return features if result.selected is not None or asked - features else frozenset()


def narrow_survey(
    survey: Survey, relevances: Sequence[FeatureRelevance], validated: AbstractSet[int] = frozenset()
) -> Survey:
    """Return the survey of the next round: features that explain too little have weight 0.

    The survey itself is returned if nothing should be left out: if it has tables, if the standard errors are
    too large (see MAX_MEDIAN_STDERR), if all questions are needed (MIN_EXPLAINED_SHARE), or if there is
    little to gain because features are known precisely or are equally informative (MIN_GAIN).

    Parameters
    ----------
    survey : Survey
        The survey of the previous round.
    relevances : sequence of FeatureRelevance
        The relevance of each feature of this survey, from the reports of all rounds so far.
    validated : set of int
        Indices of the features with which a validated model is most accurate. If there are any, the next
        round asks about these, and the relevances do not count.
    """
    if survey.tables:
        return survey
    plan = survey.compile()
    weights: dict[FeatureIndices, int] = {}
    for question in plan.questions:
        if question.feature_indices:
            weights[question.feature_indices] = weights.get(question.feature_indices, 0) + question.weight
    explained = {features: sum(relevances[index].explained for index in features) for features in weights}
    if validated:
        kept = {features for features in weights if not validated.isdisjoint(features)}
        kept = _keep_whole_entries(kept, plan)
    else:
        kept = _keep_whole_entries(_select_most_relevant(explained), plan)
        is_unclear = median_stderr(survey, relevances) > MAX_MEDIAN_STDERR
        if is_unclear or _compute_gain(weights, kept, relevances) < MIN_GAIN:
            return survey
    kept = _ensure_label_is_informed(kept, plan, explained) if kept else set(weights)
    if kept == set(weights):
        return survey
    return _ask_only(survey, plan, {index for features in kept for index in features})


def median_stderr(survey: Survey, relevances: Sequence[FeatureRelevance]) -> float:
    """Return the median standard error of the relevances of the features that a survey asks about."""
    pairs = zip(relevances, survey.weights[1:], strict=True)
    return float(np.median([relevance.stderr for relevance, weight in pairs if weight]))


def _select_most_relevant(explained: Mapping[FeatureIndices, float]) -> set[FeatureIndices]:
    """Return the fewest questions that explain the share MIN_EXPLAINED_SHARE."""
    order = sorted(explained, key=lambda features: -explained[features])
    cumulative = np.cumsum([explained[features] for features in order])
    return set(order[: int(np.searchsorted(cumulative, MIN_EXPLAINED_SHARE * cumulative[-1])) + 1])


def _keep_whole_entries(kept: set[FeatureIndices], plan: Plan) -> set[FeatureIndices]:
    """Return the kept questions, and those about other choices of their entries, which have one weight."""

    def entries_of(features: FeatureIndices) -> set[str]:
        return {plan.features[index].row_name for index in features}

    entries = {name for features in kept for name in entries_of(features)}
    asked = {each.feature_indices for each in plan.questions if each.feature_indices}
    return {features for features in asked if not entries.isdisjoint(entries_of(features))}


def _ensure_label_is_informed(
    kept: set[FeatureIndices], plan: Plan, explained: Mapping[FeatureIndices, float]
) -> set[FeatureIndices]:
    """Return the kept questions, and one more if none of them estimates the prior of the label."""
    informative = {question.feature_indices for question in plan.questions if _informs_label(question)}
    if () in informative or informative & kept:
        return kept
    return kept | {max(informative, key=lambda features: explained[features])}


def _informs_label(question: Question) -> bool:
    mechanism = question.mechanism
    return mechanism.estimates_prior if isinstance(mechanism, NumericMechanism) else True


def _compute_gain(
    weights: Mapping[FeatureIndices, int],
    kept: set[FeatureIndices],
    relevances: Sequence[FeatureRelevance],
) -> float:
    """Return the ratio of the relevance explained after a narrowed round to that after an unchanged round.

    Both rounds have as many people as all rounds so far. Of a feature's relevance r, the share
    r / (r + noise) remains after removing noise; more reports mean less noise.
    """
    reports = 1 + sum(weights.values()) / sum(weights[features] for features in kept)
    same = narrowed = 0.0
    for features in weights:
        for index in features:
            same += relevances[index].expect_explained(2.0)
            narrowed += relevances[index].expect_explained(reports if features in kept else 1.0)
    return narrowed / same if same else 1.0


def _ask_only(survey: Survey, plan: Plan, features: set[int]) -> Survey:
    """Return the survey that asks only about these features, and for the label in the same proportion.

    Weights are multiplied by the smallest number with which that proportion is within 5%.
    """
    weights = [(weight or 0) if index in features else 0 for index, weight in enumerate(survey.weights[1:])]
    exact = _compute_label_weight(plan, features)
    if not exact:
        # if the number of users decides the label's weight, fewer features could make the label asked again
        label_weight = survey.weights[0] if survey.users is None else 0
        return replace(survey, weights=(label_weight, *weights))
    limit = max(1, min(_MAX_MULTIPLIER, MAX_WEIGHT // max(weights)))
    errors = {times: abs(round(times * exact) / (times * exact) - 1) for times in range(1, limit + 1)}
    close = (times for times, error in errors.items() if error <= _LABEL_WEIGHT_TOLERANCE)
    times = next(close, min(errors, key=lambda times: errors[times]))
    return replace(survey, weights=(max(round(times * exact), 1), *(times * weight for weight in weights)))


def _compute_label_weight(plan: Plan, features: set[int]) -> Fraction:
    """Return the exact label weight with which the label is asked in the same proportion as before."""
    label = before = after = 0
    for question in plan.questions:
        if not question.feature_indices:
            label += question.weight
            continue
        before += question.weight
        if features.issuperset(question.feature_indices):
            after += question.weight
    # with numbers, which are two questions each, all other weights count double
    scale = 2 if any(question.moment for question in plan.questions) else 1
    return Fraction(label * after, before * scale)
