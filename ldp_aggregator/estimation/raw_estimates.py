"""Raw estimates of each question of a survey, before an estimator combines them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from encoders.survey import Feature, Plan, Question
from encoders.survey.features import NumericFeature
from encoders.survey.questions import SQUARE
from ldp_aggregator.estimation.class_prior import LabelShares, PooledPrior, pool_prior
from ldp_aggregator.estimation.discrete.frequencies import (
    Frequencies,
    TableEstimate,
    combine_questions,
    estimate_frequencies,
    sum_classes,
)
from ldp_aggregator.estimation.numeric.moments import Population, estimate_moments
from ldp_aggregator.estimation.numeric.number import ClassMoments
from ldp_aggregator.estimation.tables.noisy_tables import COUNT_TABLE
from ldp_aggregator.estimation.tables.soft_moments import SiloTables
from ldp_aggregator.snapshot import AnySnapshot, SiloSnapshot, Snapshot, Total

_ITERATIONS = 2
"""The noise of numbers is evaluated at a uniform population first, then at the estimates from the first."""


@dataclass(frozen=True)
class RawEstimates:
    k: int
    features: Sequence[Feature]
    label: Frequencies | None
    """Frequencies of the label question; None if the survey does not ask it."""
    feature_estimates: Sequence[TableEstimate | ClassMoments | None]
    """One per feature. Of a discrete feature: the frequencies of its coupled question, None if the survey
    does not ask it. Of a numeric feature: always ClassMoments, possibly without reports."""
    share_estimates: Sequence[TableEstimate | ClassMoments | None]
    """The same, summed over the classes, and also from questions without the label. Of numbers the same as
    `feature_estimates`."""
    tables: Sequence[Frequencies]
    """The frequencies of each question about several features."""
    margins: Mapping[int, Sequence[Frequencies]]
    """The frequencies of each discrete feature, by its index, in each question about it."""
    prior: PooledPrior
    """Pooled from all questions."""
    reports: int
    """Number of people's reports, see :attr:`Snapshot.people`, and of messages of silos."""
    silos: tuple[SiloTables, ...] = ()
    """The tables of each survey of silos that the estimates are computed from."""

    @property
    def numbers(self) -> list[ClassMoments]:
        return [each for each in self.feature_estimates if isinstance(each, ClassMoments)]


def compute_raw_estimates(snapshot: AnySnapshot) -> RawEstimates:
    if isinstance(snapshot, SiloSnapshot):
        return estimate_silos(SiloTables.from_snapshot(snapshot))
    plan, k = snapshot.plan, len(snapshot.plan.label.values)
    people = snapshot.people if plan.asks_all else 0
    estimates = [
        estimate_frequencies(each, total_of(snapshot, each)) for each in plan.questions if not each.moment
    ]
    margins: dict[int, list[Frequencies]] = defaultdict(list)
    for each in estimates:
        for index, feature in enumerate(each.question.feature_indices):
            margins[feature].append(each.marginal(index))
    informing = [each for each in estimates if each.n and len(each.question.label.values) == k]
    label_shares = [LabelShares.from_frequencies(each, k) for each in informing]
    prior, numbers = _estimate_numbers(snapshot, label_shares, people)

    def combine(classes: int) -> list[TableEstimate | ClassMoments | None]:
        return [
            numbers.get(index) or combine_questions(margins[index], feature, classes, people > 0)
            for index, feature in enumerate(plan.features)
        ]

    of_classes = combine(k)
    return RawEstimates(
        k=k,
        features=plan.features,
        label=next((each for each in estimates if not each.question.feature_indices), None),
        feature_estimates=of_classes,
        share_estimates=of_classes if k == 1 else combine(1),
        tables=[each for each in estimates if len(each.question.feature_indices) > 1],
        margins=margins,
        prior=prior,
        reports=snapshot.people,
    )


def estimate_silos(silos: SiloTables) -> RawEstimates:
    features = silos.estimate_features()
    return RawEstimates(
        k=silos.k,
        features=silos.plan.features,
        label=None,
        feature_estimates=features,
        share_estimates=[
            each if isinstance(each, ClassMoments) else sum_classes(each, silos.k) for each in features
        ],
        tables=(),
        margins={},
        prior=silos.prior,
        reports=silos.messages,
        silos=(silos,),
    )


def _estimate_numbers(
    snapshot: Snapshot, label_shares: Sequence[LabelShares], people: int
) -> tuple[PooledPrior, dict[int, ClassMoments]]:
    """Return the pooled prior, and the moments of the numeric features by index.

    Prior and moments depend on each other: moments are divided by the prior, some questions about numbers
    estimate the prior, and the weights of these questions depend on the moments. Two iterations are enough.
    """
    k, questions = len(snapshot.plan.label.values), find_moment_questions(snapshot.plan)
    if not questions:
        return pool_prior(label_shares, k, people), {}
    can_be_missing = {place: snapshot.plan.features[place].missing == "category" for place in questions}
    populations = {place: Population.even(k, can_be_missing[place]) for place in questions}
    for _ in range(_ITERATIONS):
        moments = {
            place: tuple(
                estimate_moments(each, total, place, populations[place])
                for each in asked
                if (total := total_of(snapshot, each)).n
            )
            for place, asked in questions.items()
        }
        informing = (each for found in moments.values() for each in found if each.estimates_prior)
        by_question = {each.question.index: LabelShares.from_moments(each) for each in informing}
        prior = pool_prior([*label_shares, *by_question.values()], k, people)
        numbers = {place: ClassMoments(each, prior, can_be_missing[place]) for place, each in moments.items()}
        populations = {place: number.likely_population() for place, number in numbers.items()}
    return prior, numbers


def find_moment_questions(plan: Plan) -> dict[int, list[Question]]:
    return {
        place: [each for each in plan.questions if place in each.feature_indices]
        for place, feature in enumerate(plan.features)
        if isinstance(feature, NumericFeature)
    }


def total_of(snapshot: Snapshot, question: Question) -> Total:
    assert snapshot.wave or not snapshot.plan.waves, "select a wave"
    return snapshot.totals.get(question.key, Total(0, np.zeros(question.cells, dtype=np.int64)))


@dataclass(frozen=True)
class QuestionSummary:
    mechanism: str | None
    """None if the survey does not ask it."""
    n: int

    def add_silos(self, silos: Sequence[SiloTables]) -> QuestionSummary:
        names = [name for name in (self.mechanism, COUNT_TABLE) if name]
        return QuestionSummary(" + ".join(names), self.n + sum(each.n for each in silos))


NOT_ASKED = QuestionSummary(None, 0)


def summarise_questions(snapshot: Snapshot) -> dict[int, tuple[QuestionSummary, QuestionSummary]]:
    """Return each number's mean question, which may be about both moments, and its square question."""

    def summarise(questions: Sequence[Question]) -> QuestionSummary:
        found = (QuestionSummary(each.mechanism.name, total_of(snapshot, each).n) for each in questions)
        return next(found, NOT_ASKED)

    return {
        place: (
            summarise([each for each in questions if each.moment != SQUARE]),
            summarise([each for each in questions if each.moment == SQUARE]),
        )
        for place, questions in find_moment_questions(snapshot.plan).items()
    }
