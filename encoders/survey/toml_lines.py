"""Parses TOML within bounds, and finds the line of an entry, which the standard library does not report."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from decimal import Decimal
from functools import lru_cache
from typing import Any

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
