"""Edits the text of a survey file: the operations of the studio's page, each checked against what it means.

An operation is a dictionary with the entry `op`; :data:`OPERATIONS` lists them. After each, the text must
parse to exactly the tables that the operation asks for, so that nothing else of the file can change.
"""

from __future__ import annotations

import copy
import tomllib
from collections.abc import Callable, Mapping
from typing import Any

from encoders.errors import LdpError
from encoders.survey.toml_lines import parse_toml
from ldp_design.authoring.toml_edit import LayoutError
from ldp_design.studio.blocks import Block, Literal, Path, insert_block, join_blocks, new_block, split_blocks

_ORDER = ("", "survey", "waves", "relay", "label", "features", "tables", "mechanism", "about", "texts")
"""The order in which new tables are written; tables that are not listed come last."""


class EditError(LdpError):
    """An operation that does not fit the survey."""


class SurveyText:
    """The text of a survey file, with LF line ends, that operations change."""

    def __init__(self, text: str) -> None:
        self.blocks = split_blocks(text)
        self.tables = parse_tables(text)

    def apply(self, operation: Mapping[str, Any]) -> None:
        """Run an operation; raises EditError or LayoutError, after which the object must not be used."""
        try:
            run = OPERATIONS[operation["op"]]
            path = tuple(map(str, operation.get("path", ())))
            run(self, path, operation.get("value"))
        except (KeyError, TypeError, ValueError, IndexError, AttributeError) as error:
            raise EditError("this change does not fit the survey any more: load the page again") from error

    def finish(self) -> str:
        """Return the text; raises LayoutError if it does not mean what the operations ask for."""
        text = join_blocks(self.blocks)
        try:
            found = parse_tables(text)
        except ValueError:
            found = {}
        if found != self.tables or [*found.get("features", ())] != [*self.tables.get("features", ())]:
            raise LayoutError(
                "the layout of the file does not permit this change here: change it in the text"
            )
        return text

    # -- entries -------------------------------------------------------------------------------------

    def find(self, path: Path) -> Any:
        """Return an entry, or None."""
        found: Any = self.tables
        for key in path:
            if not isinstance(found, dict) or key not in found:
                return None
            found = found[key]
        return found

    def set(self, path: Path, value: Any) -> None:
        """Set an entry; its table is made if it does not exist."""
        table = _table_of(path)
        block = self._find_block(path)
        if block is None:
            self._add_block(table, {})
            block = self._find_block(path)
            assert block
        block.set(path[len(block.path) :], value)
        around = self.tables
        for key in path[:-1]:
            around = around.setdefault(key, {})
        around[path[-1]] = _plain(value)

    def delete(self, path: Path) -> None:
        """Delete an entry or a table, wherever it is written; nothing happens if there is none."""
        if self.find(path) is None:
            return
        for block in [each for each in self.blocks if each.path[: len(path)] == path]:
            self._delete_block(block)
        for block in self.blocks:
            rest = path[len(block.path) :]
            if rest and block.path == path[: len(block.path)] and _contains(block.parse(), rest):
                block.delete(rest)
        self._drop(path)

    def _delete_block(self, block: Block) -> None:
        """Delete a block, but not the comments after a blank line at its end, which are about what follows."""
        place = self.blocks.index(block)
        _, gap, notes = block.cut_tail()[1].partition("\n")
        del self.blocks[place]
        if gap and "#" in notes:
            self.blocks[place - 1].text = (
                self.blocks[place - 1].text.rstrip("\n") + "\n\n" + notes.lstrip("\n")
            )

    def _drop(self, path: Path) -> None:
        """Delete an entry of the tables, and tables around it that are written nowhere."""
        del self.find(path[:-1])[path[-1]]
        if len(path) > 1 and self.find(path[:-1]) == {}:
            written = parse_tables(join_blocks(self.blocks))
            if not _contains(written, path[:-1]):
                self._drop(path[:-1])

    def add(self, path: Path, entries: Mapping[str, Any], after: str = "") -> None:
        """Add a table after another one of its kind, or as the last."""
        if self.find(path) is not None:
            raise EditError(f"{path[-1]}: exists already: choose another name")
        self._add_block(path, dict(entries), after)
        around = self.tables
        for key in path[:-1]:
            around = around.setdefault(key, {})
        around[path[-1]] = _plain(dict(entries))
        if after:
            names = [*around]
            names.insert(names.index(after) + 1, names.pop())
            self._reorder(path[:-1], names)

    def _add_block(self, path: Path, entries: dict[str, Any], after: str = "") -> None:
        around = (self._ends_of(path[:length]) for length in range(len(path) - 1, 0, -1))
        ends = (after and self._ends_of((*path[:-1], after))) or next(filter(None, around), [])
        children = [i for i, each in enumerate(self.blocks) if each.path[: len(path)] == path]
        if children:
            ends = children[:1]
        elif not ends:
            rank = _rank(path)
            ends = [i for i, each in enumerate(self.blocks, 1) if _rank(each.path) <= rank] or [1]
        insert_block(self.blocks, ends[-1], new_block(path, entries))

    def _ends_of(self, path: Path) -> list[int]:
        return [i for i, each in enumerate(self.blocks, 1) if each.path[: len(path)] == path]

    def _find_block(self, path: Path) -> Block | None:
        """Return the block that has the table of an entry, and of several the one with the entry itself."""
        depth = len(_table_of(path))
        best: tuple[int, int] = (-1, -1)
        found = None
        for block in self.blocks:
            size = len(block.path)
            if size >= len(path) or block.path != path[:size]:
                continue
            reach = size + _reach(block.parse(), path[size:])
            if reach >= depth and (reach, size) > best:
                best, found = (reach, size), block
        return found

    def _reorder(self, path: Path, names: list[str]) -> None:
        around = self.find(path)
        entries = {name: around[name] for name in names}
        around.clear()
        around.update(entries)

    # -- tables of features and of tables -------------------------------------------------------------

    def move(self, path: Path, place: int) -> None:
        """Move a feature to another place among the features."""
        kind, name = path[:-1], path[-1]
        names = [*self.find(kind)]
        if any((*kind, each) not in {block.path for block in self.blocks} for each in names):
            raise LayoutError(
                "to move questions here, write each with its header [features.NAME] in the file"
            )
        names.remove(name)
        names.insert(place, name)
        places = [i for i, each in enumerate(self.blocks) if each.path[: len(path)][:-1] == kind]
        groups: dict[str, list[Block]] = {each: [] for each in names}
        for i in places:
            groups[self.blocks[i].path[len(kind)]].append(self.blocks[i])
        ordered = [block for each in names for block in groups[each]]
        for block in ordered:
            block.text = block.text.rstrip("\n") + "\n\n"
        for i, block in zip(places, ordered, strict=True):
            self.blocks[i] = block
        self.blocks[-1].text = self.blocks[-1].text.rstrip("\n") + "\n"
        self._reorder(kind, names)

    def rename(self, path: Path, new: str) -> None:
        """Give a feature or a table another name, also where texts, tables and conditions name it."""
        kind, name = path[:-1], path[-1]
        if new == name:
            return
        if self.find((*kind, new)) is not None:
            raise EditError(f"{new}: exists already: choose another name")
        if (*kind, name) not in {block.path for block in self.blocks}:
            raise LayoutError(f"{'.'.join(path)}: to rename it here, write it with a header in the file")
        self._rename_blocks(path, new)
        if kind == ("features",):
            for language in self.find(("texts",)) or {}:
                self._rename_texts(("texts", language, "features", name), new)
            self._rename_in_tables(name, new)
            self._rename_conditions(
                lambda term: {**term, "feature": new} if term["feature"] == name else term
            )

    def _rename_blocks(self, path: Path, new: str) -> None:
        kind = path[:-1]
        for block in self.blocks:
            if block.path[: len(path)] == path:
                block.rename((*kind, new, *block.path[len(path) :]))
        around = self.find(kind)
        entries = {new if key == path[-1] else key: value for key, value in around.items()}
        around.clear()
        around.update(entries)

    def _rename_texts(self, path: Path, new: str) -> None:
        if (entries := self.find(path)) is None:
            return
        if path in {block.path for block in self.blocks}:
            self._rename_blocks(path, new)
        else:
            entries = copy.deepcopy(entries)
            self.delete(path)
            for key, value in entries.items():
                self.set((*path[:-1], new, key), value)

    def _rename_in_tables(self, name: str, new: str) -> None:
        for table, entries in (self.find(("tables",)) or {}).items():
            names = entries.get("features", [])
            if name in names:
                self.set(("tables", table, "features"), [new if each == name else each for each in names])

    def _rename_conditions(self, change: Callable[[dict[str, Any]], dict[str, Any]]) -> None:
        for name, entries in (self.find(("features",)) or {}).items():
            if isinstance(entries, dict) and isinstance(entries.get("ask_if"), dict):
                changed = _change_terms(entries["ask_if"], change)
                if changed != entries["ask_if"]:
                    self.set(("features", name, "ask_if"), changed)


