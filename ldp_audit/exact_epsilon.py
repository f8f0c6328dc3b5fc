"""The exact layer: computes the epsilon that the integer tables of a question spend, with rational numbers.

If payloads are one byte, all of them are enumerated for each of the mechanism's corners. The probabilities
must add up to one, and the worst ratio must equal the claimed ratio. Longer payloads have independent parts
whose worst ratios are multiplied, or are one set among many, with the worst ratio of the set's cells.
"""

from __future__ import annotations

import math
from contextlib import suppress
from dataclasses import dataclass
from fractions import Fraction

from encoders.epsilon_proof import exp_bounds, realised_epsilon
from encoders.errors import ReportError
from encoders.mechanisms import Mechanism
from encoders.survey import Plan, Question

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
