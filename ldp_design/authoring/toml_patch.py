"""Changes the text of a TOML file so that it says something else, and keeps comments and layout of the rest.

The text is cut into blocks, one for each table header: the header with the comments directly above it, and
all lines up to the next block. A block whose table has not changed keeps its text.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import Any

import tomlkit
from tomlkit.exceptions import TOMLKitError
from tomlkit.items import Array, InlineTable

from encoders.survey.toml_reader import parse_toml
from ldp_design.authoring.toml_edit import LayoutError, format_array, format_key, quote

Path = tuple[str, ...]
Tables = dict[str, Any]
_TOKEN = re.compile(
    r'"""(?:\\.|[^\\])*?"{3,5}|\'\'\'.*?\'{3,5}|"(?:\\.|[^"\\\n])*"|\'[^\'\n]*\'|#[^\n]*|[\[\]{}\n]',
    re.DOTALL,
)
_NUMBER = re.compile(
    r"[+-]?[0-9]{1,40}(\.[0-9]{1,40})?([eE][+-]?[0-9]{1,4})?|[0-9]{4}-[0-9]{2}-[0-9]{2}(T[0-9:]{8}Z)?"
)
_TAIL = re.compile(r"^(?:[ \t]*(?:#[^\n]*)?\n)*[ \t]*\Z", re.MULTILINE)
"""Blank lines and comments at the end of a block."""
_ORDER = ("", "survey", "waves", "relay", "label", "features", "tables", "mechanism", "about", "texts")
"""The order in which new tables are written; tables that are not listed come last."""
_ELSEWHERE = "the layout of the file does not permit this change here: change it in the text"
_MOVES = "to move questions here, write each with its header [features.NAME] in the file"


class Number(str):
    """A number with a decimal point or an exponent, as it stands in the file."""


def parse_tables(text: str) -> Tables:
    """Return the tables of a survey file; raises ValueError."""
    return parse_toml(text, Number)


def read_number(typed: str) -> object:
    """Return the number or time that an author typed, perhaps with a decimal comma; else the text."""
    plain = re.sub(r"(?<=[0-9])[_ '](?=[0-9])", "", typed.strip().replace(",", "."))
    with suppress(ValueError, OverflowError):
        if _NUMBER.fullmatch(plain):
            return tomllib.loads(f"x = {plain}", parse_float=Number)["x"]
    return typed


def header_path(path: Path) -> Path:
    """Return the path of the table, with a header, that an entry of a survey file is written in."""
    length = 2 if path[0] in ("features", "tables") else 1
    if path[0] == "texts":
        length = 4 if path[2:3] == ("features",) else 3 if path[2:3] in (("label",), ("about",)) else 2
    return path[:length]


def patch(text: str, wanted: Tables, renamed: Sequence[tuple[Path, Path]] = ()) -> str:
    """Return the text of a file so that it says what is wanted; raises LayoutError if this is not possible.

    `renamed` are old and new paths of tables, whose blocks keep their text. The order of questions and of
    languages is that of `wanted`.
    """
    blocks = _Blocks(text)
    for old, new in renamed:
        blocks.rename(old, new)
    try:
        blocks.change((), parse_tables(blocks.join()), wanted)
        blocks.order(("features",), [*wanted.get("features", ())])
        result = blocks.join()
        found = parse_tables(result)
    except (ValueError, KeyError, TypeError, AttributeError, TOMLKitError) as error:
        raise LayoutError(_ELSEWHERE) from error
    if _typed(found) != _typed(wanted):
        raise LayoutError(_ELSEWHERE)
    if [*found.get("features", ())] != [*wanted.get("features", ())]:
        raise LayoutError(_MOVES)
    return result


def _typed(value: object) -> object:
    """Return a value that equals only values of the same types: in Python, True equals 1."""
    if isinstance(value, Mapping):
        return {key: _typed(each) for key, each in value.items()}
    return [*map(_typed, value)] if isinstance(value, list) else (type(value), value)


@dataclass
class _Block:
    path: Path
    text: str

    def has(self, path: Path) -> int:
        """Return how many keys of a path stand here, from the root on; 0 if it is not below this table."""
        if path[: len(self.path)] != self.path:
            return 0
        table: Any = tomllib.loads(self.text)
        for count, key in enumerate(path):
            if not isinstance(table, dict) or key not in table:
                return count
            table = table[key]
        return len(path)

    def set(self, path: Path, value: object) -> None:
        """Set an entry, or delete it if the value is None; what it stands in is made, as inline tables."""
        body, tail = self.cut_tail()
        document: Any = tomlkit.parse(body)
        table, (*around, last) = document, path
        for place, key in enumerate(around, 1):
            if key not in table or isinstance(table[key], InlineTable):
                last, value = key, _with(table[key].unwrap() if key in table else {}, path[place:], value)
                break
            table = table[key]
        old = table.get(last)
        if value is None:
            del table[last]
        elif isinstance(old, Array) and isinstance(value, list):
            _change_items(old, value)
        else:
            table[last] = _to_item(value)
        self.text = tomlkit.dumps(document).rstrip("\n") + "\n" + tail

    def rename(self, path: Path) -> None:
        """Write the header with another path."""
        start = next(_find_headers(self.text))
        line, end, rest = self.text[start:].partition("\n")
        comment = line[line.rindex("]") + 1 :]
        self.path, self.text = path, f"{self.text[:start]}{_format_header(path)}{comment}{end}{rest}"

    def cut_tail(self) -> tuple[str, str]:
        """Return the block without the comments and blank lines at its end, and these."""
        tail = _TAIL.search(self.text)
        start = tail.start() if tail else len(self.text)
        return (self.text[:start], self.text[start:]) if self.text[:start].strip() else (self.text, "")

    def end_with(self, end: str) -> None:
        """Exchange the blank lines at the end."""
        self.text = self.text.rstrip("\n") + end if self.text.strip() else self.text


class _Blocks:
    """The blocks of a file; the first one, without a header, has an empty path."""

    def __init__(self, text: str) -> None:
        text += "" if text.endswith("\n") or not text else "\n"
        starts: list[int] = [0]
        paths: list[Path] = [()]
        for place in _find_headers(text):
            starts.append(_include_comments(text, place, starts[-1]))
            paths.append(_read_header(text[place : text.index("\n", place)]))
        pieces = zip(paths, starts, [*starts[1:], len(text)], strict=True)
        self._all = [_Block(path, text[start:end]) for path, start, end in pieces]

    def join(self) -> str:
        return "".join(each.text for each in self._all)

    def rename(self, old: Path, new: Path) -> None:
        for block in self._all:
            if block.path[: len(old)] == old:
                block.rename((*new, *block.path[len(old) :]))

    def change(self, path: Path, now: Tables, wanted: Tables) -> None:
        """Write the entries of a table that differ."""
        for key in now.keys() - wanted.keys():
            self._delete((*path, key))
        for key, value in wanted.items():
            below, old = (*path, key), now.get(key)
            depth = len(header_path((*below, "")))
            if isinstance(value, dict) and old is None and depth == len(below):
                old = {name: each for name, each in value.items() if not isinstance(each, dict)}
                self._add(below, old)
            if isinstance(value, dict) and (isinstance(old, dict) or (old is None and depth > len(below))):
                self.change(below, old or {}, value)
            elif key not in now or _typed(old) != _typed(value):
                self._set(below, value)

    def order(self, kind: Path, names: list[str]) -> None:
        """Sort the blocks below a path by the names that follow it."""
        places = [i for i, each in enumerate(self._all) if each.path[: len(kind)] == kind != each.path]
        blocks = [self._all[i] for i in places]
        moved = sorted(blocks, key=lambda block: names.index(block.path[len(kind)]))
        if moved != blocks:
            for i, block in zip(places, moved, strict=True):
                block.end_with("\n\n")
                self._all[i] = block
            self._all[-1].end_with("\n")

    def _set(self, path: Path, value: object) -> None:
        around = [each for each in self._all if each.path == path[: len(each.path)]]
        best = max(around, key=lambda each: (each.has(path), len(each.path)))
        header = header_path(path)
        if best.has(path) < len(header):
            best = self._add(header, {})
        best.set(path, value)

    def _delete(self, path: Path) -> None:
        """Delete an entry or a table, but no comments after a blank line: they are about what follows."""
        for place, block in reversed([*enumerate(self._all)]):
            if block.path[: len(path)] == path:
                _, gap, notes = block.cut_tail()[1].partition("\n")
                del self._all[place]
                if gap and "#" in notes:
                    self._all[place - 1].end_with("\n\n" + notes.lstrip("\n"))
            elif block.has(path) == len(path):
                block.set(path, None)

    def _add(self, path: Path, entries: Tables) -> _Block:
        """Add a table before those in it, or else after the tables that it stands with."""
        lines = [_format_header(path)]
        for key, value in entries.items():
            items = [_to_item(each).as_string() for each in value] if isinstance(value, list) else None
            name = format_key(key)
            lines.append(format_array(name, items) if items else f"{name} = {_to_item(value).as_string()}")
        block = _Block(path, "\n".join(lines) + "\n\n")
        place = self._place_of(path)
        if place:
            self._all[place - 1].end_with("\n\n")
        self._all.insert(place, block)
        self._all[-1].end_with("\n")
        return block

    def _place_of(self, path: Path) -> int:
        for length in range(len(path), 0, -1):
            found = [i for i, each in enumerate(self._all) if each.path[:length] == path[:length]]
            if found:
                return found[0] if length == len(path) else found[-1] + 1
        return max(i for i, each in enumerate(self._all, 1) if _rank(each.path) <= _rank(path))


def _rank(path: Path) -> int:
    name = path[0] if path else ""
    return _ORDER.index(name) if name in _ORDER else len(_ORDER)


# -- text ------------------------------------------------------------------------------------------------


def _format_header(path: Path) -> str:
    return f"[{'.'.join(map(format_key, path))}]"


def _read_header(header: str) -> Path:
    table: Any = tomllib.loads(header)
    path = []
    while isinstance(table, dict) and table:
        key, table = next(iter(table.items()))
        path.append(key)
    return tuple(path)


def _find_headers(text: str) -> Iterator[int]:
    """Yield the place of each header: a bracket that begins a line, outside of all others."""
    depth = line_start = 0
    for match in _TOKEN.finditer(text):
        sign = match[0]
        if sign == "[" and not depth and not text[line_start : match.start()].strip():
            yield match.start()
        depth += {"[": 1, "{": 1, "]": -1, "}": -1}.get(sign, 0)
        line_start = match.end() if sign == "\n" else line_start


def _include_comments(text: str, header: int, earliest: int) -> int:
    """Return where the comments directly above a header begin."""
    start = text.rfind("\n", 0, header) + 1
    while start > earliest:
        above = max(text.rfind("\n", 0, start - 1) + 1, earliest)
        if not text[above:start].lstrip().startswith("#"):
            break
        start = above
    return start


def _to_item(value: object) -> Any:
    if isinstance(value, Number):
        return tomlkit.value(str(value))
    if isinstance(value, str):
        return tomlkit.value(quote(value))
    if isinstance(value, list):
        return tomlkit.value(f"[{', '.join(_to_item(each).as_string() for each in value)}]")
    if isinstance(value, dict):
        entries = (f"{format_key(key)} = {_to_item(each).as_string()}" for key, each in value.items())
        return tomlkit.value(f"{{ {', '.join(entries)} }}" if value else "{}")
    return tomlkit.item(value)


def _with(table: Tables, path: Path, value: object) -> object:
    """Return a value, or a table in which an entry is replaced, or deleted if the value is None."""
    if not path:
        return value
    found = {**table, path[0]: _with(table.get(path[0], {}), path[1:], value)}
    return {key: each for key, each in found.items() if each is not None}


def _change_items(array: Array, wanted: Sequence[object]) -> None:
    """Exchange the items that differ; the layout and the comments of the others stay."""
    now, new = ([repr(_to_item(each).as_string()) for each in some] for some in (array.unwrap(), wanted))
    for change, start, end, new_start, new_end in reversed(SequenceMatcher(None, now, new).get_opcodes()):
        if change != "equal":
            for _ in range(start, end):
                del array[start]
            for each in reversed(wanted[new_start:new_end]):
                array.insert(start, _to_item(each))
