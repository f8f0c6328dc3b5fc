"""The poisoning check of one question: the results of its tests, and the influence of fake reports."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

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
