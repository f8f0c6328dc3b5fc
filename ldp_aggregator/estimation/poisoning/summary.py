"""The poisoning check: whether reports look fake, and how far fake ones could move the estimates.

The check corrects nothing: it is unknown which reports are fake, and a silently corrected estimate
could neither be checked nor added to another.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

import numpy as np

from encoders.explain.text import format_answer
from encoders.mechanisms.frequency_oracle import FrequencyOracle
from encoders.mechanisms.numeric_base import NumericMechanism
from encoders.survey import Question
from ldp_aggregator.estimation.poisoning.goodness_of_fit import (
    PairDeviations,
    SupportCounts,
    compute_pair_deviations,
    compute_pair_p_value,
    compute_size_p_value,
)
from ldp_aggregator.estimation.poisoning.influence import Influence
from ldp_aggregator.estimation.poisoning.published import PublishedEstimates
from ldp_aggregator.estimation.raw_estimates import total_of
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
    mechanism, others = question.mechanism, len(range(group, support.bits.length, support.bits.groups)) - 1
    if isinstance(mechanism, FrequencyOracle):
        name = format_answer(question.meaning(group))
    else:
        assert isinstance(mechanism, NumericMechanism)
        numbers = [feature.name for feature in question.asked_features]
        name = mechanism.counter_names(numbers, question.label_texts)[group]
    return f"[{name}" + (f" or {others} others]" if others else "]")


class Untested(StrEnum):
    MECHANISM = "mechanism"
    """A report of its mechanism is not a set of values."""
    NOT_COUNTED = "not-counted"
    """The collector did not count which values reports support at once."""


@dataclass(frozen=True)
class QuestionCheck:
    question: str
    mechanism: str
    n: int
    support: SupportTests | Untested
    influences: tuple[Influence, ...]
    """On each estimate that depends on the question."""

    @property
    def alarm(self) -> SupportTests | None:
        return self.support if isinstance(self.support, SupportTests) and self.support.has_alarm else None


FALSE_ALARM_PROBABILITY = 1e-6
"""Probability that any test of any question of an honest survey raises an alarm."""


@dataclass(frozen=True)
class PoisoningSummary:
    questions: tuple[QuestionCheck, ...]
    asks_all: bool = False
    """Whether each person answers all questions. An influence is then that of envelopes, on all of them."""

    @staticmethod
    def complete_entries(values: dict[str, Any]) -> None:
        values.setdefault("asks_all", False)

    @property
    def untested(self) -> tuple[QuestionCheck, ...]:
        return tuple(each for each in self.questions if isinstance(each.support, Untested))

    @property
    def alarms(self) -> tuple[QuestionCheck, ...]:
        return tuple(each for each in self.questions if each.alarm)

    @property
    def largest_influence(self) -> tuple[QuestionCheck, Influence] | None:
        moves = [(each, influence) for each in self.questions for influence in each.influences]
        known = [move for move in moves if move[1].largest is not None]
        return max(known, key=lambda move: move[1].largest or 0.0, default=None)


def check_poisoning(published: PublishedEstimates) -> PoisoningSummary:
    """Test every question that has support counters; compute the influence of fake reports."""
    influences: dict[int, list[Influence]] = defaultdict(list)
    for index, influence in published.find_influences():
        influences[index].append(influence)
    snapshot = published.snapshot
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
        ),
        asks_all=snapshot.plan.asks_all,
    )


def _test_support(snapshot: Snapshot, question: Question, level: float) -> SupportTests | Untested:
    counters, counted = question.mechanism.support_counters, snapshot.totals.get(question.support_key)
    if counters is None:
        return Untested.MECHANISM
    if counted is None:
        return Untested.NOT_COUNTED
    return SupportTests.from_support(question, SupportCounts.from_cells(counters, counted.cells), level)
