"""The exact layer: what a question's integers spend, as a rational number.

Where payloads are one byte they are all enumerated, with every input that others are mixtures of: the
probabilities must add up to one, and the worst ratio must be the one claimed. Longer payloads are made of
parts whose worst ratios multiply, or one set among many, whose worst ratio is that of its cells.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

from encoders.epsilon_proof import exp_bounds, realised_epsilon
from encoders.errors import ReportError
from encoders.mechanisms import Mechanism
from encoders.survey import Plan, Question

_MOST_WORK = 1 << 18
"""Probabilities to enumerate at most, per question."""


@dataclass(frozen=True)
class Exact:
    """What a question spends.

    Attributes
    ----------
    question, mechanism : str
    ratio : Fraction
        The worst likelihood ratio over all inputs and outputs.
    realised : str
        ln(ratio), rounded up.
    loss : float
        1 - realised epsilon / nominal: what rounding gave away of the budget.
    enumerated : int
        Outputs that were enumerated; 0 if the ratio follows from its factors.
    passed : bool
        Whether ratio <= e^epsilon and the enumeration agrees.
    """

    question: str
    mechanism: str
    ratio: Fraction
    realised: str
    loss: float
    enumerated: int
    passed: bool


def exactly(plan: Plan, question: Question) -> Exact:
    """Return what a question of the plan spends."""
    mechanism = question.mechanism
    within = mechanism.ratio <= exp_bounds(plan.epsilon)[0]
    outputs = _outputs(mechanism)
    agrees = not outputs or _enumerated(mechanism, outputs) == mechanism.ratio
    loss = 1 - math.log(mechanism.ratio) / float(plan.epsilon)
    realised = format(realised_epsilon(mechanism.ratio), "f")
    return Exact(
        question.name, mechanism.name, mechanism.ratio, realised, loss, len(outputs), within and agrees
    )


def _outputs(mechanism: Mechanism) -> list[bytes]:
    """Return every possible payload, or none where they are too many."""
    if mechanism.payload_bytes > 1 or 256 * len(mechanism.corners) > _MOST_WORK:
        return []
    return [bytes([value]) for value in range(256) if _possible(mechanism, bytes([value]))]


def _possible(mechanism: Mechanism, payload: bytes) -> bool:
    try:
        mechanism.check(payload)
    except ReportError:
        return False
    return True


def _enumerated(mechanism: Mechanism, outputs: list[bytes]) -> Fraction:
    """Return the worst ratio, 0 if probabilities do not add up to one or an input excludes an output."""
    laws = [mechanism.likelihood(payload) for payload in outputs]
    sound = all(sum(column) == 1 for column in zip(*laws, strict=True)) and min(map(min, laws)) > 0
    if not sound:
        return Fraction(0)
    return max(max(law) / min(law) for law in laws)
