"""Decides which questions of an XLSForm a survey can ask privately, and how."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Mapping, Sequence
from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal
from graphlib import CycleError, TopologicalSorter
from importlib.resources import files
from typing import Any

from encoders.nfc import to_nfc
from encoders.survey.toml_lines import parse_toml
from ldp_design.authoring.draft import DraftError
from ldp_design.authoring.toml_edit import quote
from ldp_design.authoring.xlsform.form import Question

MAX_CHOICES = 1_000
_MAX_TEXTS = 200_000
"""Largest number of cells in the lists of choices of all questions, where a list counts at each question."""

_REFERENCE = r"\$\{\s*([^}\s]+)\s*\}"
_VALUE = r"""(?:'([^']*)'|"([^"]*)"|(\d+))"""
_EQUAL = re.compile(rf"\s*{_REFERENCE}\s*=\s*{_VALUE}\s*")
_SELECTED = re.compile(rf"\s*selected\s*\(\s*{_REFERENCE}\s*,\s*{_VALUE}\s*\)\s*")
_BOUND = re.compile(r"\s*\(?\s*\.\s*([<>])(=?)\s*(-?\d{1,15}(?:\.\d{1,4})?)\s*\)?\s*")
_RANDOM = re.compile(r"\brandom\s*\(")
_SEARCH = re.compile(r"\bsearch\s*\(")
_REASONS: dict[str, str] = parse_toml(files(__package__).joinpath("reasons.toml").read_text("utf-8"))
UNLIMITED = _REASONS["unlimited"]
"""Why a number is left out that the author can complete."""


def decide(questions: Sequence[Question], lists: Mapping[str, Sequence[Mapping[str, Any]]]) -> None:
    """Fill in what each question becomes in a survey, or why it is left out.

    Raises
    ------
    DraftError
        If two questions have one name, conditions form a cycle, or a question has too many choices.
    """
    by_name: dict[str, Question] = {}
    for each in questions:
        each.reason = _find_reason(each)
        other = by_name.setdefault(each.name, each)
        if other is not each and not (other.reason and each.reason):
            raise DraftError(f"{each.place}: {quote(each.name)} is the name of {other.place} too: rename one")
    texts = 0
    for each in _order_by_condition(by_name):
        each.reason = each.reason or _read_choices(each, lists) or _read_conditions(each, by_name)
        if not each.reason and each.choices is None:
            each.bounds = _find_bounds(each)
            each.reason = "" if each.bounds else UNLIMITED
        rows = (each.choices or {}).values()
        texts += sum(len(cell) if isinstance(cell, dict) else 1 for row in rows for cell in row.values())
        if texts > _MAX_TEXTS:
            why = f"up to here, the questions have more than {_MAX_TEXTS:,} choices and translations"
            raise DraftError(f"{each.place}: {why}: delete languages, or split the form")


def _find_reason(question: Question) -> str:
    """Return why a question is left out, whatever its choices and conditions are; or ""."""
    bind, cells, answer = question.bind, question.cells, question.bind.get("type", "")
    formulas = (bind.get("calculate", ""), cells.get("default", ""), *question.conditions)
    is_number = question.tag == "input" and answer in ("int", "decimal")
    cases = {
        "random": any(map(_RANDOM.search, formulas)),
        cells["type"]: True,
        "metadata": "jr:preload" in bind,
        answer: True,
        "acknowledged": question.tag == "trigger",
        "computed": not question.tag or "calculate" in bind,
        "read_only": bind.get("readonly", "no") not in ("no", "false", "false()"),
        "free_text": not is_number and question.tag not in ("select1", "select", "range"),
        "repeated": question.is_repeated,
    }
    return next((_REASONS[case] for case, holds in cases.items() if holds and case in _REASONS), "")


def _order_by_condition(by_name: Mapping[str, Question]) -> list[Question]:
    """Return the questions, each after those that its conditions refer to."""
    references = {
        name: {to_nfc(found) for each in question.conditions for found in re.findall(_REFERENCE, each)}
        for name, question in by_name.items()
    }
    try:
        return [by_name[name] for name in TopologicalSorter(references).static_order() if name in by_name]
    except CycleError as error:
        cycle = [by_name[name] for name in dict.fromkeys(error.args[1])]
        places = "; ".join(f"{each.place}: {quote(each.name)}" for each in cycle)
        raise DraftError(f"{places}: the column relevant has a cycle: change one condition") from error


def _read_choices(question: Question, lists: Mapping[str, Sequence[Mapping[str, Any]]]) -> str:
    """Fill in the choices of a question, or return why it is left out."""
    if question.tag not in ("select1", "select"):
        return ""
    rows = lists.get(question.cells.get("itemset", ""), ())
    is_searched = _SEARCH.search(str(question.cells.get("control", {}).get("appearance", "")))
    if not rows or "choice_filter" in question.cells or is_searched:
        return _REASONS["filtered"]
    if len(rows) < 2:
        return _REASONS["single"]
    subject = f"{question.place}: {quote(question.name)}"
    if len(rows) > MAX_CHOICES:
        why = f"more than {MAX_CHOICES:,}: merge choices, or ask for a group of them"
        raise DraftError(f"{subject} has {len(rows):,} choices, {why}")
    question.choices = {to_nfc(each["name"]): each for each in rows}
    if len(question.choices) < len(rows):
        raise DraftError(f"{subject} has two choices with one name: rename one")
    return ""


def _read_conditions(question: Question, by_name: Mapping[str, Question]) -> str:
    """Fill in the only condition of a question, or return why it is left out."""
    if not question.conditions:
        return ""
    first, *others = question.conditions
    match, other = _EQUAL.fullmatch(first) or _SELECTED.fullmatch(first), None
    if match and not others:
        question.ask_if = [to_nfc(each) for each in match.groups() if each is not None]
        other = by_name.get(question.ask_if[0])
    if not match or others:
        case = "condition"
    elif other is None or other.reason or not other.choices:
        case = "reference"
    elif question.ask_if[1] not in other.choices:
        case = "value"
    elif other.tag == "select" and match.re is _EQUAL:
        case = "only"
    else:
        return ""
    return _REASONS[case].format(
        " and ".join(f"`{textwrap.shorten(each, 100)}`" for each in question.conditions)
    )


def _find_bounds(question: Question) -> Sequence[Decimal]:
    """Return the lower and the upper limit of a number; nothing if the form does not give both."""
    if question.tag == "range":
        return sorted(Decimal(question.cells["parameters"][each]) for each in ("start", "end"))
    limits: dict[str, Decimal] = {}
    for part in question.bind.get("constraint", "").split(" and "):
        match = _BOUND.fullmatch(part)
        if not match or match[1] in limits:
            return ()
        limit = Decimal(match[3])
        if question.bind["type"] == "int":  # . > 0 is . >= 1, and . > 0.5 is . >= 1
            up = match[1] == ">"
            whole = limit.to_integral_value(ROUND_CEILING if up else ROUND_FLOOR)
            limit = whole + (1 if up else -1) * (whole == limit and not match[2])
        limits[match[1]] = limit
    return (limits[">"], limits["<"]) if len(limits) == 2 and limits[">"] < limits["<"] else ()
