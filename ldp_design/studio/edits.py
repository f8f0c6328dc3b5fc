"""Edits the text of a survey file by the operations of the page; comments and layout of the rest stay.

Each operation is checked: an entry that it does not name must mean the same before and after it.
"""

from __future__ import annotations

import copy
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from encoders.errors import LdpError
from encoders.survey.toml_reader import parse_toml
from ldp_design.authoring.toml_edit import LayoutError
from ldp_design.studio.blocks import Block, Literal, Path, insert_block, join_blocks, new_block, split_blocks

_ORDER = ("", "survey", "waves", "relay", "label", "features", "tables", "mechanism", "about", "texts")
"""The order in which new tables are written; tables that are not listed come last."""
_ELSEWHERE = "the layout of the file does not permit this change here: change it in the text"


class EditError(LdpError):
    """An operation that does not fit the survey."""


class SurveyText:
    """The text of a survey file, with LF line ends, that operations change."""

    def __init__(self, text: str) -> None:
        self._blocks = split_blocks(text)
        self._tables: dict[str, Any] | None = None
        self._before = dict(_list_leaves(self.tables))
        self._touched: list[Path] = []

    def apply(self, operation: Mapping[str, Any]) -> None:
        """Run an operation; raises EditError or LayoutError, after which the object must not be used."""
        try:
            path = tuple(map(str, operation.get("path", ())))
            OPERATIONS[operation["op"]](self, path, operation.get("value"))
        except (KeyError, TypeError, ValueError, IndexError, AttributeError) as error:
            raise EditError("this change does not fit the survey any more: load the page again") from error

    def finish(self) -> str:
        """Return the text; raises LayoutError if it changes what no operation named."""
        changed = dict(_list_leaves(self.tables)).items() ^ self._before.items()
        if not all(any(path[: len(each)] == each for each in self._touched) for path, _ in changed):
            raise LayoutError(_ELSEWHERE)
        return join_blocks(self._blocks)

    @property
    def tables(self) -> dict[str, Any]:
        """The tables of the file as they are now."""
        if self._tables is None:
            try:
                self._tables = parse_tables(join_blocks(self._blocks))
            except ValueError as error:
                raise LayoutError(_ELSEWHERE) from error
        return self._tables

    def find(self, *path: str) -> Any:
        """Return a copy of an entry, or None."""
        found: Any = self.tables
        for key in path:
            if not isinstance(found, dict) or key not in found:
                return None
            found = found[key]
        return copy.deepcopy(found)

    def names(self, *path: str) -> list[str]:
        """Return the names of the entries of a table; none if there is no such table."""
        return [*(self.find(*path) or {})]

    # -- entries and tables --------------------------------------------------------------------------

    def set(self, path: Path, value: Any) -> None:
        """Set an entry; its table is made if it does not exist."""
        block = self._find_block(path) or self._add_block(_table_of(path), {})
        block.set(path[len(block.path) :], value)
        self._touch(path)
        if self.find(*path) != _plain(value):
            raise LayoutError(_ELSEWHERE)

    def delete(self, path: Path) -> None:
        """Delete an entry or a table, wherever it is written; nothing happens if there is none."""
        for block in [each for each in self._blocks if each.path[: len(path)] == path]:
            self._delete_block(block)
        for block in self._blocks:
            rest = path[len(block.path) :]
            if rest and block.path == path[: len(block.path)] and _reach(block.parse(), rest) == len(rest):
                block.delete(rest)
        self._touch(path)

    def add(self, path: Path, entries: Mapping[str, Any], after: str = "") -> None:
        """Add a table after another one of its kind, or as the last."""
        if self.find(*path) is not None:
            raise EditError(f"{path[-1]}: exists already: choose another name")
        self._add_block(path, dict(entries), after)
        self._touch(path)

    def rename(self, path: Path, name: str) -> None:
        """Give a table another name, wherever it is written."""
        new = (*path[:-1], name)
        if self.find(*new) is not None:
            raise EditError(f"{name}: exists already: choose another name")
        renamed = [each for each in self._blocks if each.path[: len(path)] == path]
        for block in renamed:
            block.rename((*new, *block.path[len(path) :]))
        if not renamed:
            entries = self.find(*path)
            self.delete(path)
            self.add(new, entries)
        self._touch(path)
        self._touch(new)

    def move(self, path: Path, place: int) -> None:
        """Move a table to another place among those of its kind."""
        kind, names = path[:-1], self.names(*path[:-1])
        if not {(*kind, each) for each in names} <= {block.path for block in self._blocks}:
            raise LayoutError(
                "to move questions here, write each with its header [features.NAME] in the file"
            )
        names.remove(path[-1])
        names.insert(place, path[-1])
        places = [i for i, each in enumerate(self._blocks) if each.path[: len(kind)] == kind != each.path]
        moved = [self._blocks[i] for i in places]
        moved.sort(key=lambda block: names.index(block.path[len(kind)]))
        for i, block in zip(places, moved, strict=True):
            block.text = block.text.rstrip("\n") + "\n\n"
            self._blocks[i] = block
        self._blocks[-1].text = self._blocks[-1].text.rstrip("\n") + "\n"

    def _touch(self, path: Path) -> None:
        self._touched.append(path)
        self._tables = None

    # -- blocks ---------------------------------------------------------------------------------------

    def _find_block(self, path: Path) -> Block | None:
        """Return the block that has the table of an entry, and of several the one with the entry itself."""
        found: tuple[int, int, Block | None] = (len(_table_of(path)) - 1, -1, None)
        for block in self._blocks:
            size = len(block.path)
            if size < len(path) and block.path == path[:size]:
                reach = size + _reach(block.parse(), path[size:])
                if (reach, size) > found[:2] and reach > len(_table_of(path)) - 1:
                    found = (reach, size, block)
        return found[2]

    def _add_block(self, path: Path, entries: dict[str, Any], after: str = "") -> Block:
        children = [i for i, each in enumerate(self._blocks) if each.path[: len(path)] == path]
        around = (self._ends_of(path[:length]) for length in range(len(path) - 1, 0, -1))
        ranked = [i for i, each in enumerate(self._blocks, 1) if _rank(each.path) <= _rank(path)]
        beside = self._ends_of((*path[:-1], after)) if after else []
        ends = beside or next(filter(None, around), ranked)
        block = new_block(path, entries)
        insert_block(self._blocks, children[0] if children else ends[-1], block)
        return block

    def _ends_of(self, path: Path) -> list[int]:
        return [i for i, each in enumerate(self._blocks, 1) if each.path[: len(path)] == path]

    def _delete_block(self, block: Block) -> None:
        """Delete a block, but no comments after a blank line at its end: they are about what follows."""
        place = self._blocks.index(block)
        _, gap, notes = block.cut_tail()[1].partition("\n")
        del self._blocks[place]
        if gap and "#" in notes:
            before = self._blocks[place - 1]
            before.text = before.text.rstrip("\n") + "\n\n" + notes.lstrip("\n")


