"""Find the line of an entry in a TOML text, which the standard library's parser does not keep."""

from __future__ import annotations

import re

_QUOTED = r"""|"(?:\\.|[^"\\])*"|'[^']*'"""
_HEADER = re.compile(rf"""\s*\[(?:[^\[\]"']{_QUOTED})+\]\s*(#.*)?$""")
_ENTRY = re.compile(rf"\s*((?:[A-Za-z0-9_.\s-]{_QUOTED})+?)\s*=")


def line_of(text: str, path: tuple[str, ...]) -> int | None:
    """Return the line, counted from 1, of the entry or else of the table nearest to `path`."""
    places = _places(text)
    for length in range(len(path), 0, -1):
        if path[:length] in places:
            return places[path[:length]]
    return None


def _places(text: str) -> dict[tuple[str, ...], int]:
    places: dict[tuple[str, ...], int] = {}
    table: tuple[str, ...] = ()
    for number, line in enumerate(text.replace("\r\n", "\n").split("\n"), 1):
        if _HEADER.match(line):
            table = path = _keys(line)
        elif match := _ENTRY.match(line):
            path = table + _keys(f"{match[1]} = 0")
        else:
            continue
        for length in range(1, len(path) + 1):
            places.setdefault(path[:length], number)
    return places


def _keys(line: str) -> tuple[str, ...]:
    """Return the dotted keys of one header or entry, unquoted by the parser itself."""
    import tomllib  # late: devices read compiled plans

    try:
        document = tomllib.loads(line)
    except tomllib.TOMLDecodeError:
        return ()
    path = []
    while isinstance(document, dict) and document:
        key, document = next(iter(document.items()))
        path.append(key)
    return tuple(path)
