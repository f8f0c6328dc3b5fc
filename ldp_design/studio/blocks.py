"""Splits the text of a survey file into blocks, one for each table header, and edits entries of a block.

A block is a header with the comments directly above it, and all lines up to the next block. The text before
the first header is a block with an empty path. Joining the blocks gives the text again.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import tomlkit
from tomlkit.exceptions import TOMLKitError
from tomlkit.items import Array, InlineTable

from ldp_design.authoring.toml_edit import LayoutError, format_array, format_key, quote

Path = tuple[str, ...]
_TOKEN = re.compile(
    r'"""(?:\\.|[^\\])*?"{3,5}|\'\'\'.*?\'{3,5}|"(?:\\.|[^"\\\n])*"|\'[^\'\n]*\'|#[^\n]*|[\[\]{}\n]',
    re.DOTALL,
)
_LITERAL = re.compile(
    r"[+-]?[0-9]{1,40}(\.[0-9]{1,40})?([eE][+-]?[0-9]{1,4})?|[0-9]{4}-[0-9]{2}-[0-9]{2}(T[0-9:]{8}Z)?"
)
_TAIL = re.compile(r"^(?:[ \t]*(?:#[^\n]*)?\n)*[ \t]*\Z", re.MULTILINE)
"""Blank lines and comments at the end of a block."""


class Literal(str):
    """A number or a time as the author typed it; any other text becomes a string of the file."""

    def __new__(cls, text: str) -> Literal:
        """Accept a decimal comma, and digits in groups."""
        plain = re.sub(r"(?<=[0-9])[_ '](?=[0-9])", "", text.strip().replace(",", "."))
        return super().__new__(cls, plain if _LITERAL.fullmatch(plain) else text)

    @property
    def toml(self) -> str:
        """The text in the file."""
        if not _LITERAL.fullmatch(self):
            return quote(self)
        try:
            datetime.fromisoformat(self) if "-" in self[1:].replace("e-", "") else tomllib.loads(f"x={self}")
        except (ValueError, OverflowError):
            return quote(self)
        return str(self)


@dataclass
class Block:
    """A table's header and what follows it."""

    path: Path
    text: str

    def parse(self) -> dict[str, Any]:
        """Return the entries of the block's table."""
        table: Any = tomllib.loads(self.text, parse_float=Literal)
        for key in self.path:
            table = table[key]
        return table if isinstance(table, dict) else {}

    def set(self, path: Path, value: object) -> None:
        """Set or replace an entry; what the entry stands in is made, as inline tables."""
        body, tail = self.cut_tail()
        document = self._parse(body)
        container = _descend(document, self.path)
        for place, key in enumerate(path):
            old = container.get(key)
            if isinstance(old, InlineTable) or (old is None and place < len(path) - 1):
                container[key] = _to_item(_replaced(old or {}, path[place + 1 :], value))
                break
            if place < len(path) - 1:
                container = old
            elif isinstance(old, Array) and isinstance(value, list):
                _replace_items(old, value)
            else:
                container[key] = _to_item(value)
        self.text = tomlkit.dumps(document).rstrip("\n") + "\n" + tail

    def delete(self, path: Path) -> None:
        """Delete an entry, and the inline table around it if that is then empty."""
        body, tail = self.cut_tail()
        document = self._parse(body)
        container = _descend(document, self.path)
        around = _descend(container, path[:-1])
        del around[path[-1]]
        if len(path) > 1 and not around:
            del _descend(container, path[:-2])[path[-2]]
        self.text = tomlkit.dumps(document).rstrip("\n") + "\n" + tail

    def rename(self, path: Path) -> None:
        """Write the header with another path."""
        start = _header_start(self.text)
        line, end, rest = self.text[start:].partition("\n")
        comment = line[line.rindex("]") + 1 :]
        self.path, self.text = path, f"{self.text[:start]}{format_header(path)}{comment}{end}{rest}"

    def cut_tail(self) -> tuple[str, str]:
        """Return the block without the comments and blank lines at its end, and these."""
        text = self.text if self.text.endswith("\n") else f"{self.text}\n"
        tail = _TAIL.search(text)
        start = tail.start() if tail else len(text)
        return (text[:start], text[start:]) if text[:start].strip() else (text, "")

    def _parse(self, body: str) -> tomlkit.TOMLDocument:
        try:
            return tomlkit.parse(body if body.endswith("\n") else f"{body}\n")
        except TOMLKitError as error:
            raise LayoutError(f"{'.'.join(self.path)}: cannot be edited here, but as text") from error


def split_blocks(text: str) -> list[Block]:
    """Return the blocks of a survey file with LF line ends."""
    starts = [0]
    paths: list[Path] = [()]
    for place in _find_headers(text):
        header = text[place : text.find("\n", place) + 1 or len(text)]
        starts.append(_include_comments(text, place, starts[-1]))
        paths.append(_header_path(header))
    ends = [*starts[1:], len(text)]
    return [Block(path, text[start:end]) for path, start, end in zip(paths, starts, ends, strict=True)]


def join_blocks(blocks: Iterable[Block]) -> str:
    """Return the text of blocks."""
    return "".join(
        each.text if each.text.endswith("\n") else f"{each.text}\n" for each in blocks if each.text
    )


def insert_block(blocks: list[Block], place: int, block: Block) -> None:
    """Insert a block, with a blank line before it."""
    if place and (before := blocks[place - 1]).text.strip():
        before.text = before.text.rstrip("\n") + "\n\n"
    blocks.insert(place, block)
    if place == len(blocks) - 1:
        block.text = block.text.rstrip("\n") + "\n"


def new_block(path: Path, entries: dict[str, object]) -> Block:
    """Return a block with these entries."""
    lines = [format_header(path)]
    for key, value in entries.items():
        if isinstance(value, list):
            lines.append(format_array(format_key(key), [_to_item(each).as_string() for each in value]))
        else:
            lines.append(f"{format_key(key)} = {_to_item(value).as_string()}")
    return Block(path, "\n".join(lines) + "\n\n")


def format_header(path: Path) -> str:
    """Return the header of a table."""
    return f"[{'.'.join(map(format_key, path))}]"


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
        above = text.rfind("\n", 0, start - 1) + 1
        if above < earliest or not text[above:start].lstrip().startswith("#"):
            break
        start = above
    return start


def _header_path(header: str) -> Path:
    table: Any = tomllib.loads(header)
    path = []
    while isinstance(table, dict) and table:
        key, table = next(iter(table.items()))
        path.append(key)
    return tuple(path)


def _header_start(text: str) -> int:
    return next(_find_headers(text))


def _descend(container: Any, path: Sequence[str]) -> Any:
    for key in path:
        container = container[key]
    return container


def _to_item(value: object) -> Any:
    if isinstance(value, Literal):
        return tomlkit.value(value.toml)
    if isinstance(value, str):
        return tomlkit.value(quote(value))
    if isinstance(value, list):
        array = tomlkit.array()
        for each in value:
            array.append(_to_item(each))
        return array
    if isinstance(value, dict):
        entries = (f"{format_key(key)} = {_to_item(each).as_string()}" for key, each in value.items())
        return tomlkit.value(f"{{ {', '.join(entries)} }}" if value else "{}")
    return tomlkit.item(value)


def _replaced(table: Mapping[str, Any], path: Sequence[str], value: object) -> object:
    """Return a value, or a table in which an entry is replaced."""
    if not path:
        return value
    return {**table, path[0]: _replaced(table.get(path[0], {}), path[1:], value)}


def _replace_items(array: Array, values: Sequence[object]) -> None:
    """Replace the items that differ, so that the layout and the comments of the others stay."""
    old = [each.unwrap() if hasattr(each, "unwrap") else each for each in array]
    new = [_to_item(each) for each in values]
    plain = [each.unwrap() for each in new]
    first = next((i for i, (a, b) in enumerate(zip(old, plain, strict=False)) if not _same(a, b)), None)
    if first is None:
        first = min(len(old), len(plain))
    last = 0
    while last < min(len(old), len(plain)) - first and _same(old[-1 - last], plain[-1 - last]):
        last += 1
    for _ in range(len(old) - first - last):
        del array[first]
    for place, item in enumerate(new[first : len(new) - last], first):
        array.insert(place, item)


def _same(one: object, other: object) -> bool:
    return type(one) is type(other) and one == other
