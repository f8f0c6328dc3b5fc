"""Decides which questions of an XLSForm a survey can ask privately, and how."""

from __future__ import annotations

import re
import textwrap
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal
from graphlib import CycleError, TopologicalSorter
from importlib.resources import files
from typing import NamedTuple, cast

from pyxform import aliases

from encoders.canonical import decimal_text, look_of, to_nfc
from encoders.survey.conditions import MAX_TERMS
from encoders.survey.toml_reader import parse_toml
from ldp_design.authoring.draft import DraftError
from ldp_design.authoring.overview import exclude_each_other
from ldp_design.authoring.toml_edit import quote
from ldp_design.authoring.xlsform.form import Form, Question, get_cell
from ldp_design.authoring.xlsform.form_conditions import (
    ALWAYS,
    MAX_LENGTH,
    NEVER,
    ExpressionError,
    Formula,
    Group,
    Term,
    Token,
    join,
    parse_expression,
)

MAX_CHOICES = 1_000
_MAX_TEXTS = 200_000
"""Largest number of cells in the lists of choices of all questions, where a list counts at each question."""

_REFERENCE = re.compile(r"\$\{\s*([^{}\s]+)\s*\}")
_RANDOM = re.compile(r"\brandom\s*\(")
_SEARCH = re.compile(r"\bsearch\s*\(")
_LIMIT = re.compile(r"(?:^|[\s,;])(start|end)\s*=\s*([^\s,;]*)")
_NUMBER = re.compile(r"-?(?:\d{1,15}(?:\.\d{0,4})?|\.\d{1,4})")
_REASONS: dict[str, str] = parse_toml(files(__package__).joinpath("reasons.toml").read_text("utf-8"))
UNLIMITED = _REASONS["unlimited"]
"""Why a number is left out that the author can complete."""

Resolve = Callable[[str, Question], Question | None]
"""Finds the question that another one refers to by its name in the form."""


def decide(form: Form) -> Callable[[], None]:
    """Fill in what each question becomes, or why it is left out; raise DraftError for too many choices.

    Returns a function that leaves out the followers of questions that are left out later.
    """
    by_name: dict[str, list[Question]] = {}
    for each in form.questions:
        by_name.setdefault(each.name, []).append(each)
        each.reason = _find_reason(each)

    def resolve(name: str, question: Question) -> Question | None:
        """Prefer the innermost group that encloses both questions."""
        found = by_name.get(to_nfc(name), [])
        near = [each for each in found if each.groups == question.groups[: len(each.groups)]]
        return found[0] if len(found) == 1 else max(near, key=lambda each: len(each.groups), default=None)

    ordered = _order_by_condition(form.questions, resolve)
    for each in ordered:
        each.reason = each.reason or _read_choices(each, form)
    _name_distinctly([each for each in form.questions if not each.reason])

    def read_conditions() -> None:
        for each in ordered:
            if each.reason in ("", UNLIMITED):
                each.reason = _read_conditions(each, resolve) or each.reason

    read_conditions()
    texts = 0
    for each in ordered:
        if not each.reason and each.choices is None:
            _read_constraint(each)
            each.reason = "" if each.bounds else _REASONS["range"] if each.tag == "range" else UNLIMITED
        rows = (each.choices or {}).values()
        texts += sum(len(cell) if isinstance(cell, dict) else 1 for row in rows for cell in row.values())
        if texts > _MAX_TEXTS:
            why = f"up to here, the questions have more than {_MAX_TEXTS:,} choices and translations"
            raise DraftError(f"{each.place}: {why}: delete languages, or split the form")
    return read_conditions


def _find_reason(question: Question) -> str:
    bind, answer = question.bind, question.bind.get("type", "")
    appearance = get_cell(question.cells, "control", "appearance").split()
    if sum(map(len, question.conditions)) > MAX_LENGTH:
        return _REASONS["long"]
    formulas = (bind.get("calculate", ""), str(question.cells.get("default", "")), *question.conditions)
    is_number = question.tag == "input" and answer in ("int", "decimal")
    is_select = question.tag in ("select1", "select")
    cases = {
        "random": any(map(_RANDOM.search, formulas)),
        f"type {question.type.split(' ')[0]}": True,
        "unknown": not question.tag and not bind.get("type"),
        "metadata": "jr:preload" in bind,
        f"answer {answer}": True,
        "acknowledged": question.tag == "trigger",
        "computed": not question.tag or "calculate" in bind,
        "read_only": aliases.yes_no.get(bind.get("readonly", "no"), True),
        "free_text": not is_number and not is_select and question.tag != "range",
        question.enclosing: True,
        "header": is_select and "label" in appearance,
        "hidden": "hidden" in appearance,
        "unnamed": not question.name,
    }
    return next((_REASONS[case] for case, holds in cases.items() if holds and case in _REASONS), "")


