"""Finds the weakest trust model for an accuracy: the one in which people must trust the fewest others."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from ldp_design.comparison.curves import Mean
from ldp_design.comparison.result import TrustComparison
from ldp_design.comparison.trusts import Trust

_STEPS = (0.1, 0.05, 0.02, 0.01)
_MIN_TARGETS = 3
_ROUNDING = 1e-9


@dataclass(frozen=True)
class Candidate:
    """A trust model with its accuracy at one epsilon."""

    trust: Trust
    accuracy: Mean


@dataclass(frozen=True, kw_only=True)
class NeededTrust:
    """The weakest trust model that reaches an accuracy at one epsilon."""

    epsilon: float
    reaches: Candidate | None
    """The weakest compared trust model whose whole 95% interval is at or above the accuracy."""
    may_reach: tuple[Candidate, ...]
    """Weaker trust models whose interval contains the accuracy."""
    best: Candidate | None
    """The compared trust model with the highest accuracy."""


def find_needed_trusts(comparison: TrustComparison, target: float) -> list[NeededTrust]:
    """Return the weakest trust model that an accuracy needs, at each epsilon."""
    found = []
    for place, epsilon in enumerate(comparison.epsilons):
        candidates = [
            Candidate(curve.trust, comparison.average(curve.accuracies[place])) for curve in comparison.ranked
        ]
        sure = [place for place, each in enumerate(candidates) if each.accuracy.low >= target]
        first = sure[0] if sure else len(candidates)
        found.append(
            NeededTrust(
                epsilon=epsilon,
                reaches=candidates[first] if sure else None,
                may_reach=tuple(each for each in candidates[:first] if each.accuracy.high >= target),
                best=max(candidates, key=lambda each: each.accuracy.value, default=None),
            )
        )
    return found


def choose_targets(majority: float, ceiling: float) -> list[float]:
    """Return round accuracies between that of the majority class and that without protection."""
    found: list[float] = []
    for step in _STEPS:
        first = math.floor(majority / step + _ROUNDING) + 1
        last = math.ceil(ceiling / step - _ROUNDING) - 1
        found = [round(place * step, 2) for place in range(first, last + 1)]
        if len(found) >= _MIN_TARGETS:
            break
    return found


def describe_cell(needed: NeededTrust) -> str:
    """Return a cell of the table, for example "silo:10 (local?)" if the weaker local survey may reach it too.

    "-" stands for none that is sure to reach the accuracy.
    """
    sure = needed.reaches.trust.text if needed.reaches else "-"
    possible = ", ".join(f"{each.trust.text}?" for each in needed.may_reach)
    return f"{sure} ({possible})" if possible else sure


def tabulate_targets(comparison: TrustComparison, targets: Sequence[float]) -> list[list[str]]:
    """Return one row for each accuracy: the weakest trust model that reaches it, at each epsilon."""
    return [
        [f"{100 * target:.4g}%", *map(describe_cell, find_needed_trusts(comparison, target))]
        for target in targets
    ]
