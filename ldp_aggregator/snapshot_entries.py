"""The entries of a snapshot: plan, texts and totals; and the plan that a sum of two snapshots has."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

import numpy as np

from encoders.canonical import dump_canonical_json
from encoders.errors import LdpError, SurveyError
from encoders.survey import Plan
from encoders.survey.any_survey import ANY_PLANS
from encoders.survey.compiled_plan import AnyPlan
from encoders.survey.silo_plan import SiloPlan
from ldp_aggregator.codec import from_json
from ldp_aggregator.stores.failure import Loss
from ldp_aggregator.stores.shards import divide_counter, read_shards
from ldp_aggregator.stores.store import Store, Total


class SnapshotError(LdpError):
    """A snapshot that cannot be read, or snapshots that cannot be added up."""


def choose_covering_plan(one: Plan, other: Plan) -> Plan:
    """Return the plan of a family with all questions of the other, the first of two; else SnapshotError."""
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
    schema = plan.label, plan.features, plan.projection
    return plan.family, *schema, plan.enrolment, plan.validation, plan.asks_all, plan.waves


def dump_plan_entry(plan: Plan | SiloPlan) -> dict[str, Any]:
    texts = {"texts": json.loads(plan.texts.json)} if plan.texts else {}
    return {"plan": json.loads(plan.json), **texts}


def read_plan_entry(content: Mapping[str, Any]) -> Plan | SiloPlan:
    """Return the plan of a snapshot or model file with its texts; SurveyError if one is invalid."""
    # the plan was canonical when it was written; sorting its keys restores those bytes
    plan = ANY_PLANS.from_json(dump_canonical_json(content["plan"]))
    texts = content.get("texts")
    return plan if texts is None else plan.with_texts(dump_canonical_json(texts))


_REASON = re.compile(r"[a-z][a-z-]{0,63}")
_MAX_COUNT = 2**63 - 1
"""The largest count that a store holds."""


class FieldError(Exception):
    """A wrong entry of a snapshot; the message begins with its name."""


def cell_counts(plan: AnyPlan) -> dict[str, int]:
    support = {each.support_key: each.mechanism.support_counters for each in plan.counted_questions}
    questions = {each.key: each.cells for each in plan.counted_questions}
    return questions | {key: counters.cells for key, counters in support.items() if counters}


def counter_names(plan: AnyPlan, shards: int = 1) -> list[str]:
    questions = [
        each for question in plan.counted_questions for each in divide_counter(plan.id, question.key, shards)
    ]
    return [*questions, *(cell_counts(plan).keys() - {each.key for each in plan.counted_questions})]


def stored_counters(store: Store, survey: str, plan: bytes) -> list[str]:
    try:
        return counter_names(ANY_PLANS.from_json(plan), read_shards(store, survey))
    except SurveyError:
        return []


def read_totals(entries: Mapping[str, Any], plan: AnyPlan) -> dict[str, Total]:
    counts = cell_counts(plan)
    return {key: _read_total(entry, counts[key], f"totals.{key}") for key, entry in entries.items()}


def read_rejections(entries: Mapping[str, Any]) -> dict[str, int]:
    if not all(map(_REASON.fullmatch, entries)):
        raise FieldError("rejections: needs reasons of lower-case letters and hyphens, such as wrong-plan")
    return {reason: _read_count(number, f"rejections.{reason}") for reason, number in entries.items()}


def read_losses(entry: Mapping[str, Any]) -> Loss:
    try:
        return from_json(Loss, entry)
    except ValueError as error:
        raise FieldError(f"losses.{error}") from error


def _read_total(entry: dict[str, Any], count: int, field: str) -> Total:
    cells = entry["cells"]
    if not isinstance(cells, list) or len(cells) != count:
        raise FieldError(f"{field}.cells: needs a list of {count} whole numbers, one per counter")
    for index, cell in enumerate(cells):
        # numpy would convert 1.5 to 1 and "5" to 5 without an error
        if type(cell) is not int or not -_MAX_COUNT <= cell <= _MAX_COUNT:
            raise FieldError(f"{field}.cells.{index}: needs a whole number between -2^63 and 2^63")
    return Total(_read_count(entry["n"], f"{field}.n"), np.array(cells, dtype=np.int64))


def _read_count(number: object, field: str) -> int:
    if type(number) is not int or not 0 <= number <= _MAX_COUNT:
        raise FieldError(f"{field}: needs a whole number from 0 to below 2^63")
    return number
