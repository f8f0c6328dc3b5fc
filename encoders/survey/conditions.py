"""Conditions on which a form asks a question: `ask_if = { feature = "smokes", value = true }`.

A condition is part of the survey's texts, and no report depends on it: a question that is not asked has a
missing answer, which is reported like any other. A condition has one term or several: another question, and
one of its answers. A term on a question that is not asked does not hold.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from graphlib import CycleError, TopologicalSorter
from typing import Any, NamedTuple

from encoders.survey.parse_value import MISSING_TEXT, category_text, unwrap_scalar

KEY = "ask_if"
MAX_TERMS = 100
_KEYS = {"feature", "value"}
_LISTS = {"any": any, "all": all}
_EXAMPLE = '{ feature = "smokes", value = "yes" }'
_FORMS = f"{_EXAMPLE}, {{ not = {_EXAMPLE} }}, or {{ any = [...] }} or {{ all = [...] }} with a list of these"


class Term(NamedTuple):
    """Another question, and an answer that a person gave to it or did not give."""

    feature: str
    value: str
    """The answer; of an entry with several answers, one of the ticked choices."""
    is_negated: bool = False
    """Whether the term holds for every other answer, including a missing one."""

    @classmethod
    def read(cls, entry: Mapping[str, Any]) -> Term:
        answer = entry.get("not", entry)
        return cls(answer["feature"], str(category_text(answer["value"])), "not" in entry)

    def as_dict(self) -> dict[str, Any]:
        answer = {"feature": self.feature, "value": self.value}
        return {"not": answer} if self.is_negated else answer

    def holds(self, answers: Mapping[str, object], hidden: Collection[str]) -> bool:
        """Return whether the other question is not hidden, and has or has not the answer."""
        given = unwrap_scalar(answers.get(self.feature))
        several = given if isinstance(given, Collection) and not isinstance(given, str | bytes) else [given]
        is_given = self.value in map(category_text, several)
        return self.feature not in hidden and is_given != self.is_negated


class Condition(NamedTuple):
    """Ask a question only of a person for whose answers this holds."""

    terms: tuple[Term, ...]
    key: str = ""
    """``any`` or ``all`` of the terms must hold; empty for a condition without a list."""

    @classmethod
    def read(cls, entry: Mapping[str, Any]) -> Condition:
        """Return the condition of an entry that :func:`find_condition_problems` accepts."""
        [key] = _LISTS.keys() & entry.keys() or [""]
        return cls(tuple(map(Term.read, entry[key] if key else [entry])), key)

    def as_dict(self) -> dict[str, Any]:
        entries = [each.as_dict() for each in self.terms]
        return {self.key: entries} if self.key else entries[0]


def read_conditions(entries: Mapping[str, Any]) -> dict[str, Condition]:
    """Return conditions, each after those that it depends on; raises CycleError if one depends on itself."""
    conditions = {name: Condition.read(each) for name, each in entries.items()}
    named = {name: [term.feature for term in each.terms] for name, each in conditions.items()}
    return {name: conditions[name] for name in TopologicalSorter(named).static_order() if name in conditions}


def find_hidden(conditions: Mapping[str, Condition], answers: Mapping[str, object]) -> set[str]:
    """Return the names of the questions whose conditions, in the order of reading, do not hold."""
    hidden: set[str] = set()
    for name, condition in conditions.items():
        if not _LISTS.get(condition.key, all)(each.holds(answers, hidden) for each in condition.terms):
            hidden.add(name)
    return hidden


def find_condition_problems(
    conditions: Mapping[str, Any], values: Mapping[str, Collection[str] | None]
) -> Iterator[tuple[str, str]]:
    """Yield the name of each question with a mistaken condition, and what is wrong.

    `values` has the values of every entry of the row and of the label, with ``(missing)`` if the answer may
    be missing; None if the entry has another mistake.
    """
    for name, entry in conditions.items():
        own = values.get(name, ())
        if name not in values:
            yield name, "is computed, not asked: delete this entry"
        elif own is not None and MISSING_TEXT not in own:
            yield name, 'hides a question whose answer must not be missing: add missing = "category"'
        if why := _entry_fault(entry, values):
            yield name, why
    known = {name: entry for name, entry in conditions.items() if not _entry_fault(entry, values)}
    try:
        read_conditions(known)
    except CycleError as error:
        names = dict.fromkeys(error.args[1])
        why = "depends on itself through other conditions: delete one of them"
        for name in names:
            yield name, why if len(names) > 1 else "depends on its own answer: name another question"


def _entry_fault(entry: Any, values: Mapping[str, Collection[str] | None]) -> str:
    key = next(iter(entry)) if isinstance(entry, dict) and len(entry) == 1 else ""
    if key not in _LISTS:
        return _term_fault(entry, values)
    if not isinstance(entry[key], list) or not 0 < len(entry[key]) <= MAX_TERMS:
        return f"needs a list of 1 to {MAX_TERMS} conditions: {{ {key} = [{_EXAMPLE}] }}"
    return next(filter(None, (_term_fault(each, values) for each in entry[key])), "")


def _term_fault(entry: Any, values: Mapping[str, Collection[str] | None]) -> str:
    if isinstance(entry, dict) and set(entry) == {"not"}:
        entry = entry["not"]
    if isinstance(entry, dict) and {"not", *_LISTS} & set(entry):
        return f"{'is nested' if len(entry) == 1 else 'has several keys'}: write {_FORMS}"
    if not (isinstance(entry, dict) and set(entry) == _KEYS and isinstance(entry["feature"], str)):
        return f"needs the name of a question and one of its answers: write {_FORMS}"
    if entry["feature"] not in values:
        return f"names {entry['feature']!a}, which is no question: use the name of a feature or of the label"
    listed, value = values[entry["feature"]], category_text(entry["value"])
    if listed is None or (value in listed and value != MISSING_TEXT):
        return ""
    if known := ", ".join(each for each in listed if each != MISSING_TEXT):
        return f"has {entry['value']!a}, which is no answer to {entry['feature']}: use one of {known}"
    return f"names {entry['feature']}, which is a number without a list of answers: ask for values instead"
