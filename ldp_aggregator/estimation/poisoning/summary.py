"""The poisoning check: whether reports look fake, and how far fake ones could move the estimates.

The check corrects nothing: it is unknown which reports are fake, and a silently corrected estimate
could neither be checked nor added to another.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain

from encoders.survey import Question
from ldp_aggregator.estimation.discrete.combined import CombinedFrequencies
from ldp_aggregator.estimation.discrete.covariance import TableEstimate
from ldp_aggregator.estimation.discrete.frequencies import Frequencies
from ldp_aggregator.estimation.feature_result import FeatureResult
from ldp_aggregator.estimation.intervals import (
    IntervalEstimate,
    estimate_conditional_intervals,
    estimate_joint_intervals,
    estimate_share_intervals,
)
from ldp_aggregator.estimation.number_result import NumberResult
from ldp_aggregator.estimation.numeric.number import ClassMoments
from ldp_aggregator.estimation.poisoning.goodness_of_fit import SupportCounts
from ldp_aggregator.estimation.poisoning.influence import (
    Influence,
    conditional_influence,
    frequency_influence,
    moment_influence,
    moment_prior_influence,
    prior_influence,
)
from ldp_aggregator.estimation.poisoning.question_check import QuestionCheck, SupportTests, Untested
from ldp_aggregator.estimation.raw_estimates import RawEstimates, total_of
from ldp_aggregator.snapshot import Snapshot

FALSE_ALARM_PROBABILITY = 1e-6
"""Probability that any test of any question of an honest survey raises an alarm."""


@dataclass(frozen=True)
class PoisoningSummary:
    """The poisoning checks of a survey's questions."""

    questions: tuple[QuestionCheck, ...]

    @property
    def untested(self) -> tuple[QuestionCheck, ...]:
        """The checks of the questions that cannot be tested."""
        return tuple(each for each in self.questions if isinstance(each.support, Untested))

    @property
    def alarms(self) -> tuple[QuestionCheck, ...]:
        """The checks that raise an alarm."""
        return tuple(each for each in self.questions if each.alarm)

    @property
    def largest_influence(self) -> tuple[QuestionCheck, Influence] | None:
        """The question and the estimate with the largest influence of FAKE_SHARE of its reports."""
        moves = [(each, influence) for each in self.questions for influence in each.influences]
        known = [move for move in moves if move[1].largest is not None]
        return max(known, key=lambda move: move[1].largest or 0.0, default=None)


def check_poisoning(
    snapshot: Snapshot,
    raw: RawEstimates,
    features: Sequence[FeatureResult | NumberResult],
    prior: IntervalEstimate,
) -> PoisoningSummary:
    """Test every question of a survey, and compute the influence of fake reports on its estimates.

    Parameters
    ----------
    snapshot : Snapshot
        The counters, including support counters if the store has them.
    raw : RawEstimates
    features : sequence of (FeatureResult or NumberResult)
        The results of the features, which contain the standard errors.
    prior : IntervalEstimate
        The raw prior that is shown to people: pooled, or of the label question.
    """
    influences: dict[int, list[Influence]] = defaultdict(list)
    for index, influence in _feature_influences(snapshot, raw, features):
        influences[index].append(influence)
    for index, influence in _prior_influences(snapshot, raw, prior):
        influences[index].append(influence)
    questions = snapshot.plan.questions
    tests = 2 * sum(each.mechanism.support_counters is not None for each in questions)
    level = FALSE_ALARM_PROBABILITY / max(tests, 2)
    return PoisoningSummary(
        tuple(
            QuestionCheck(
                question=each.name,
                mechanism=each.mechanism.name,
                n=total_of(snapshot, each).n,
                support=_test_support(snapshot, each, level),
                influences=tuple(influences[each.index]),
            )
            for each in questions
        )
    )


def _test_support(snapshot: Snapshot, question: Question, level: float) -> SupportTests | Untested:
    counters, counted = question.mechanism.support_counters, snapshot.totals.get(question.support_key)
    if counters is None:
        return Untested.MECHANISM
    if counted is None:
        return Untested.NOT_COUNTED
    return SupportTests.from_support(question, SupportCounts.from_cells(counters, counted.cells), level)


