"""Draws the id of a report: 16 random bytes, by which the collector counts the report once.

In a survey by invitation, the id begins with the index of its question, two bytes. The operator draws it
instead of the device and gives it to a person as a token, see :mod:`encoders.survey.invitation`.
"""

from __future__ import annotations

from encoders.randomness import RandomSource
from encoders.report import ID_BYTES
from encoders.survey.compiled_plan import AnyPlan, CountedQuestion

INDEX_BYTES = 2


def report_id_prefix(plan: AnyPlan, question: CountedQuestion) -> bytes:
    """Return the bytes with which all report ids of a question begin; none without invitations."""
    return question.index.to_bytes(INDEX_BYTES, "big") if plan.by_invitation else b""


def draw_report_id(plan: AnyPlan, question: CountedQuestion, rng: RandomSource) -> bytes:
    """Draw the id of a report or an invitation; takes 16 random bytes, or 14 in a survey by invitation."""
    prefix = report_id_prefix(plan, question)
    return prefix + rng.take(ID_BYTES - len(prefix))
