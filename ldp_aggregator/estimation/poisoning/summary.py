"""The poisoning check: whether reports look fake, and how far fake ones could move the estimates.

The check corrects nothing: it is unknown which reports are fake, and a silently corrected estimate
could neither be checked nor added to another.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import reduce
from itertools import chain

import numpy as np

from encoders.explain.text import format_answer
from encoders.mechanisms.frequency_oracle import FrequencyOracle
from encoders.mechanisms.numeric_base import NumericMechanism
from encoders.survey import Question
from ldp_aggregator.estimation.discrete.covariance import TableEstimate
from ldp_aggregator.estimation.discrete.frequencies import CombinedFrequencies, Frequencies
from ldp_aggregator.estimation.feature_result import FeatureResult
from ldp_aggregator.estimation.intervals import (
    IntervalEstimate,
    estimate_conditional_intervals,
    estimate_joint_intervals,
    estimate_share_intervals,
)
from ldp_aggregator.estimation.number_result import NumberResult
from ldp_aggregator.estimation.numeric.number import ClassMoments
from ldp_aggregator.estimation.poisoning.goodness_of_fit import (
    PairDeviations,
    SupportCounts,
    compute_pair_deviations,
    compute_pair_p_value,
    compute_size_p_value,
)
from ldp_aggregator.estimation.poisoning.influence import (
    Influence,
    conditional_influence,
    frequency_influence,
    moment_influence,
    moment_prior_influence,
    prior_influence,
)
from ldp_aggregator.estimation.raw_estimates import RawEstimates, total_of
from ldp_aggregator.snapshot import Snapshot

_NAMED_PAIRS = 3
"""Number of suspicious pairs that are named, at most."""


@dataclass(frozen=True)
class SuspiciousPair:
    """Two values for which too many or too few reports have both bits 1."""

    values: tuple[str, str]
    reports: float
    expected: float
    """Observed and expected number of reports in which both bits are 1."""


@dataclass(frozen=True)
class SupportTests:
    """The results of the goodness-of-fit tests of one question."""

    n: int
    """Number of reports that the support counters include."""
    level: float
    """A p-value below this level is an alarm."""
    sizes: float
    pairs: float
    """Upper bounds on the p-values of the size test and of the pair test."""
    suspicious_pairs: tuple[SuspiciousPair, ...] = ()
    """The pairs with the largest deviations, largest first; empty unless `pairs` is an alarm."""

    @classmethod
    def from_support(cls, question: Question, support: SupportCounts, level: float) -> SupportTests:
        """Run the size test and the pair test."""
        if not support.n:
            return cls(n=0, level=level, sizes=1.0, pairs=1.0)
        deviations = compute_pair_deviations(support)
        p_value = compute_pair_p_value(support, deviations)
        return cls(
            n=support.n,
            level=level,
            sizes=compute_size_p_value(support),
            pairs=p_value,
            suspicious_pairs=_find_suspicious_pairs(question, support, deviations) if p_value < level else (),
        )

    @property
    def has_alarm(self) -> bool:
        """Whether any test raises an alarm."""
        return min(self.sizes, self.pairs) < self.level


def _find_suspicious_pairs(
    question: Question, support: SupportCounts, deviations: PairDeviations
) -> tuple[SuspiciousPair, ...]:
    upper = np.triu(deviations.surprise)
    pairs = []
    for index in np.argsort(upper, axis=None)[::-1][:_NAMED_PAIRS]:
        g, h = (int(each) for each in np.unravel_index(index, upper.shape))
        names = (_name_group(question, support, g), _name_group(question, support, h))
        reports = float(support.joint_ones[g, h])
        pairs.append(SuspiciousPair(names, reports, reports - float(deviations.excess[g, h])))
    return tuple(pairs)


def _name_group(question: Question, support: SupportCounts, group: int) -> str:
    """Name a group of values by its first value and the number of others."""
    mechanism, others = question.mechanism, len(range(group, support.bits.length, support.bits.groups)) - 1
    if isinstance(mechanism, FrequencyOracle):
        name = format_answer(question.meaning(group))
    else:
        assert isinstance(mechanism, NumericMechanism)
        numbers = [feature.name for feature in question.asked_features]
        name = mechanism.counter_names(numbers, question.label_texts)[group]
    return f"[{name}" + (f" or {others} others]" if others else "]")


class Untested(StrEnum):
    """Why a question cannot be tested."""

    MECHANISM = "mechanism"
    """A report of its mechanism is not a set of values."""
    NOT_COUNTED = "not-counted"
    """The collector did not count which values reports support at once."""


@dataclass(frozen=True)
class QuestionCheck:
    """The poisoning check of one question."""

    question: str
    mechanism: str
    n: int
    """Number of reports."""
    support: SupportTests | Untested
    influences: tuple[Influence, ...]
    """One for each estimate that depends on the question."""

    @property
    def alarm(self) -> SupportTests | None:
        """The test results if they raise an alarm."""
        return self.support if isinstance(self.support, SupportTests) and self.support.has_alarm else None


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
    found = [*_feature_influences(snapshot, raw, features), *_prior_influences(snapshot, raw, prior)]
    influences: dict[int, list[Influence]] = defaultdict(list)
    for index, target, influence in found:
        # a fake message has a report to every question, if each person answers all
        others = [
            each for _, other, each in found if raw.prior.people and other == target and each is not influence
        ]
        influences[index].append(reduce(Influence.add, others, influence))
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


_Target = tuple[int | None, str]
"""An estimate: the index of its feature, None for the prior, and its name."""


def _feature_influences(
    snapshot: Snapshot, raw: RawEstimates, features: Sequence[FeatureResult | NumberResult]
) -> Iterator[tuple[int, _Target, Influence]]:
    """Yield each influence on the estimates of features, with the index of its question, and its target.

    If several questions are about a feature, the influence of each is on the estimate from all of them. At
    levels, it is on the question's own estimate.
    """
    for place, (estimate, result) in enumerate(zip(raw.feature_estimates, features, strict=True)):
        for margin in raw.margins.get(place, ()):
            if margin.n:
                is_of_all = len(margin.question.label.values) == 1
                pooled = (raw.share_estimates if is_of_all else raw.feature_estimates)[place]
                weight, variance = _find_weight(margin, pooled, raw.prior.people > 0)
                for influence in _margin_influences(margin, result.name):
                    target = place, influence.estimate.partition(" of ")[0]
                    yield margin.question.index, target, influence.weigh(weight, variance)
        if isinstance(estimate, ClassMoments) and estimate.prior.known and isinstance(result, NumberResult):
            for index, name, influence in _number_influences(snapshot, estimate, result):
                yield index, (place, name), influence


def _find_weight(
    margin: Frequencies, pooled: TableEstimate | ClassMoments | None, same_people: bool
) -> tuple[float, float]:
    """Return the weight of a question's estimate in that of several, and the ratio of their variances.

    Weights are inverse to variances; of the same people, to those of the noise alone.
    """
    if pooled is None or isinstance(pooled, ClassMoments):
        return 1.0, 1.0
    if isinstance(pooled, CombinedFrequencies) and pooled.levels:
        return 1.0, 1.0
    one, other = pooled.covariance, margin.covariance
    variance = min(float(one.variance.mean() / other.variance.mean()), 1.0)
    if not same_people:
        return variance, variance
    return min(float(one.noise_variance.mean() / other.noise_variance.mean()), 1.0), variance


def _margin_influences(margin: Frequencies, name: str) -> Iterator[Influence]:
    question = margin.question
    suffix, k = f" of {name}" if len(question.feature_indices) > 1 else "", len(question.label.values)
    if k == 1:
        yield frequency_influence(margin, estimate_share_intervals(margin, 1), f"shares{suffix}")
        return
    yield frequency_influence(margin, estimate_joint_intervals(margin, k), f"frequencies{suffix}")
    yield conditional_influence(margin, estimate_conditional_intervals(margin, k), suffix)


def _number_influences(
    snapshot: Snapshot, estimate: ClassMoments, result: NumberResult
) -> Iterator[tuple[int, str, Influence]]:
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
                influence = moment_influence(f"{name}{suffix}", ratio, moments, total, intervals, unit)
                yield question.index, name, influence


def _prior_influences(
    snapshot: Snapshot, raw: RawEstimates, prior: IntervalEstimate
) -> Iterator[tuple[int, _Target, Influence]]:
    """Yield the influence of each question on the prior, with its index, and the target."""
    target = None, "prior"
    weights = raw.prior.weights
    if prior is not raw.prior.estimate and raw.label:
        weights = {raw.label.question.index: 1.0}
    discrete = [raw.label, *chain.from_iterable(raw.margins.values())]
    for frequencies in {each.question.index: each for each in discrete if each and each.n}.values():
        if weight := weights.get(frequencies.question.index, 0.0):
            yield frequencies.question.index, target, prior_influence(frequencies, prior, weight)
    for moments in (each for number in raw.numbers for each in number.questions):
        if weight := weights.get(moments.question.index, 0.0):
            total = total_of(snapshot, moments.question)
            influence = moment_prior_influence(moments, total, prior, weight)
            yield moments.question.index, target, influence