def parse_tables(text: str) -> dict[str, Any]:
    """Return the tables of a survey file, with decimal numbers as in the file; raises ValueError."""
    return parse_toml(text, Literal)


def _list_leaves(table: Mapping[str, Any], path: Path = ()) -> Iterator[tuple[Path, str]]:
    for key, value in table.items():
        if isinstance(value, dict):
            yield from _list_leaves(value, (*path, key))
        else:
            yield (*path, key), f"{type(value).__name__} {value}"


def _table_of(path: Path) -> Path:
    """Return the path of the table that an entry is written in."""
    length = 2 if path[0] in ("features", "tables") else 1
    if path[0] == "texts":
        length = 4 if path[2:3] == ("features",) else 3 if path[2:3] in (("label",), ("about",)) else 2
    return path[:length]


def _rank(path: Path) -> int:
    name = path[0] if path else ""
    return _ORDER.index(name) if name in _ORDER else len(_ORDER)


def _reach(table: Any, path: Path) -> int:
    """Return how many keys of a path a table has."""
    for count, key in enumerate(path):
        if not isinstance(table, dict) or key not in table:
            return count
        table = table[key]
    return len(path)


def _plain(value: Any) -> Any:
    """Return a value as parsing the file returns it."""
    if isinstance(value, Literal):
        return tomllib.loads(f"x = {value.toml}", parse_float=Literal)["x"]
    if isinstance(value, list):
        return [_plain(each) for each in value]
    return {key: _plain(each) for key, each in value.items()} if isinstance(value, dict) else value


# -- the operations of the page ------------------------------------------------------------------------


def _read_value(value: Any) -> Any:
    """Return a value of the page: {"number": text} is a number or a time."""
    if isinstance(value, dict):
        if [*value] == ["number"]:
            return Literal(str(value["number"]))
        return {str(key): _read_value(each) for key, each in value.items()}
    if isinstance(value, list):
        return [_read_value(each) for each in value]
    if isinstance(value, str | bool | int):
        return value
    raise TypeError


def _change_conditions(survey: SurveyText, change: Callable[[dict[str, Any]], dict[str, Any]]) -> None:
    """Change the parts {feature, value} of all conditions."""

    def run(condition: Any) -> Any:
        if isinstance(condition, list):
            return [run(each) for each in condition]
        if isinstance(condition, dict) and "feature" not in condition:
            return {key: run(each) for key, each in condition.items()}
        return change(condition) if isinstance(condition, dict) else condition

    for name in survey.names("features"):
        condition = survey.find("features", name, "ask_if")
        if condition is not None and (changed := run(copy.deepcopy(condition))) != condition:
            survey.set(("features", name, "ask_if"), changed)