def _name_distinctly(questions: Iterable[Question]) -> None:
    """Put the group's name before names that several questions or choices have, or a number after them."""
    several = [each for each in questions if each.tag == "select"]
    choices = {look_of(f"{each.name}: {choice}") for each in several for choice in each.choices or ()}
    counts = Counter([*choices, *(look_of(each.name) for each in questions)])
    taken = choices | {look for look, count in counts.items() if count == 1}
    numbers: Counter[str] = Counter()
    for each in questions:
        if counts[look_of(former := each.name)] == 1:
            continue
        base = each.name = "_".join([*each.groups[-1:], former])
        while look_of(each.name) in taken:
            numbers[base] += 1
            each.name = f"{base}_{numbers[base] + 1}"
        taken.add(look_of(each.name))
        if each.name != former:
            each.notes.append(f"is named {quote(each.name)}, because other questions have its name")


def _order_by_condition(questions: Sequence[Question], resolve: Resolve) -> list[Question]:
    """Return the questions, each after those that its conditions refer to; leave out those in a cycle."""
    sorter: TopologicalSorter[Question] = TopologicalSorter()
    for each in questions:
        names = _REFERENCE.findall(" ".join(() if each.reason else each.conditions))
        sorter.add(each, *filter(None, (resolve(name, each) for name in names)))
    with suppress(CycleError):
        sorter.prepare()
    ordered: list[Question] = []
    while ready := sorter.get_ready():
        ordered += ready
        sorter.done(*ready)
    free = set(ordered)
    blocked = [each for each in questions if each not in free]
    for each in blocked:
        each.reason = each.reason or _give_reason("cycle", each, [other.name for other in blocked])
    return [*ordered, *blocked]


def _read_choices(question: Question, form: Form) -> str:
    if question.tag not in ("select1", "select"):
        return ""
    rows = form.lists.get(question.list_name, ())
    is_searched = _SEARCH.search(get_cell(question.cells, "control", "appearance"))
    is_from_file = not rows and re.search(r"\$\{|\.", question.list_name)
    if "choice_filter" in question.cells or is_searched or is_from_file:
        return _REASONS["filtered"]
    if not rows:
        return _REASONS["unlisted"]
    if len(rows) > MAX_CHOICES:
        return _REASONS["many"].format(f"{len(rows):,}", f"{MAX_CHOICES:,}")
    question.choices = {}
    for row in rows:
        question.choices.setdefault(to_nfc(row["name"]), row)
    if len(question.choices) < len(rows):
        names = Counter(to_nfc(row["name"]) for row in rows)
        listed = ", ".join(quote(name) for name, count in names.items() if count > 1)
        if not form.allows_duplicates:
            return _REASONS["repeated_choice"].format(listed)
        question.notes.append(f"is kept with the first of the choices that have one name: {listed}")
    return "" if len(question.choices) > 1 else _REASONS["single"]


# -- conditions ---------------------------------------------------------------------------------


def _give_reason(case: str, question: Question, names: Iterable[str] = ()) -> str:
    listed = " and ".join(f"`{textwrap.shorten(each, 100)}`" for each in question.conditions)
    return _REASONS[case].format(listed, textwrap.shorten(", ".join(map(quote, names)), 200))


def _read_conditions(question: Question, resolve: Resolve) -> str:
    named: dict[str, Question] = {}
    negated: set[str] = set()

    def compare(left: Token, operator: str, right: Token) -> Term:
        other = resolve(left[1], question)
        term = _make_term(left, operator, right, other)
        named[term.feature] = cast(Question, other)
        negated.update({term.feature} if term.is_negated else ())
        return term

    try:
        formula = join("all", (parse_expression(each, compare) for each in question.conditions))
    except ExpressionError as error:
        return _give_reason(str(error), question)
    needed = set(_list_parts(formula, "all"))
    if hidden := [name for name in negated if not needed.issuperset(_list_parts(named[name].ask_if, "all"))]:
        return _give_reason("hidden_not", question, sorted(hidden))
    if _is_nested(formula):
        implied = _find_implied(formula, named)
        formula = join("all", (part for part in _list_parts(formula, "all") if part not in implied))
    several = {name for name, each in named.items() if each.tag == "select"}
    parts = [each for each in _list_parts(formula, "all") if not _is_always_true(each, several)]
    excluded = exclude_each_other([each for each in parts if isinstance(each, Term)], several)
    formula = NEVER if excluded else join("all", parts)
    if formula == NEVER or _is_nested(formula):
        return _give_reason("never" if formula == NEVER else "nested", question)
    if len(_list_parts(formula, "any", "all")) > MAX_TERMS:
        return _REASONS["long"]
    question.ask_if = None if formula == ALWAYS else formula
    return ""