def parse_tables(text: str) -> dict[str, Any]:
    """Return the tables of a survey file, with decimal numbers as in the file; raises ValueError."""
    return parse_toml(text, Literal)


def _table_of(path: Path) -> Path:
    """Return the path of the table that an entry is written in."""
    if path[0] == "texts":
        length = 4 if path[2:3] == ("features",) else 3 if path[2:3] in (("label",), ("about",)) else 2
    elif path[0] == "projection":
        length = 3 if len(path) > 3 else 1
    else:
        length = 2 if path[0] in ("features", "tables") else 1
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


def _contains(table: Any, path: Path) -> bool:
    return _reach(table, path) == len(path)


def _plain(value: Any) -> Any:
    """Return a value as parsing the file returns it."""
    if isinstance(value, Literal):
        return tomllib.loads(f"x = {value.toml}", parse_float=Literal)["x"]
    if isinstance(value, list):
        return [_plain(each) for each in value]
    if isinstance(value, dict):
        return {key: _plain(each) for key, each in value.items()}
    return value


def _change_terms(condition: Any, change: Callable[[dict[str, Any]], dict[str, Any]]) -> Any:
    if isinstance(condition, list):
        return [_change_terms(each, change) for each in condition]
    if isinstance(condition, dict) and "feature" in condition:
        return change(condition)
    if isinstance(condition, dict):
        return {key: _change_terms(each, change) for key, each in condition.items()}
    return condition


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


