"""Conditions on which a form asks a question: `ask_if = { feature = "smokes", value = true }`.

A condition is part of the survey's texts, and no report depends on it: a question that is not asked has a
missing answer, which is reported like any other. A form hides a question if its condition does not hold, or
if it hides the question that the condition names.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from itertools import dropwhile
from typing import Any, NamedTuple

from encoders.survey.parse_value import MISSING_TEXT, category_text

KEY = "ask_if"
_KEYS = {"feature", "value"}
_EXAMPLE = '{ feature = "smokes", value = "yes" }'


class Condition(NamedTuple):
    """Ask a question only of a person who gave this answer to another question."""

    feature: str
    """Name of the other entry of the row, or of the label."""
    value: str
    """The answer; of an entry with several answers, one of the ticked choices."""

    @classmethod
    def read(cls, entry: Mapping[str, Any]) -> Condition:
        """Return the condition of an entry that :func:`find_condition_problems` accepts."""
        return cls(entry["feature"], str(category_text(entry["value"])))


def find_condition_problems(
    conditions: Mapping[str, Any], values: Mapping[str, Collection[str] | None]
) -> Iterator[tuple[str, str]]:
    """Yield the name of each question with a mistaken condition, and what is wrong.

    Parameters
    ----------
    conditions : Mapping
        The conditions by the name of the hidden question.
    values : Mapping of str to collection of str, or None
        The values of every entry of the row and of the label, with ``(missing)`` if the answer may be
        missing; None if they are not known, because the entry has another mistake.
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
    for name in _find_cycles({name: entry["feature"] for name, entry in known.items()}):
        yield name, "depends on itself through other conditions: delete one of them"


def _entry_fault(entry: Any, values: Mapping[str, Collection[str] | None]) -> str:
    """Return what is wrong with one condition; empty if it can be read."""
    if not (isinstance(entry, dict) and set(entry) == _KEYS and isinstance(entry["feature"], str)):
        return f"needs the name of a question and one of its answers, for example {_EXAMPLE}"
    if entry["feature"] not in values:
        return f"names {entry['feature']!a}, which is no question: use the name of a feature or of the label"
    listed, value = values[entry["feature"]], category_text(entry["value"])
    if listed is None or (value in listed and value != MISSING_TEXT):
        return ""
    known = ", ".join(each for each in listed if each != MISSING_TEXT)
    return f"needs an answer to {entry['feature']}: {known or 'none, because it is a number: ask for values'}"


def _find_cycles(named: Mapping[str, str]) -> Iterator[str]:
    """Yield the questions that are hidden depending on themselves; `named` has the other question of each."""
    seen: set[str] = set()
    for name in named:
        chain: dict[str, None] = {}
        while name in named and name not in seen:
            seen.add(name)
            chain[name] = None
            name = named[name]
        if name in chain:
            yield from dropwhile(name.__ne__, chain)
