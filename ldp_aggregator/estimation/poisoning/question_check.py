"""The poisoning check of one question: the results of its tests, and the influence of fabricated reports."""

from __future__ import annotations

import math
from dataclasses import dataclass
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

_NAMED_PAIRS = 3
"""Number of suspicious pairs that are named, at most."""


@dataclass(frozen=True)
class SuspiciousPair:
    """Two values for which too many or too few reports have both bits 1."""

    values: tuple[str, str]
    reports: float
    expected: float
    """Observed and expected number of reports in which both bits are 1."""

    def __str__(self) -> str:
        one, other = self.values
        return f"{one} with {other} ({self.reports:,.0f} times, expected {self.expected:,.0f})"


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
    def findings(self) -> tuple[str, ...]:
        """One text for each test that raises an alarm."""
        findings = []
        if self.sizes < self.level:
            findings.append(
                f"they support too many or too few values at once (p < {_power_above(self.sizes)})"
            )
        if self.pairs < self.level:
            pairs = "; ".join(map(str, self.suspicious_pairs))
            p_value = _power_above(self.pairs)
            findings.append(f"they support pairs of values too often or too rarely: {pairs} (p < {p_value})")
        return tuple(findings)

    def as_dict(self) -> dict[str, Any]:
        """Return the test results as a dict for JSON."""
        pairs = [
            {"values": list(each.values), "reports": each.reports, "expected": each.expected}
            for each in self.suspicious_pairs
        ]
        return {
            "reports": self.n,
            "level": self.level,
            "sizes_p_value": self.sizes,
            "pairs_p_value": self.pairs,
            "pairs": pairs,
            "findings": list(self.findings),
        }


def _find_suspicious_pairs(
    question: Question, support: SupportCounts, deviations: PairDeviations
) -> tuple[SuspiciousPair, ...]:
    upper = np.triu(deviations.surprise)
    pairs = []
    for place in np.argsort(upper, axis=None)[::-1][:_NAMED_PAIRS]:
        g, h = (int(each) for each in np.unravel_index(place, upper.shape))
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


def _power_above(p_value: float) -> str:
    """Return the next power of ten above a p-value, as text."""
    return f"1e{math.floor(math.log10(max(p_value, 1e-300))) + 1:d}"


@dataclass(frozen=True)
class QuestionCheck:
    """The poisoning check of one question."""

    question: str
    mechanism: str
    n: int
    """Number of reports."""
    support: SupportTests | str
    """The test results, or the reason why the question cannot be tested."""
    influences: tuple[Influence, ...]
    """One for each estimate that depends on the question."""

    @property
    def warning(self) -> str | None:
        """A warning for readers of any estimate that depends on the question; None if there is none."""
        if isinstance(self.support, str) or not self.support.findings:
            return None
        findings = "; ".join(self.support.findings)
        return f"some reports are not what devices send: {findings}. Nothing was corrected"

    def as_dict(self) -> dict[str, Any]:
        """Return the check as a dict for JSON."""
        return {
            "question": self.question,
            "mechanism": self.mechanism,
            "n": self.n,
            "support": None if isinstance(self.support, str) else self.support.as_dict(),
            "untested": self.support if isinstance(self.support, str) else None,
            "influence": {each.estimate: each.as_dict() for each in self.influences},
        }
