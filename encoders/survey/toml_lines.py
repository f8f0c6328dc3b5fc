"""Finds the line of an entry in a TOML text, which the standard library's parser does not report."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import suppress

TOML_ONLY = "a survey file is TOML; `ldp-survey init` writes an example"
_QUOTED = r"""|"(?:\\.|[^"\\])*"|'[^']*'"""
_TEXT_OR_COMMENT = re.compile(rf"{_QUOTED.removeprefix('|')}|#.*")
_HEADER = re.compile(rf"""\s*\[(?:[^\[\]"']{_QUOTED})+\]\s*(#.*)?$""")
_ENTRY = re.compile(rf"\s*((?:[A-Za-z0-9_.\s-]{_QUOTED})+?)\s*=")


def find_line(text: str, path: tuple[str, ...], value: str = "") -> int | None:
    """Return the line, counted from 1, of the entry at `path`, or else of the nearest table around it.

    With a `value`, a text in the entry's list, return the line of this text if it is found.
    """
    indices = _places(text)
    for length in range(len(path), 0, -1):
        if path[:length] in indices:
            return _line_of_value(text, indices[path[:length]], value)
    return None


def _line_of_value(text: str, first: int, value: str) -> int:
    for number, line in enumerate(_lines(text)[first - 1 :] if value else [], first):
        if number > first and (_HEADER.match(line) or _ENTRY.match(line)):
            break
        if value in _texts(line):
            return number
    return first


def _texts(line: str) -> Iterator[str]:
    """Yield the strings in a line of TOML, decoded by tomllib."""
    import tomllib  # not on devices, which read compiled plans

    for found in _TEXT_OR_COMMENT.findall(line):
        with suppress(tomllib.TOMLDecodeError):
            yield tomllib.loads(f"text = {found}")["text"]  # an error if it is a comment


def _lines(text: str) -> list[str]:
    return text.replace("\r\n", "\n").split("\n")


def _places(text: str) -> dict[tuple[str, ...], int]:
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
    """Return the dotted keys of one header or entry, decoded by tomllib."""
    import tomllib  # not on devices, which read compiled plans

    try:
        document = tomllib.loads(line)
    except tomllib.TOMLDecodeError:
        return ()
    path = []
    while isinstance(document, dict) and document:
        key, document = next(iter(document.items()))
        path.append(key)
    return tuple(path)