def _set(survey: SurveyText, path: Path, value: Any) -> None:
    survey.set(path, _read_value(value))


def _delete(survey: SurveyText, path: Path, _: Any) -> None:
    survey.delete(path)


def _add(survey: SurveyText, path: Path, value: Any) -> None:
    """Add a table: {"entries": ..., "after": the name of its neighbour}."""
    survey.add(path, _read_value(value["entries"]), value.get("after", ""))


def _move(survey: SurveyText, path: Path, value: Any) -> None:
    survey.move(path, int(value))


def _rename(survey: SurveyText, path: Path, value: Any) -> None:
    survey.rename(path, str(value))


def _copy(survey: SurveyText, path: Path, value: Any) -> None:
    """Copy a feature, with its texts, to a new name."""
    name, new = path[-1], str(value)
    survey.add(("features", new), copy.deepcopy(survey.find(path)), name)
    for language in survey.find(("texts",)) or {}:
        texts = survey.find(("texts", language, "features", name))
        for key, each in copy.deepcopy(texts or {}).items():
            survey.set(("texts", language, "features", new, key), each)


def _remove(survey: SurveyText, path: Path, _: Any) -> None:
    """Delete a feature or the label, and what names it: texts, tables, conditions."""
    survey.delete(path)
    name = path[-1] if path[0] == "features" else None
    for language in [*(survey.find(("texts",)) or {})]:
        survey.delete(("texts", language, *(("features", name) if name else ("label",))))
    for table, entries in [*(survey.find(("tables",)) or {}).items()]:
        if name in entries.get("features", ()):
            survey.delete(("tables", table))
        elif name is None and "label" in entries:
            survey.delete(("tables", table, "label"))
    for other, entries in (survey.find(("features",)) or {}).items():
        if name and f"'feature': {name!r}" in str(entries.get("ask_if", "")):
            survey.delete(("features", other, "ask_if"))


def _value(survey: SurveyText, path: Path, value: Any) -> None:
    """Change an answer of a list, {"old": ..., "new": ...}; without "new" delete, without "old" add it."""
    old, new = value.get("old"), value.get("new")
    values = [*(survey.find(path) or [])]
    texts = [str(each).lower() if isinstance(each, bool) else str(each) for each in values]
    entry = path[:-1] if path[0] == "features" else ("label",)
    for language in [*(survey.find(("texts",)) or {})]:
        place = ("texts", language, *entry, "values")
        known = survey.find(place)
        if known and old in known and old != new:
            text = known[old]
            survey.delete((*place, old))
            if new is not None:
                survey.set((*place, new), text)
    if old is None:
        values.append(new)
    elif new is None:
        del values[texts.index(old)]
    else:
        values[texts.index(old)] = new
        name = path[1] if path[0] == "features" else survey.find(("label", "name"))
        survey._rename_conditions(
            lambda term: (
                {**term, "value": new} if (term["feature"], term.get("value")) == (name, old) else term
            )
        )
    survey.set(path, values)


def _swap_label(survey: SurveyText, path: Path, _: Any) -> None:
    """Make a feature the label, or, for the path of the label, the label a feature."""
    label, texts = copy.deepcopy(survey.find(("label",))), copy.deepcopy(survey.find(("texts",)) or {})
    feature = copy.deepcopy(survey.find(path)) if path[0] == "features" else None
    _remove(survey, path, None)
    if label:
        _remove(survey, ("label",), None)
        survey.add(("features", label["name"]), {"values": label["values"]})
    if feature:
        survey.add(("label",), {"name": path[1], "values": feature["values"]})
    for language, entries in texts.items():
        moved = {("features", label["name"]): entries.get("label", {})} if label else {}
        if feature:
            moved[("label",)] = entries.get("features", {}).get(path[1], {})
        for place, table in moved.items():
            for key, each in table.items():
                if key == "values":
                    each.pop("(missing)", None)
                survey.set(("texts", language, *place, key), each)


OPERATIONS: Mapping[str, Callable[[SurveyText, Path, Any], None]] = {
    "set": _set,
    "delete": _delete,
    "add": _add,
    "move": _move,
    "rename": _rename,
    "copy": _copy,
    "remove": _remove,
    "value": _value,
    "label": _swap_label,
}
