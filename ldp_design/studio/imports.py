"""Starts a survey: an empty one, the example, or a draft from an XLSForm or a public sample."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Sequence
from pathlib import Path

from encoders.errors import LdpError
from encoders.late_imports import LateImport
from ldp_design.authoring.draft import draft_survey, make_survey_id
from ldp_design.authoring.sample_row import read_sample
from ldp_design.authoring.toml_edit import quote

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
_LEFT_OUT = "# Left out:"
_OTHER = re.compile(r'^\[features\.(.+)\]\n(?:#.*\n)*# guess: "other" stands', re.MULTILINE)


class ImportRefused(LdpError):
    """A file that is neither an XLSForm nor a CSV file, or cannot be read."""


def write_new(title: str, languages: Sequence[str]) -> str:
    """Return a survey with one question and tables for texts."""
    text = _EMPTY.format(id=quote(make_survey_id(title)), title=quote(title))
    tables = "".join(f"\n[texts.{each}]\n" for each in languages)
    return text + tables.replace("]\n", f"]\ntitle = {quote(title)}\n", 1)


def read_example() -> str:
    """Return the commented example."""
    return _EXAMPLE.read_text("utf-8")


def import_file(name: str, content: bytes, languages: Sequence[str]) -> tuple[str, list[str]]:
    """Return a survey drafted from a file, and what was left out; raises LdpError if it is no such file."""
    suffix = Path(name).suffix.lower()
    if suffix not in (*_FORMS, ".csv"):
        raise ImportRefused(f"{name}: is not an XLSForm (.xlsx, .xlsm, .xls) nor a table (.csv)")
    with tempfile.TemporaryDirectory(prefix="ldp-survey-import-") as folder:
        path = Path(folder) / f"{make_survey_id(Path(name).stem)}{suffix}"
        path.write_bytes(content)
        if suffix in _FORMS:
            text, notes = _CONVERT.load()(path, None, languages)
            return text, [*notes]
        columns, choices, notes = read_sample(path)
        text = draft_survey(columns, None, path.stem, choices=choices, notes=notes)
    left_out = text.partition(_LEFT_OUT)[2].splitlines()
    added = [
        f'{name}: has a further answer "other", for all that are not listed' for name in _OTHER.findall(text)
    ]
    return text, [*notes, *added, *(line.lstrip("# ") for line in left_out if line.startswith("#"))]
