"""Reads a survey file: TOML, within bounds, to a survey, or an error with field and line of every mistake."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from decimal import Decimal
from functools import lru_cache
from typing import Any, TypeVar

from encoders.errors import SurveyError, combine_errors
from encoders.survey.compiled_plan import CENTRAL, LOCAL, REFUSALS
from encoders.survey.schema_tables import Mistake, survey_kind
from encoders.survey.survey import Survey
from encoders.survey.survey_tables import read_tables

TOML_ONLY = "a survey file is TOML; `ldp-survey init` writes an example"
_QUOTED = r"""|"(?:\\.|[^"\\])*"|'[^']*'"""
_TEXT_OR_COMMENT = re.compile(rf"{_QUOTED.removeprefix('|')}|#.*")
_HEADER = re.compile(rf"""\s*\[(?:[^\[\]"']{_QUOTED})+\]\s*(#.*)?$""")
_ENTRY = re.compile(rf"""\s*((?:[A-Za-z0-9_.-]{_QUOTED})(?:[A-Za-z0-9_.\s-]{_QUOTED})*)=""")
_MAX_DEPTH = 20
"""Largest number of parts of a key, and of arrays and tables in each other; a survey file needs 5."""
_SKIPPED = re.compile(
    r'''"""(?:\\.?|[^\\])*?(?:"{3,5}|\Z)|"(?:\\.|[^"\\\n])*"?|#[^\n]*|'''
    r"""'''.*?(?:'{3,5}|\Z)|'[^'\n]*'?""",
    re.DOTALL,
)
"""A text or comment; one without an end is skipped to the end of its line or file, in linear time."""
_NESTING = re.compile(rf"[\[{{]|[\]}}]|(?:\.[^.,=\[\]{{}}\n]*){{{_MAX_DEPTH}}}")


def parse_toml(text: str, parse_float: Callable[[str], object] = Decimal) -> dict[str, Any]:
    """Parse TOML; raise ValueError, with a line where one is known, if it is invalid or nested too deeply.

    The standard library needs quadratic time for a key of many parts, and recursion for nested arrays.
    """
    depth, bare = 0, _SKIPPED.sub(lambda match: "\n" * match[0].count("\n"), text)
    for match in _NESTING.finditer(bare):
        depth += {"[": 1, "{": 1, "]": -1, "}": -1}.get(match[0], _MAX_DEPTH)
        if depth > _MAX_DEPTH or match[0][0] == ".":
            line = bare.count("\n", 0, match.start()) + 1
            why = f"a key has more than {_MAX_DEPTH} parts, or more than {_MAX_DEPTH} arrays and tables"
            raise ValueError(f"{why} are in each other (at line {line})")
    try:
        return tomllib.loads(text, parse_float=parse_float)
    except ArithmeticError as error:
        raise ValueError("a number has too many digits") from error


def find_line(text: str, path: tuple[str, ...], value: str = "") -> int | None:
    """Return the line, counted from 1, of the entry at `path`, or else of the nearest table around it.

    With a `value`, a text in the entry's list, return the line of this text if it is found.
    """
    indices = _places(text)
    for length in range(len(path), 0, -1):
        if path[:length] in indices:
            first = indices[path[:length]]
            return _value_lines(text, first).get(value, first) if value else first
    return None


@lru_cache(maxsize=1)
def _value_lines(text: str, first: int) -> Mapping[str, int]:
    lines: dict[str, int] = {}
    for number, line in enumerate(_lines(text)[first - 1 :], first):
        if number > first and (_HEADER.match(line) or _ENTRY.match(line)):
            break
        for string in _strings(line):
            lines.setdefault(string, number)
    return lines


def _strings(line: str) -> Iterator[str]:
    for found in _TEXT_OR_COMMENT.findall(line):
        with suppress(tomllib.TOMLDecodeError):
            yield tomllib.loads(f"text = {found}")["text"]  # an error if it is a comment


def _lines(text: str) -> list[str]:
    return text.replace("\r\n", "\n").split("\n")


@lru_cache(maxsize=1)
def _places(text: str) -> Mapping[tuple[str, ...], int]:
    indices: dict[tuple[str, ...], int] = {}
    table: tuple[str, ...] = ()
    for number, line in enumerate(_lines(text), 1):
        if _HEADER.match(line):
            table = path = _keys(line)
        elif match := _ENTRY.match(line):
            path = table + _keys(f"{match[1]} = 0")
        else:
            continue
        for length in range(1, len(path) + 1):
            indices.setdefault(path[:length], number)
    return indices


def _keys(line: str) -> tuple[str, ...]:
    try:
        document: object = parse_toml(line)
    except ValueError:
        return ()
    path = []
    while isinstance(document, dict) and document:
        key, document = next(iter(document.items()))
        path.append(key)
    return tuple(path)


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
        line = re.search(r"at line (\d+)", str(error))
        raise SurveyError(_explain_syntax(str(error), text), "", int(line[1]) if line else None) from error


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
