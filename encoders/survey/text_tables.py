"""Reads the tables [about] and [texts], and the conditions `ask_if`, of a parsed survey file."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

from encoders.survey.choices import row_entries
from encoders.survey.conditions import KEY, Term, read_conditions
from encoders.survey.features import Feature, Label
from encoders.survey.parse_value import MISSING_TEXT
from encoders.survey.table_entries import EntryReader, Table
from encoders.survey.texts import (
    MAX_TEXTS_BYTES,
    EntryNames,
    SurveyTexts,
    find_problems,
    values_with_texts,
)


def read_texts(
    reader: EntryReader, document: Table, label: Label, features: Sequence[Feature]
) -> SurveyTexts | None:
    """Read the texts of a survey, and note every mistake at `reader`; None if there are no texts."""
    about, languages = (_strip(document.get(name, {})) for name in ("about", "texts"))
    conditions = {
        name: entry[KEY]
        for name, entry in _table(document.get("features")).items()
        if isinstance(entry, dict) and KEY in entry
    }
    rows = _names_of_rows(document, features)
    names = EntryNames(label.values if label.exists else None, label.name, rows)
    problems = list(find_problems(about, languages, conditions, names))
    for path, why in problems:
        reader.note(path, why)
    if problems or not (about or languages or conditions):
        return None
    texts = SurveyTexts(about, languages, read_conditions(conditions))
    if len(texts.json) > MAX_TEXTS_BYTES:
        size = f"{len(texts.json):,} bytes, more than {MAX_TEXTS_BYTES:,}"
        reader.note(("texts",), f"has {size} with [about]: shorten texts, or use fewer languages")
    return texts


def _strip(entry: Any) -> Any:
    """Remove the white space around each text, which multi-line strings add."""
    if isinstance(entry, dict):
        return {key: _strip(each) for key, each in entry.items()}
    return entry.strip() if isinstance(entry, str) else entry


def _names_of_rows(document: Table, features: Sequence[Feature]) -> dict[str, Collection[str] | None]:
    """Return the entries of a row, and their values that may have texts; None if an entry has a mistake.

    A component of the projection is no entry of a row; its inputs are.
    """
    tables = _table(document.get("features"))
    read = {each.name: values_with_texts(each) for each in row_entries(features)}
    names: dict[str, Collection[str] | None] = {
        name: read.get(name) for name, entry in tables.items() if "weights" not in _table(entry)
    }
    for name, entry in _table(_table(document.get("projection")).get("inputs")).items():
        names[name] = (MISSING_TEXT,) if _table(entry).get("missing") == "category" else ()
    return names


def _table(value: object) -> Table:
    """Return a table unchanged, and an empty one for anything else."""
    return value if isinstance(value, dict) else {}


def exclude_each_other(terms: Collection[Term], several: Collection[str]) -> bool:
    """Return whether terms can never hold together; `several` are the questions with several answers."""
    given = {(each.feature, each.value) for each in terms if not each.is_negated}
    single = [feature for feature, _ in given if feature not in several]
    negated = {(each.feature, each.value) for each in terms if each.is_negated}
    return len(set(single)) < len(single) or not given.isdisjoint(negated)
