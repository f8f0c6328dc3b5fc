"""A survey's counters at one time: plan, totals and rejections. Training reads snapshots."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import reduce
from operator import add
from typing import Any

import numpy as np

from encoders.errors import LdpError, SurveyError
from encoders.survey import Plan
from encoders.survey.canonical import dump_canonical_json
from ldp_aggregator.stores.base import Store, Total, count_reports, unknown_survey_error
from ldp_aggregator.stores.schedule import require_complete_import

__all__ = [
    "Snapshot",
    "SnapshotError",
    "Total",
    "choose_covering_plan",
    "counter_names",
    "read_stored_plan",
    "require_different",
    "sum_snapshots",
    "take_snapshot",
]

FORMAT = "ldp-bayes snapshot"
VERSION = 1
_MAX_COUNT = 2**63 - 1
"""The largest count that a store holds."""
_RETAKE_HINT = "Take the snapshot from the collector again"


class SnapshotError(LdpError):
    """A snapshot that cannot be read, or snapshots that cannot be added up."""


class _FieldError(Exception):
    """A wrong entry of a snapshot; the message begins with its name."""


@dataclass(frozen=True)
class Snapshot:
    """Totals of one survey at one time.

    Snapshots of one plan can be added. So can those of a family's rounds, if one round has all questions of
    the others; the sum has the plan of that round.

    Attributes
    ----------
    plan : Plan
    totals : mapping of question key to Total
        Questions without reports may be absent. Support counters (`Question.support_key`) may be absent too:
        older stores did not count them.
    rejections : mapping of reason to count
    simulated : bool
        Whether some of the reports are from an archive that ldp-simulate wrote.
    """

    plan: Plan
    totals: Mapping[str, Total]
    rejections: Mapping[str, int] = field(default_factory=dict)
    simulated: bool = False

    def __add__(self, other: Snapshot) -> Snapshot:
        plan = choose_covering_plan(self.plan, other.plan)
        totals = dict(self.totals)
        for key, total in other.totals.items():
            totals[key] = totals[key] + total if key in totals else total
        rejections = Counter(self.rejections) + Counter(other.rejections)
        return Snapshot(plan, totals, rejections, self.simulated or other.simulated)

    def total(self) -> int:
        """Return the number of reports."""
        return count_reports(self.totals)

    def to_json(self) -> bytes:
        """Return the snapshot as JSON."""
        document = {
            "format": FORMAT,
            "version": VERSION,
            "plan": json.loads(self.plan.json),
            "totals": {
                key: {"n": total.n, "cells": total.cells.tolist()} for key, total in self.totals.items()
            },
            "rejections": dict(self.rejections),
            **({"simulated": True} if self.simulated else {}),
        }
        return dump_canonical_json(document)

    @classmethod
    def from_json(cls, data: bytes, name: str = "the snapshot") -> Snapshot:
        """Read a snapshot from JSON; errors begin with `name` and name the wrong entry.

        Raises
        ------
        SnapshotError
            If the data are not a snapshot, are truncated or of another version, or have an invalid plan or
            counters that do not fit it.
        """
        try:
            document = json.loads(data)
        except (ValueError, RecursionError) as error:
            raise SnapshotError(f"{name}: not JSON ({error}); it may be truncated. {_RETAKE_HINT}") from error
        if not isinstance(document, dict) or (document.get("format"), document.get("version")) != (
            FORMAT,
            VERSION,
        ):
            raise SnapshotError(f"{name}: not a snapshot of version {VERSION}")
        try:
            return _from_dict(document)
        except SurveyError as error:
            raise SnapshotError(f"{name}: plan: {error}. {_RETAKE_HINT}") from error
        except _FieldError as error:
            raise SnapshotError(f"{name}: {error}. {_RETAKE_HINT}") from error
        except (KeyError, TypeError, ValueError, AttributeError, RecursionError) as error:
            raise SnapshotError(f"{name}: the counters do not fit the plan. {_RETAKE_HINT}") from error


def sum_snapshots(snapshots: Iterable[Snapshot]) -> Snapshot:
    """Add up snapshots of one plan, or of the rounds of one family, in any order.

    If several rounds have all questions, the sum has the plan of the family's first round, otherwise that of
    the first id in alphabetical order.

    Raises
    ------
    SnapshotError
        See :func:`choose_covering_plan`.
    """

    def rank(snapshot: Snapshot) -> tuple[int, bool, str]:
        # the round with most questions comes first: neither of two others may cover the other
        plan = snapshot.plan
        return -len(plan.questions), plan.id != plan.family, plan.id

    return reduce(add, sorted(snapshots, key=rank))


def require_different(snapshots: Mapping[str, Snapshot]) -> None:
    """Raise SnapshotError if two snapshots, given by their names, have the same plan and equal counters.

    Counters without reports are equal without being copies.
    """
    names: dict[tuple[str, str], str] = {}
    for name, snapshot in snapshots.items():
        counters = {key: (total.n, total.cells.tolist()) for key, total in snapshot.totals.items()}
        content = snapshot.plan.digest, json.dumps(counters, sort_keys=True)
        former = names.setdefault(content, name)
        if former != name and snapshot.total():
            raise SnapshotError(
                f"{former} and {name} have the same counters, so one is a copy of the other, and its reports "
                "would count twice: name one of them"
            )


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


def counter_names(plan: Plan) -> list[str]:
    """Return the names of all counters of a plan: one per question, and its support counters."""
    support = [each.support_key for each in plan.questions if each.mechanism.support_counters]
    return [each.key for each in plan.questions] + support


def take_snapshot(store: Store, survey: str) -> Snapshot:
    """Return one survey's snapshot, read from a store.

    Raises
    ------
    StoreError
        If the store has no such survey.
    IncompleteImportError
        If the survey's import into the store is not complete.
    """
    plan = read_stored_plan(store, survey)
    require_complete_import(store, survey)
    return Snapshot(plan, store.totals(survey), store.rejections(survey))


def read_stored_plan(store: Store, survey: str) -> Plan:
    """Read one survey's plan from a store.

    Raises
    ------
    StoreError
        If the store has no such survey.
    """
    plans = store.plans()
    if survey not in plans:
        raise unknown_survey_error(survey, plans)
    return Plan.from_json(plans[survey])


def _from_dict(document: dict[str, Any]) -> Snapshot:
    # the plan was canonical when it was written; sorting its keys restores those bytes
    plan = Plan.from_json(dump_canonical_json(document["plan"]))
    cell_counts = {question.key: question.cells for question in plan.questions}
    for question in plan.questions:
        if support := question.mechanism.support_counters:
            cell_counts[question.support_key] = support.cells
    totals = {
        key: _read_total(entry, cell_counts[key], f"totals.{key}")
        for key, entry in document["totals"].items()
    }
    rejections = {
        reason: _read_count(number, f"rejections.{reason}")
        for reason, number in document["rejections"].items()
    }
    return Snapshot(plan, totals, rejections, document.get("simulated") is True)


def _read_total(entry: dict[str, Any], count: int, field: str) -> Total:
    cells = entry["cells"]
    if not isinstance(cells, list) or len(cells) != count:
        raise _FieldError(f"{field}.cells: needs a list of {count} whole numbers, one per counter")
    for place, cell in enumerate(cells):
        # numpy would convert 1.5 to 1 and "5" to 5 without an error
        if type(cell) is not int or not -_MAX_COUNT <= cell <= _MAX_COUNT:
            raise _FieldError(f"{field}.cells.{place}: needs a whole number between -2^63 and 2^63")
    return Total(_read_count(entry["n"], f"{field}.n"), np.array(cells, dtype=np.int64))


def _read_count(number: object, field: str) -> int:
    if type(number) is not int or not 0 <= number <= _MAX_COUNT:
        raise _FieldError(f"{field}: needs a whole number from 0 to below 2^63")
    return number
