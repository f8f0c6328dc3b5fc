"""Reads a survey file: TOML to a survey, or an error with the field and line of every mistake."""

from __future__ import annotations

import re
from collections.abc import Container, Sequence
from dataclasses import replace
from typing import Any, TypeVar

from encoders.errors import SurveyError, combine_errors
from encoders.survey.compiled_plan import CENTRAL, LOCAL, REFUSALS
from encoders.survey.schema_tables import Mistake, survey_kind
from encoders.survey.survey import Survey
from encoders.survey.survey_tables import read_tables
from encoders.survey.toml_lines import TOML_ONLY, find_line, parse_toml

SurveyT = TypeVar("SurveyT")


def read_survey(text: str) -> Survey:
    """Read an authored local survey; :func:`any_survey.read_any_survey` reads surveys of all kinds.

    Parameters
    ----------
    text : str
        TOML; `ldp-survey init` writes a commented example.

    Raises
    ------
    SurveyError
        With `field` and `line`. If several entries are wrong, the message and `problems` have all of them.

    Examples
    --------
    >>> survey = read_survey('''
    ... [survey]
    ... id = "tea"
    ... epsilon = 2
    ... [label]
    ... name = "smoker"
    ... values = ["yes", "no"]
    ... [features.tea]
    ... values = ["never", "daily"]
    ... ''')
    >>> [question.name for question in survey.compile().questions]
    ['tea']
    """
    return _read_kinds(text, {LOCAL})


def read_curator_survey(text: str) -> Survey:
    """Read a central or local survey as a survey whose plan codes rows and is not published."""
    return replace(_read_kinds(text, {LOCAL, CENTRAL}), kind=LOCAL)


def _read_kinds(text: str, kinds: Container[str]) -> Survey:
    document = parse_survey_file(text)
    kind = survey_kind(document)
    if kind in REFUSALS and kind not in kinds:
        raise SurveyError(REFUSALS[kind], "survey.kind", find_line(text, ("survey", "kind")))
    return check_tables(read_tables(document), text)


def parse_survey_file(text: str) -> dict[str, Any]:
    """Parse TOML; raise SurveyError, with a line, for anything else."""
    text = text.removeprefix("\ufeff")
    try:
        return parse_toml(text)
    except ValueError as error:
        raise SurveyError(_explain_syntax(str(error), text), "", _line_in(str(error))) from error


def check_tables(read: tuple[SurveyT, Sequence[Mistake]], text: str) -> SurveyT:
    """Return a survey; raise one SurveyError for all mistakes, in the order of the file."""
    survey, mistakes = read
    text = text.removeprefix("\ufeff")
    # the kind decides which other entries are mistakes
    mistakes = [each for each in mistakes if each[0] == ("survey", "kind")] or mistakes
    errors = [SurveyError(why, ".".join(path), find_line(text, path, value)) for path, why, value in mistakes]
    if errors:
        raise combine_errors(sorted(errors, key=lambda error: error.line or 0))
    return survey


def _explain_syntax(message: str, text: str) -> str:
    if text.lstrip().startswith("{"):
        return f"is JSON, and {TOML_ONLY}"
    twice = "Cannot declare" in message or "Cannot overwrite" in message
    return f"two entries have the same name: {message}" if twice else f"not valid TOML: {message}"


def _line_in(message: str) -> int | None:
    match = re.search(r"at line (\d+)", message)
    return int(match[1]) if match else None
