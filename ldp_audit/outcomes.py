"""A lower bound on epsilon from the outcomes of two neighbours: trainings of a curator, messages of a silo.

One half of the outcomes chooses the event whose probabilities differ most, the other half measures both.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Hashable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from encoders.epsilon_proof import exp_bounds, realised_epsilon
from encoders.errors import ReportError
from encoders.explain.text import format_table
from encoders.mechanisms import Mechanism
from encoders.survey import Plan, Question
from ldp_audit.blackbox import epsilon_lower_bound

LEAST_TRIALS = 200


@dataclass(frozen=True)
class MeasuredLeak:
    """What the outcomes of two neighbours reveal."""

    name: str
    """What was audited: a learner, or the person whose rows were added."""
    epsilon: Fraction
    epsilon_lower_bound: float
    """The epsilon that the outcomes reveal at least; too high with a probability of at most `alpha`."""
    max_detectable_epsilon: float
    """The largest bound that this number of trials can show."""
    trials: int

    @property
    def passed(self) -> bool:
        return self.epsilon_lower_bound <= self.epsilon

    def as_dict(self) -> dict[str, Any]:
        return {
            "epsilon_lower_bound": self.epsilon_lower_bound,
            "max_detectable_epsilon": self.max_detectable_epsilon,
            "trials": self.trials,
            "passed": self.passed,
        }


def measure_leak(
    name: str, epsilon: Fraction, outcomes: Sequence[Sequence[Hashable]], alpha: float
) -> MeasuredLeak:
    """Return a lower bound on epsilon from the outcomes of two neighbours, equally many of each."""
    one, other = outcomes
    half = len(one) // 2
    event, is_swapped = _choose_event(one[:half], other[:half], alpha)
    tested = len(one) - half
    hits, other_hits = (sum(each in event for each in found[half:]) for found in outcomes)
    if is_swapped:
        hits, other_hits = other_hits, hits
    return MeasuredLeak(
        name=name,
        epsilon=epsilon,
        epsilon_lower_bound=epsilon_lower_bound(hits, other_hits, tested, alpha),
        max_detectable_epsilon=epsilon_lower_bound(tested, 0, tested, alpha),
        trials=len(one),
    )


def format_leaks(heading: str, leaks: Sequence[MeasuredLeak]) -> list[str]:
    """Return the lines of a table of leaks; `heading` is the heading of their names."""
    rows = [[heading, "epsilon", "revealed at least", "detectable", "trials", ""]]
    rows += [
        [
            leak.name,
            f"{float(leak.epsilon):g}",
            f"{leak.epsilon_lower_bound:.2f}",
            f"{leak.max_detectable_epsilon:.2f}",
            f"{leak.trials:,}",
            "passed" if leak.passed else "FAILED",
        ]
        for leak in leaks
    ]
    legend = (
        "A row passes if what the trials reveal is at most epsilon. detectable is the most that this "
        "number of trials can reveal."
    )
    return [*format_table(rows, "<>>>><"), "", legend, ""]


def _choose_event(
    one: Sequence[Hashable], other: Sequence[Hashable], alpha: float
) -> tuple[set[Hashable], bool]:
    """Return the set of outcomes with the greatest bound, and whether it is likelier in `other`."""
    counts, other_counts = Counter(one), Counter(other)
    outcomes = sorted(
        counts.keys() | other_counts.keys(),
        key=lambda each: ((counts[each] + 0.5) / (other_counts[each] + 0.5), repr(each)),
        reverse=True,
    )
    best, event, swapped = -1.0, set(outcomes), False
    for is_swapped in (False, True):
        order = outcomes[::-1] if is_swapped else outcomes
        first, second = (other_counts, counts) if is_swapped else (counts, other_counts)
        hits = misses = 0
        for end, outcome in enumerate(order, 1):
            hits, misses = hits + first[outcome], misses + second[outcome]
            bound = epsilon_lower_bound(hits, misses, len(one), alpha)
            if bound > best:
                best, event, swapped = bound, set(order[:end]), is_swapped
    return event, swapped


_MAX_PROBABILITIES = 1 << 18


@dataclass(frozen=True)
class ExactResult:
    question: str
    mechanism: str
    ratio: Fraction
    """The worst likelihood ratio over all inputs and outputs."""
    realised_epsilon: str
    """ln(ratio), rounded up."""
    unused_share: float
    """1 - realised epsilon / nominal epsilon: the share of the budget that rounding left unused."""
    enumerated_payloads: int
    """Number of payloads that were enumerated; 0 if the ratio was computed from factors instead."""
    passed: bool
    """Whether ratio <= e^epsilon and the enumeration agrees."""


def compute_exact(plan: Plan, question: Question) -> ExactResult:
    mechanism = question.mechanism
    within = mechanism.ratio <= exp_bounds(plan.epsilon)[0]
    payloads = _list_payloads(mechanism)
    agrees = not payloads or _enumerate_ratio(mechanism, payloads) == mechanism.ratio
    return ExactResult(
        question=question.name,
        mechanism=mechanism.name,
        ratio=mechanism.ratio,
        realised_epsilon=format(realised_epsilon(mechanism.ratio), "f"),
        unused_share=1 - math.log(mechanism.ratio) / float(plan.epsilon),
        enumerated_payloads=len(payloads),
        passed=within and agrees,
    )


def _list_payloads(mechanism: Mechanism) -> list[bytes]:
    if mechanism.payload_bytes > 1 or 256 * len(mechanism.corners) > _MAX_PROBABILITIES:
        return []
    payloads = []
    for payload in (bytes([value]) for value in range(256)):
        with suppress(ReportError):
            mechanism.check(payload)
            payloads.append(payload)
    return payloads


def _enumerate_ratio(mechanism: Mechanism, payloads: list[bytes]) -> Fraction:
    likelihoods = [mechanism.likelihood(payload) for payload in payloads]
    add_up = all(sum(column) == 1 for column in zip(*likelihoods, strict=True))
    if not add_up or min(map(min, likelihoods)) == 0:
        return Fraction(0)
    return max(max(each) / min(each) for each in likelihoods)
