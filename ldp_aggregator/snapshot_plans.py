"""Which plan the sum of two snapshots of people's answers has."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from encoders.errors import LdpError
from encoders.survey import Plan
from encoders.survey.any_survey import ANY_PLANS
from encoders.survey.canonical import dump_canonical_json
from encoders.survey.silo_plan import SiloPlan


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
            f"{validation.id} is a validation round, whose reports cannot be added to {training.id}: give "
            "ldp-train both, as separate sources"
        )
    raise SnapshotError(
        f"the reports of {one.id} and {other.id} cannot be added: they answer different plans, which are not "
        f"rounds of one family where one round asks all questions of the other: leave one out"
    )


def _shared_definition(plan: Plan) -> tuple[Any, ...]:
    """Return the parts of a plan that are the same in all rounds of a family."""
    return plan.family, plan.label, plan.features, plan.projection, plan.enrolment, plan.validation


def dump_plan_entry(plan: Plan | SiloPlan) -> dict[str, Any]:
    """Return the entries of a snapshot or a model file: the plan, and its texts if they are at hand."""
    texts = {"texts": json.loads(plan.texts.json)} if plan.texts else {}
    return {"plan": json.loads(plan.json), **texts}


def read_plan_entry(content: Mapping[str, Any]) -> Plan | SiloPlan:
    """Return the plan of a snapshot or a model file, with its texts.

    Raises
    ------
    SurveyError
        If the plan is invalid, or the texts are not its texts.
    """
    # the plan was canonical when it was written; sorting its keys restores those bytes
    plan = ANY_PLANS.from_json(dump_canonical_json(content["plan"]))
    texts = content.get("texts")
    return plan if texts is None else plan.with_texts(dump_canonical_json(texts))
