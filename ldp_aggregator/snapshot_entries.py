"""The entries of a snapshot's document: reads totals and counts, and names a wrong entry."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import numpy as np

from encoders.survey.compiled_plan import AnyPlan
from ldp_aggregator.stores.base import Total

_REASON = re.compile(r"[a-z][a-z-]{0,63}")
_MAX_COUNT = 2**63 - 1
"""The largest count that a store holds."""


class FieldError(Exception):
    """A wrong entry of a snapshot; the message begins with its name."""


def counter_names(plan: AnyPlan) -> list[str]:
    """Return the names of all counters of a plan: one per question, and its support counters."""
    support = [each.support_key for each in plan.questions if each.mechanism.support_counters]
    return [each.key for each in plan.questions] + support


def read_totals(entries: Mapping[str, Any], plan: AnyPlan) -> dict[str, Total]:
    """Return the totals of a document; raise FieldError or KeyError if they do not fit the plan."""
    cell_counts = {question.key: question.cells for question in plan.questions}
    for question in plan.questions:
        if support := question.mechanism.support_counters:
            cell_counts[question.support_key] = support.cells
    return {key: _read_total(entry, cell_counts[key], f"totals.{key}") for key, entry in entries.items()}


def read_rejections(entries: Mapping[str, Any]) -> dict[str, int]:
    """Return the numbers of rejections by reason; raise FieldError for anything else."""
    if not all(map(_REASON.fullmatch, entries)):
        raise FieldError("rejections: needs reasons of lower-case letters and hyphens, such as wrong-plan")
    return {reason: _read_count(number, f"rejections.{reason}") for reason, number in entries.items()}


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
