"""What the support tests say of a question's reports, in figures and in words."""

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
    Pairs,
    Support,
    pair_p_value,
    pair_surprise,
    size_p_value,
)

_SHOWN = 3
"""How many pairs are named."""


@dataclass(frozen=True)
class Together:
    """Two values that reports support together more or less often than randomised ones do.

    Attributes
    ----------
    values : pair of str
    reports, expected : float
        How many reports support both, and how many would be expected to.
    """

    values: tuple[str, str]
    reports: float
    expected: float

    def __str__(self) -> str:
        one, other = self.values
        return f"{one} with {other} ({self.reports:,.0f} times, expected {self.expected:,.0f})"


@dataclass(frozen=True)
class SupportTests:
    """What the support tests say of one question.

    Attributes
    ----------
    n : int
        Reports whose support was counted.
    level : float
        A p-value below it is an alarm.
    sizes, pairs : float
        The p-values, at most: of the numbers of ones, and of the ones that come together.
    together : tuple of Together
        The oddest pairs, the oddest first; none unless `pairs` is an alarm.
    """

    n: int
    level: float
    sizes: float
    pairs: float
    together: tuple[Together, ...] = ()

    @classmethod
    def from_support(cls, question: Question, support: Support, level: float) -> SupportTests:
        """Run both tests."""
        if not support.n:
            return cls(0, level, 1.0, 1.0)
        pairs = pair_surprise(support)
        p_value = pair_p_value(support, pairs)
        together = _oddest(question, support, pairs) if p_value < level else ()
        return cls(support.n, level, size_p_value(support), p_value, together)

    @property
    def findings(self) -> tuple[str, ...]:
        """The alarms in words."""
        found = []
        if self.sizes < self.level:
            found.append(f"they support too many or too few values at once (p < {_bound(self.sizes)})")
        if self.pairs < self.level:
            odd = "; ".join(map(str, self.together))
            found.append(
                f"they support values together too often or rarely: {odd} (p < {_bound(self.pairs)})"
            )
        return tuple(found)

    def as_dict(self) -> dict[str, Any]:
        """Return it for JSON."""
        odd = [
            {"values": list(each.values), "reports": each.reports, "expected": each.expected}
            for each in self.together
        ]
        return {
            "reports": self.n,
            "level": self.level,
            "sizes_p_value": self.sizes,
            "pairs_p_value": self.pairs,
            "pairs": odd,
            "findings": list(self.findings),
        }


def _oddest(question: Question, support: Support, pairs: Pairs) -> tuple[Together, ...]:
    upper = np.triu(pairs.surprise)
    found = []
    for place in np.argsort(upper, axis=None)[::-1][:_SHOWN]:
        g, h = (int(each) for each in np.unravel_index(place, upper.shape))
        names = (_name(question, support, g), _name(question, support, h))
        reports = float(support.together[g, h])
        found.append(Together(names, reports, reports - float(pairs.excess[g, h])))
    return tuple(found)


def _name(question: Question, support: Support, group: int) -> str:
    """Name a group of values by its first."""
    mechanism, others = question.mechanism, len(range(group, support.bits.length, support.bits.groups)) - 1
    if isinstance(mechanism, FrequencyOracle):
        name = format_answer(question.meaning(group))
    else:
        assert isinstance(mechanism, NumericMechanism)
        numbers = [feature.name for feature in question.asked_features]
        name = mechanism.counter_names(numbers, question.label_texts)[group]
    return f"[{name}" + (f" or {others} others]" if others else "]")


def _bound(p_value: float) -> str:
    """Write a p-value as the next power of ten above it."""
    return f"1e{math.floor(math.log10(max(p_value, 1e-300))) + 1:d}"