def _make_term(left: Token, operator: str, right: Token, other: Question | None) -> Term:
    cases = {
        "condition": left[0] != "answer" or right[0] not in ("value", "number"),
        "number": operator[0] in "<>",
        "answered": not right[1],
    }
    if case := next((case for case, holds in cases.items() if holds), ""):
        raise ExpressionError(case)
    if other is None or other.reason not in ("", UNLIMITED):
        raise ExpressionError("reference")
    if (value := to_nfc(right[1])) not in (other.choices or ()):
        raise ExpressionError("value" if other.choices else "number")
    if other.tag == "select" and "selected" not in operator:
        raise ExpressionError("only")
    return Term(other.name, value, operator.startswith(("!", "not")))


def _is_always_true(formula: Formula, several: Collection[str]) -> bool:
    """Return whether one of the terms must hold, because all their negations cannot."""
    terms = [each for each in _list_parts(formula, "any") if isinstance(each, Term)]
    negations = [each._replace(is_negated=not each.is_negated) for each in terms]
    return exclude_each_other(negations, several)


def _is_nested(formula: Formula | None) -> bool:
    return isinstance(formula, Group) and any(isinstance(part, Group) for part in formula.parts)


def _list_parts(formula: Formula | None, *kinds: str) -> Sequence[Formula]:
    if isinstance(formula, Group) and formula.kind in kinds:
        return formula.parts
    return () if formula is None else (formula,)


def _find_implied(formula: Formula, named: Mapping[str, Question]) -> set[Formula]:
    """Return what holds whenever the questions of a formula are asked and it holds."""
    if not isinstance(formula, Group):
        return set(_list_parts(named[formula.feature].ask_if, "all")) if isinstance(formula, Term) else set()
    found = [_find_implied(part, named) for part in formula.parts]
    return set().union(*found) if formula.kind == "all" else set.intersection(*found)


# -- limits of numbers --------------------------------------------------------------------------


class Limit(NamedTuple):
    """A comparison of the answer with a number."""

    operator: str
    number: Decimal


def _read_limit(left: Token, operator: str, right: Token) -> Limit:
    if left != ("sign", ".") or right[0] != "number":
        raise ExpressionError("condition")
    return Limit(operator, Decimal(right[1]))


def _read_constraint(question: Question) -> None:
    """Fill in the lower and the upper limit of a number, and codes outside them, if the form gives both."""
    if question.tag == "range":
        found = dict(_LIMIT.findall(get_cell(question.cells, "parameters").lower()))
        limits = [found.get("start", "1"), found.get("end", "10")]
        if all(map(_NUMBER.fullmatch, limits)) and Decimal(limits[0]) != Decimal(limits[1]):
            question.bounds = sorted(map(Decimal, limits))
        return
    try:
        formula = parse_expression(question.bind.get("constraint", ""), _read_limit)
    except ExpressionError:
        return
    parts = formula.parts if isinstance(formula, Group) and formula.kind == "any" else (formula,)
    ranges = [part.parts for part in parts if isinstance(part, Group)]
    codes = [part for part in parts if isinstance(part, Limit)]
    if len(ranges) != 1 or any(each.operator != "=" for each in codes):
        return
    question.bounds = _find_bounds(ranges[0], is_whole=question.bind["type"] == "int")
    numbers = [each.number for each in codes if question.bounds]
    question.codes = [each for each in numbers if not question.bounds[0] <= each <= question.bounds[1]]
    if question.codes:
        listed = ", ".join(map(decimal_text, question.codes))
        question.notes.append(f"is kept with its range; answers of {listed} count as missing (missing_codes)")


def _find_bounds(parts: Sequence[Formula], *, is_whole: bool) -> Sequence[Decimal]:
    limits: dict[str, Decimal] = {}
    for part in parts:
        if not isinstance(part, Limit) or part.operator[0] not in "<>" or part.operator[0] in limits:
            return ()
        side, limit = part.operator[0], part.number
        if is_whole:  # . > 0 is . >= 1, and . > 0.5 is . >= 1
            whole = limit.to_integral_value(ROUND_CEILING if side == ">" else ROUND_FLOOR)
            limit = whole + (1 if side == ">" else -1) * (whole == limit and part.operator == side)
        limits[side] = limit
    return (limits[">"], limits["<"]) if len(limits) == 2 and limits[">"] < limits["<"] else ()
