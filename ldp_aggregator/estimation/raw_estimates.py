"""What the reports of a survey say, question by question, before any recipe."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from encoders.survey import Feature, Plan, Question
from encoders.survey.numeric_features import NumericFeature
from encoders.survey.questions import MEAN, SQUARE
from ldp_aggregator.estimation.class_prior import LabelShares, Prior, pool_prior
from ldp_aggregator.estimation.discrete.frequencies import Frequencies, estimate_frequencies
from ldp_aggregator.estimation.numeric.moments import Moments, Population, estimate_moments
from ldp_aggregator.estimation.numeric.number import Number
from ldp_aggregator.snapshot import Snapshot, Total

_ROUNDS = 2
"""The noise of numbers is evaluated at an even population first, then at what that made likely."""


@dataclass(frozen=True)
class RawEstimates:
    """What was heard of a survey.

    Attributes
    ----------
    k : int
        Number of labels.
    features : sequence of Feature
        Those of the plan.
    label : Frequencies or None
        The label question's, if the survey asks it.
    feature_estimates : sequence of (Frequencies or Number or None)
        By feature: of a discrete one its coupled question's, None if the survey does not ask it; of a
        numeric one always a Number, if only an empty one.
    prior : Prior
        Pooled from all questions.
    reports : int
        Of all questions together.
    """

    k: int
    features: Sequence[Feature]
    label: Frequencies | None
    feature_estimates: Sequence[Frequencies | Number | None]
    prior: Prior
    reports: int

    @property
    def numbers(self) -> list[Number]:
        """What was heard of the numeric features, in their order."""
        return [each for each in self.feature_estimates if isinstance(each, Number)]

    @property
    def discrete(self) -> tuple[list[Frequencies | None], list[int]]:
        """What was heard of the discrete features, in their order, and how many values each has."""
        pairs = zip(self.feature_estimates, self.features, strict=True)
        found = [(each, feature.size) for each, feature in pairs if not isinstance(each, Number)]
        return [each for each, _ in found], [size for _, size in found]


def compute_raw_estimates(snapshot: Snapshot) -> RawEstimates:
    """Return the raw estimates of every question of a survey, and the prior they agree on."""
    plan, k = snapshot.plan, len(snapshot.plan.label.values)
    asked = [
        estimate_frequencies(each, total_of(snapshot, each)) for each in plan.questions if not each.moment
    ]
    told = [LabelShares.from_frequencies(each, k) for each in asked if each.n]
    coupled = {
        feature: each.of_feature(place)
        for each in asked
        for place, feature in enumerate(each.question.feature_indices)
    }
    prior, numbers = _numeric(snapshot, told)
    return RawEstimates(
        k=k,
        features=plan.features,
        label=next((each for each in asked if not each.question.feature_indices), None),
        feature_estimates=[numbers.get(place) or coupled.get(place) for place in range(len(plan.features))],
        prior=prior,
        reports=sum(total_of(snapshot, question).n for question in plan.questions),
    )


def _numeric(snapshot: Snapshot, told: Sequence[LabelShares]) -> tuple[Prior, dict[int, Number]]:
    """Return the pooled prior, and the numeric features by place.

    Each needs the other: numbers are divided by the prior, some questions about numbers tell of it, and
    how much these weigh depends on the numbers. Two rounds settle that.
    """
    k, asked = len(snapshot.plan.label.values), asked_about(snapshot.plan)
    if not asked:
        return pool_prior(told, k), {}
    features = snapshot.plan.features
    populations = {place: Population.even(k, features[place].missing == "category") for place in asked}
    for _ in range(_ROUNDS):
        moments = {place: _moments(snapshot, asked[place], place, populations[place]) for place in asked}
        prior = pool_prior([*told, *_label_shares(moments.values())], k)
        numbers = {
            place: Number(*moments[place], prior, features[place].missing == "category") for place in asked
        }
        populations = {place: number.population() for place, number in numbers.items()}
    return prior, numbers


_Pair = tuple[Moments | None, Moments | None]


def asked_about(plan: Plan) -> dict[int, tuple[Question | None, Question | None]]:
    """Return each numeric feature's mean and square question, by its place."""
    found = {(place, each.moment): each for each in plan.questions for place in each.feature_indices}
    return {
        place: (found.get((place, MEAN)), found.get((place, SQUARE)))
        for place, feature in enumerate(plan.features)
        if isinstance(feature, NumericFeature)
    }


def _moments(
    snapshot: Snapshot, questions: Sequence[Question | None], place: int, population: Population
) -> _Pair:
    """Return what a mean and a square question say of one number; None where nobody answered."""
    totals = [(each, total_of(snapshot, each)) for each in questions if each]
    heard = {
        each.moment: estimate_moments(each, total, place, population) for each, total in totals if total.n
    }
    return heard.get(MEAN), heard.get(SQUARE)


def _label_shares(moments: Iterable[_Pair]) -> list[LabelShares]:
    """Return what the questions about numbers say of the label, each question once."""
    telling = [each for pair in moments for each in pair if each and each.estimates_prior]
    return [
        LabelShares.from_moments(each) for each in {each.question.index: each for each in telling}.values()
    ]


def total_of(snapshot: Snapshot, question: Question) -> Total:
    """Return a question's total, zero if nobody answered it."""
    return snapshot.totals.get(question.key, Total(0, np.zeros(question.cells, dtype=np.int64)))
