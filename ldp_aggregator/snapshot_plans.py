"""Which plan the sum of two snapshots of people's answers has."""

from __future__ import annotations

from typing import Any

from encoders.errors import LdpError
from encoders.survey import Plan


class SnapshotError(LdpError):
    """A snapshot that cannot be read, or snapshots that cannot be added up."""


def choose_covering_plan(one: Plan, other: Plan) -> Plan:
    """Return the plan that has all questions of the other plan; the first if both do.

    Raises
    ------
    SnapshotError
        If neither does, or if they are not rounds of one family: their reports cannot be added.
    """
    for plan, covered in ((one, other), (other, one)):
        keys = {question.key for question in plan.questions}
        covers = {question.key for question in covered.questions} <= keys
        if covers and _shared_definition(plan) == _shared_definition(covered):
            return plan
    if bool(one.validation) != bool(other.validation):
        validation, training = (one, other) if one.validation else (other, one)
        raise SnapshotError(
            f"{validation.id} validates a model, and its reports are not added to {training.id}: give "
            "ldp-train both, as separate sources"
        )
    raise SnapshotError(
        f"the reports of {one.id} and {other.id} cannot be added: they answer different plans, which are not "
        f"rounds of one family where one round asks all questions of the other"
    )


def _shared_definition(plan: Plan) -> tuple[Any, ...]:
    """Return the parts of a plan that are the same in all rounds of a family."""
    return plan.family, plan.label, plan.features, plan.projection, plan.enrolment, plan.validation
