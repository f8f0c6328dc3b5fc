"""The operations of the page: each changes the tables of a survey, and :mod:`toml_patch` then the text."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

from encoders.canonical import decimal_text
from encoders.errors import LdpError, SurveyError
from encoders.survey import read_survey
from encoders.survey.plan_checks import MAX_SUM
from encoders.survey.relay import ALL, MIN_DELTA
from encoders.survey.relay_promise import EQUAL
from ldp_design.authoring.relay_overview import MAX_LOCAL_EPSILON
from ldp_design.authoring.toml_patch import (
    Number,
    Path,
    Tables,
    header_path,
    parse_tables,
    patch,
    read_number,
)

DEFAULT_USERS = 1_000
_BATCH_SHARE = 0.6
_MAX_FAILURES = Decimal("0.01")
_MAX_EPSILON = 2


class EditError(LdpError):
    """An operation that does not fit the survey."""


def apply_operations(text: str, operations: Iterable[Mapping[str, Any]]) -> str:
    """Return the text of a survey after operations; raises EditError or LayoutError."""
    for each in operations:
        try:
            tables, path = parse_tables(text), tuple(map(str, each.get("path", ())))
            renamed = OPERATIONS[each["op"]](tables, path, text if each["op"] == "fit" else each.get("value"))
        except (KeyError, TypeError, ValueError, IndexError, AttributeError) as error:
            raise EditError("this change does not fit the survey any more: load the page again") from error
        text = patch(text, tables, renamed or ())
    return text


def find(tables: Any, *path: str) -> Any:
    """Return an entry, or None."""
    for key in path:
        if not isinstance(tables, dict) or key not in tables:
            return None
        tables = tables[key]
    return tables


def _read(value: Any) -> Any:
    """Return a value of the page: {"number": text} is a number or a time."""
    if isinstance(value, dict):
        if [*value] == ["number"]:
            return read_number(str(value["number"]))
        return {str(key): _read(each) for key, each in value.items()}
    if isinstance(value, list):
        return [_read(each) for each in value]
    if isinstance(value, str | bool | int):
        return value
    raise TypeError


def _set(tables: Any, path: Path, value: Any) -> None:
    for key in path[:-1]:
        tables = tables.setdefault(key, {})
    tables[int(path[-1]) if isinstance(tables, list) else path[-1]] = _read(value)


def _delete(tables: Tables, path: Path, _: Any = None) -> None:
    """Delete an entry or a table, and what it was alone in, except a table with a header."""
    around = find(tables, *path[:-1])
    if isinstance(around, dict) and path[-1] in around:
        del around[path[-1]]
        if not around and (len(path) == 2 or len(path) > len(header_path(path)) + 1):
            _delete(tables, path[:-1])


def _add(tables: Tables, path: Path, value: Any) -> None:
    """Add a table after another one of its kind, or as the last."""
    kind = tables
    for key in path[:-1]:
        kind = kind.setdefault(key, {})
    if path[-1] in kind:
        raise EditError(f"{path[-1]}: exists already: choose another name")
    kind[path[-1]] = _read(value["entries"])
    if value.get("after") in kind:
        _move(tables, path, [*kind].index(value["after"]) + 1)


def _move(tables: Tables, path: Path, place: Any) -> None:
    kind = find(tables, *path[:-1])
    entries = [(name, each) for name, each in kind.items() if name != path[-1]]
    entries.insert(int(place), (path[-1], kind[path[-1]]))
    kind.clear()
    kind.update(entries)


def _texts_of(tables: Tables, path: Path) -> Iterator[Path]:
    """Yield the paths of the texts of a feature or of the label."""
    for language in tables.get("texts", ()):
        yield ("texts", language, *(path if path[0] == "label" else path[:2]))


def _change_conditions(tables: Tables, old: Mapping[str, Any], new: Mapping[str, Any]) -> None:
    """Change the terms {feature, value} of all conditions that have the entries `old`."""

    def run(term: Any) -> Any:
        if isinstance(term, list):
            return [*map(run, term)]
        if not isinstance(term, dict):
            return term
        if "feature" in term:
            return {**term, **new} if old.items() <= term.items() else term
        return {key: run(each) for key, each in term.items()}

    for feature in tables.get("features", {}).values():
        if "ask_if" in feature:
            feature["ask_if"] = run(feature["ask_if"])


def _rename(tables: Tables, path: Path, value: Any) -> list[tuple[Path, Path]]:
    """Rename a feature, also where texts, tables and conditions name it; return all renamed tables."""
    name, new, renamed = path[-1], str(value), []
    for each in [path, *_texts_of(tables, path)] if name != new else ():
        kind = find(tables, *each[:-1]) or {}
        if new in kind:
            raise EditError(f"{new}: exists already: choose another name")
        if name in kind:
            renamed.append((each, (*each[:-1], new)))
            entries = [(new if key == name else key, value) for key, value in kind.items()]
            kind.clear()
            kind.update(entries)
    for table in tables.get("tables", {}).values():
        table["features"] = [new if each == name else each for each in table["features"]]
    _change_conditions(tables, {"feature": name}, {"feature": new})
    return renamed


def _copy(tables: Tables, path: Path, name: Any) -> None:
    """Copy a feature, with its texts, to a new name."""
    for each in [path, *_texts_of(tables, path)]:
        if entries := find(tables, *each):
            _add(tables, (*each[:-1], str(name)), {"entries": {}, "after": path[-1]})
            find(tables, *each[:-1])[name] = entries


def _remove(tables: Tables, path: Path, keeps_conditions: Any) -> None:
    """Delete a feature or the label, and what names it: texts, tables, and conditions unless they stay."""
    name = path[-1] if path[0] == "features" else str(find(tables, "label", "name"))
    for each in [*_texts_of(tables, path), path]:
        _delete(tables, each)
    for table, entries in [*tables.get("tables", {}).items()]:
        if name in entries["features"]:
            _delete(tables, ("tables", table))
        elif path[0] == "label":
            entries.pop("label", None)
    for feature in () if keeps_conditions else tables.get("features", {}).values():
        if f"'feature': {name!r}" in str(feature.get("ask_if")):
            del feature["ask_if"]


def _value(tables: Tables, path: Path, value: Any) -> None:
    """Change an answer of a list, {"old": ..., "new": ...}; without "new" delete, without "old" add it."""
    old, new = value.get("old"), value.get("new")
    values = find(tables, *path) or []
    texts = [str(each).lower() if isinstance(each, bool) else str(each) for each in values]
    place = texts.index(old) if old is not None else len(values)
    _set(tables, path, [*values[:place], *([] if new is None else [new]), *values[place + 1 :]])
    if old is None or old == new:
        return
    for words in [(*each, "values") for each in _texts_of(tables, path[:-1])]:
        if (text := find(tables, *words, old)) is not None:
            _delete(tables, (*words, old))
            if new is not None:
                _set(tables, (*words, new), text)
    name = path[1] if path[0] == "features" else find(tables, "label", "name")
    if new is not None:
        _change_conditions(tables, {"feature": name, "value": old}, {"value": new})


def _swap_label(tables: Tables, path: Path, place: Any) -> None:
    """Make a feature the label; the former label, or the one at the path, becomes one, at a place."""
    label, feature = tables.get("label"), find(tables, *path) if path[0] == "features" else None
    former = {tag: (each.get("label"), find(each, *path)) for tag, each in tables.get("texts", {}).items()}
    _remove(tables, path, True)
    if label:
        _remove(tables, ("label",), True)
        _set(tables, ("features", label["name"]), {"values": label["values"]})
        if place is not None:
            _move(tables, ("features", label["name"]), place)
    if feature:
        tables["label"] = {"name": path[1], "values": feature["values"]}
    for tag, (of_label, of_feature) in former.items():
        if label and of_label:
            _set(tables, ("texts", tag, "features", label["name"]), of_label)
        if feature and of_feature:
            tables["texts"][tag]["label"] = of_feature
            _delete(tables, ("texts", tag, "label", "values", "(missing)"))


# -- the relay -------------------------------------------------------------------------------------------


def _set_relay(tables: Tables, _: Path, ask: Any) -> None:
    """Add a relay, or change how many questions each person answers; without `ask`, delete the relay."""
    if not ask:
        if "epsilon" in (relay := tables.pop("relay", {})):
            tables["survey"]["epsilon"] = relay["epsilon"]
        return
    relay = tables.setdefault("relay", {}) or _default_relay(tables)
    tables["relay"] = relay
    for key in ("ask", "divide") if ask != ALL else ():
        relay.pop(key, None)
    if ask == ALL:
        relay["ask"] = ask


def _default_relay(tables: Tables) -> Tables:
    """Return the entries of a relay whose address and times the author replaces."""
    survey, opens = tables["survey"], _next_month(datetime.now(UTC))
    users, epsilon = survey.get("users"), survey.get("epsilon")
    people = users if isinstance(users, int) and users > 0 else DEFAULT_USERS
    is_small = isinstance(epsilon, int | Number) and 0 < float(epsilon) <= _MAX_EPSILON
    delta = max(min(Decimal("1e-6"), Decimal(10) ** (_MAX_FAILURES / people).adjusted()), MIN_DELTA)
    return {
        "url": f"https://relay.example/{survey.get('id') or 'my-survey'}",
        "batch": batch_of(people),
        "honest": Number("0.73"),
        "epsilon": epsilon if is_small else Number("1.0"),
        "delta": Number(f"{delta:E}".lower().replace("e-0", "e-")),
        **({} if "waves" in tables else {"opens": opens, "closes": _next_month(opens)}),
    }


def _next_month(time: datetime) -> datetime:
    start = time.replace(day=1, hour=0, minute=0, second=0, microsecond=0)
    return (start + timedelta(days=31)).replace(day=1)


def batch_of(people: int) -> int:
    """Return the largest batch that does not risk that too few people answer."""
    return max(int(people * _BATCH_SHARE), 2)


def _fit(tables: Tables, _: Path, text: str) -> None:
    """Take the largest epsilon that keeps the promise of a relay, if the survey has no mistakes."""
    with suppress(SurveyError):  # `check` tells the author what is wrong
        survey = read_survey(text)
        if survey.relay:
            most = max(MAX_SUM if survey.asks_all else MAX_LOCAL_EPSILON, survey.relay.epsilon)
            largest = replace(survey, epsilon=most, divide=EQUAL).fit_promise().epsilon
            tables["survey"]["epsilon"] = read_number(decimal_text(largest))


OPERATIONS: Mapping[str, Callable[[Tables, Path, Any], list[tuple[Path, Path]] | None]] = {
    "set": _set,
    "delete": _delete,
    "add": _add,
    "move": _move,
    "rename": _rename,
    "copy": _copy,
    "remove": _remove,
    "value": _value,
    "label": _swap_label,
    "relay": _set_relay,
    "fit": _fit,
}
"""What the page can ask for: each takes the tables, a path and a value, and returns what it has renamed."""
