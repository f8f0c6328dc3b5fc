"""Starts a survey: an empty one, the example, or a draft from an XLSForm or a public sample."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

from encoders.errors import LdpError
from encoders.late_imports import LateImport
from ldp_design.authoring.draft import draft_survey, make_survey_id
from ldp_design.authoring.sample_row import read_sample
from ldp_design.authoring.toml_edit import quote
from ldp_design.authoring.toml_patch import parse_tables
from ldp_design.studio.edits import apply_operations

MAX_BYTES = 10_000_000
_CONVERT = LateImport("ldp_design.authoring.xlsform.survey_file:convert_xlsform", "author", "an XLSForm")
_EXAMPLE = Path(__file__).parent.parent / "authoring" / "example.toml"
_FORMS = (".xlsx", ".xlsm", ".xls")
_EMPTY = """\
[survey]
id = {id}
epsilon = 1.0
users = 2000

[features.question-1]
values = ["answer-1", "answer-2"]
missing = "category"

[about]
title = {title}
"""
_YES_NO = {"en": {"true": "Yes", "false": "No"}, "de": {"true": "Ja", "false": "Nein"}}


class ImportRefused(LdpError):
    """A file that is neither an XLSForm nor a CSV file, or cannot be read."""


def write_new(name: str, title: str, languages: Sequence[str]) -> str:
    """Return a survey with one question and tables for texts."""
    text = _EMPTY.format(id=quote(name), title=quote(title))
    tables = "".join(f"\n[texts.{each}]\n" for each in languages)
    return text + tables.replace("]\n", f"]\ntitle = {quote(title)}\n", 1)


def read_example() -> str:
    """Return the commented example."""
    return _EXAMPLE.read_text("utf-8")


def import_file(
    name: str, content: bytes, wanted: Sequence[str], spoken: str = "en"
) -> tuple[str, list[str]]:
    """Return a survey drafted from a file, and what was guessed or left out; raises LdpError for other files.

    The answers in a table become texts in the language that the studio speaks.
    """
    suffix = Path(name).suffix.lower()
    if suffix not in (*_FORMS, ".csv"):
        raise ImportRefused(f"{name}: is not an XLSForm (.xlsx, .xlsm, .xls) nor a table (.csv)")
    with tempfile.TemporaryDirectory(prefix="ldp-survey-import-") as folder:
        path = Path(folder) / f"{make_survey_id(Path(name).stem)}{suffix}"
        path.write_bytes(content)
        if suffix in _FORMS:
            text, notes = _CONVERT.load()(path, None, wanted)
            return text, [*notes]
        columns, choices, notes = read_sample(path)
        text = draft_survey(columns, None, path.stem, choices=choices, notes=notes)
    left_out = text.partition("# Left out:")[2].splitlines()
    notes = [*notes, *_list_guesses(text), *(line.lstrip("# ") for line in left_out if line.startswith("#"))]
    return _add_words(text, spoken), notes


def _list_guesses(text: str) -> Iterator[str]:
    """Yield the guesses about each question, which an author checks."""
    for block in text.split("\n[features.")[1:]:
        name, *lines = block.splitlines()
        for line in lines:
            if line.startswith("# guess: "):
                yield f"{name.strip(']')}: {line[2:]}"


def _add_words(text: str, language: str) -> str:
    """Return the survey with answers that are words as texts, which people read."""
    operations = [{"op": "set", "path": ["texts", language], "value": {}}]
    for name, entries in parse_tables(text)["features"].items():
        values = entries.get("values", entries.get("choices", []))
        words = {each: each for each in values if isinstance(each, str)}
        if values and all(isinstance(each, bool) for each in values):
            words = _YES_NO.get(language, _YES_NO["en"])
        path = ["texts", language, "features", name, "values"]
        operations += [{"op": "set", "path": path, "value": words}] * bool(words)
    return apply_operations(text, operations)