def _feature_influences(
    snapshot: Snapshot, raw: RawEstimates, features: Sequence[FeatureResult | NumberResult]
) -> Iterator[tuple[int, Influence]]:
    """Yield each influence on the estimates of features, with the index of the question it comes from.

    If several questions are about a feature, the influence of each is on the estimate from all of them. At
    levels, it is on the question's own estimate.
    """
    for place, (estimate, result) in enumerate(zip(raw.feature_estimates, features, strict=True)):
        for margin in raw.margins.get(place, ()):
            if margin.n:
                is_of_all = len(margin.question.label.values) == 1
                pooled = (raw.share_estimates if is_of_all else raw.feature_estimates)[place]
                weight = _find_weight(margin, pooled)
                for index, influence in _margin_influences(margin, result.name):
                    yield index, influence.weigh(weight)
        if isinstance(estimate, ClassMoments) and estimate.prior.known and isinstance(result, NumberResult):
            yield from _number_influences(snapshot, estimate, result)


def _find_weight(margin: Frequencies, pooled: TableEstimate | ClassMoments | None) -> float:
    """Return the weight of a question's estimate in that of several; weights are inverse to variances."""
    if pooled is None or isinstance(pooled, ClassMoments):
        return 1.0
    if isinstance(pooled, CombinedFrequencies) and pooled.levels:
        return 1.0
    return min(float(pooled.covariance.variance.mean() / margin.covariance.variance.mean()), 1.0)


def _margin_influences(margin: Frequencies, name: str) -> Iterator[tuple[int, Influence]]:
    question = margin.question
    suffix, index = f" of {name}" if len(question.feature_indices) > 1 else "", question.index
    k = len(question.label.values)
    if k == 1:
        shares = estimate_share_intervals(margin, 1)
        yield index, frequency_influence(margin, shares, f"shares{suffix}")
        return
    yield index, frequency_influence(margin, estimate_joint_intervals(margin, k), f"frequencies{suffix}")
    yield index, conditional_influence(margin, estimate_conditional_intervals(margin, k), suffix)


def _number_influences(
    snapshot: Snapshot, estimate: ClassMoments, result: NumberResult
) -> Iterator[tuple[int, Influence]]:
    present, share, width = estimate.present, estimate.class_share, result.width
    for moments in estimate.questions:
        question, total = moments.question, total_of(snapshot, moments.question)
        suffix = f" of {result.name}" if question.mechanism.multivariate else ""
        ratios = [
            ("means", estimate.first, present, result.by_class.means, width),
            ("variances", estimate.squared_deviation, present, result.by_class.variances, width**2),
            ("missing", estimate.missing, share, result.by_class.missing, 1.0),
        ]
        for name, top, bottom, intervals, unit in ratios:
            if top is not None and intervals is not None:
                ratio = top.over(bottom)
                yield (
                    question.index,
                    moment_influence(f"{name}{suffix}", ratio, moments, total, intervals, unit),
                )


def _prior_influences(
    snapshot: Snapshot, raw: RawEstimates, prior: IntervalEstimate
) -> Iterator[tuple[int, Influence]]:
    """Yield the influence of each question on the prior, with its index."""
    weights = raw.prior.weights
    if prior is not raw.prior.estimate and raw.label:
        weights = {raw.label.question.index: 1.0}
    discrete = [raw.label, *chain.from_iterable(raw.margins.values())]
    for frequencies in {each.question.index: each for each in discrete if each and each.n}.values():
        if weight := weights.get(frequencies.question.index, 0.0):
            yield frequencies.question.index, prior_influence(frequencies, prior, weight)
    for moments in (each for number in raw.numbers for each in number.questions):
        if weight := weights.get(moments.question.index, 0.0):
            total = total_of(snapshot, moments.question)
            yield moments.question.index, moment_prior_influence(moments, total, prior, weight)