def _texts_of(survey: SurveyText, path: Sequence[str]) -> Iterator[Path]:
    """Yield the paths of the texts of a feature or of the label."""
    for language in survey.names("texts"):
        yield ("texts", language, *(path if path[0] == "label" else path[:2]))


def _rename(survey: SurveyText, path: Path, value: Any) -> None:
    """Rename a feature, also where texts, tables and conditions name it."""
    name, new = path[-1], str(value)
    if name == new:
        return
    survey.rename(path, new)
    for texts in _texts_of(survey, path):
        if survey.find(*texts) is not None:
            survey.rename(texts, new)
    for table in survey.names("tables"):
        names = survey.find("tables", table, "features") or []
        if name in names:
            changed = [new if each == name else each for each in names]
            survey.set(("tables", table, "features"), changed)
    _change_conditions(survey, lambda term: {**term, "feature": new} if term["feature"] == name else term)


def _copy(survey: SurveyText, path: Path, value: Any) -> None:
    """Copy a feature, with its texts, to a new name."""
    survey.add(("features", value), survey.find(*path), path[-1])
    for texts in [*_texts_of(survey, path)]:
        if found := survey.find(*texts):
            survey.add((*texts[:-1], value), found)


def _remove(survey: SurveyText, path: Path, keeps_conditions: Any) -> None:
    """Delete a feature or the label, and what names it: texts, tables, and conditions unless they stay."""
    name = path[-1] if path[0] == "features" else str(survey.find("label", "name"))
    for each in [*_texts_of(survey, path), path]:
        survey.delete(each)
    for table in survey.names("tables"):
        if name in (survey.find("tables", table, "features") or ()):
            survey.delete(("tables", table))
        elif path[0] == "label":
            survey.delete(("tables", table, "label"))
    for other in () if keeps_conditions else survey.names("features"):
        if f"'feature': {name!r}" in str(survey.find("features", other, "ask_if")):
            survey.delete(("features", other, "ask_if"))


def _value(survey: SurveyText, path: Path, value: Any) -> None:
    """Change an answer of a list, {"old": ..., "new": ...}; without "new" delete, without "old" add it."""
    old, new = value.get("old"), value.get("new")
    values = survey.find(*path) or []
    if old is None:
        survey.set(path, [*values, new])
        return
    place = [str(each).lower() if isinstance(each, bool) else str(each) for each in values].index(old)
    values[place : place + 1] = [] if new is None else [new]
    for texts in [(*each, "values") for each in _texts_of(survey, path[:-1])]:
        if (text := survey.find(*texts, old)) is not None and old != new:
            survey.delete((*texts, old))
            if new is not None:
                survey.set((*texts, new), text)
    survey.set(path, values)
    name = path[1] if path[0] == "features" else survey.find("label", "name")
    if new is not None:
        changed = {"feature": name, "value": new}
        _change_conditions(survey, lambda term: changed if term == {"feature": name, "value": old} else term)


def _swap_label(survey: SurveyText, path: Path, _: Any) -> None:
    """Make a feature the label; the former label, or the one at the path, becomes a feature."""
    label, texts = survey.find("label"), survey.find("texts") or {}
    feature = survey.find(*path) if path[0] == "features" else None
    _remove(survey, path, True)
    if label:
        _remove(survey, ("label",), True)
        survey.add(("features", label["name"]), {"values": label["values"]})
    if feature:
        survey.add(("label",), {"name": path[1], "values": feature["values"]})
    for language, entries in texts.items():
        if label and entries.get("label"):
            survey.add(("texts", language, "features", label["name"]), entries["label"])
        if feature and (own := entries.get("features", {}).get(path[1])):
            if "(missing)" in own.get("values", {}):
                del own["values"]["(missing)"]
            survey.add(("texts", language, "label"), own)


OPERATIONS: Mapping[str, Callable[[SurveyText, Path, Any], None]] = {
    "set": lambda survey, path, value: survey.set(path, _read_value(value)),
    "delete": lambda survey, path, _: survey.delete(path),
    "add": lambda survey, path, value: survey.add(
        path, _read_value(value["entries"]), value.get("after", "")
    ),
    "move": lambda survey, path, value: survey.move(path, int(value)),
    "rename": _rename,
    "copy": _copy,
    "remove": _remove,
    "value": _value,
    "label": _swap_label,
}
"""What the page can ask for: each takes the survey, a path and a value."""
