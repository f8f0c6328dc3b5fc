"""Converts typed objects to JSON and back, by the types of their fields; every error names the wrong entry.

An object is a dataclass, and its entries have the names of its fields. Unknown and infinite numbers are null;
exact numbers (decimals and fractions) are texts. A dataclass may add to this:

- `JSON_DERIVED`: names of properties that are written, too; they are not read.
- `JSON_KINDS`: the values of the entry `kind` by which it is found among several dataclasses.
- `omitted_entries`: names of entries that are not written for this object.
- `complete_entries(values)`: adds the values of entries that were omitted.
- `check_entries()`: raises ValueError if values that have the right types do not fit each other.

In an array null is NaN. A number may be null only if it is annotated with :class:`Unknown`, which states the
number that null means. A field whose metadata are HIDDEN is not written. If they are OPTIONAL, its default is
not written, and stands for a missing entry.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, fields, is_dataclass
from decimal import Decimal
from enum import Enum
from fractions import Fraction
from functools import cache
from types import NoneType
from typing import Annotated, Any, TypeVar, get_args, get_origin, get_type_hints

import numpy as np

from ldp_aggregator.arrays import BoolArray, FloatArray, IntArray

_AMOUNT = re.compile(r"[0-9]{1,1200}(/[1-9][0-9]{0,1199})?")
_MAX_NUMBER = 1e100
"""Larger numbers are refused: their squares would overflow."""
_ERRORS = (KeyError, TypeError, ValueError, AttributeError, ArithmeticError, IndexError)

HIDDEN = {"hidden": True}
"""The metadata of a field that is not stored."""
OPTIONAL = {"optional": True}
"""The metadata of a field that is not stored if it has its default."""

T = TypeVar("T")


def parse_amount(text: object) -> Fraction:
    """Return an epsilon or a delta, such as "3" or "1/3", from a file; raise ValueError for another text.

    Texts with an exponent are refused, because ``Fraction("1e99999999")`` takes minutes. The longest amount
    is a delta that an option states with a small exponent.
    """
    if not isinstance(text, str) or not _AMOUNT.fullmatch(text):
        raise ValueError(
            "an amount needs a text such as 1/3, with at most 1200 digits above and below the line"
        )
    return Fraction(text)


@dataclass(frozen=True)
class Unknown:
    """Marks the type of a field: the number that null means."""

    number: float


Infinite = Annotated[FloatArray, Unknown(math.inf)]
"""An array in which null is infinite, such as the standard errors of what is unknown."""
InfiniteNumber = Annotated[float, Unknown(math.inf)]
"""A number of which null is infinite."""


@contextmanager
def reading(entry: str) -> Iterator[None]:
    """Put the name of an entry in front of the errors of reading it; all become ValueError."""
    try:
        yield
    except _ERRORS as error:
        why = f"it has no entry {error}" if isinstance(error, KeyError) else str(error)
        raise ValueError(f"{entry}: {why}") from error


def require(holds: bool, why: str) -> None:
    if not holds:
        raise ValueError(why)


def require_probabilities(array: FloatArray, name: str) -> None:
    """Raise ValueError unless numbers are probabilities that add up to one along the first axis."""
    if not (array >= 0).all() or abs(array.sum(axis=0) - 1).max() > 1e-6:
        raise ValueError(f"the probabilities of {name} are invalid or do not add up to one")


# -- writing --------------------------------------------------------------------------------------


def to_json(value: Any) -> Any:
    if is_dataclass(value):
        kind: Any = type(value)
        omitted = [name for name, default in _list_defaults(kind).items() if getattr(value, name) == default]
        omitted += getattr(value, "omitted_entries", ())
        names = [*_list_fields(kind), *getattr(value, "JSON_DERIVED", ())]
        return {name: to_json(getattr(value, name)) for name in names if name not in omitted}
    if isinstance(value, np.ndarray):
        return _write_array(value)
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Mapping):
        return {name: to_json(each) for name, each in value.items()}
    if isinstance(value, list | tuple):
        return [to_json(each) for each in value]
    return str(value) if isinstance(value, Decimal | Fraction) else value


def _write_array(array: FloatArray | BoolArray | IntArray) -> Any:
    plain = array.astype(object)
    if array.dtype.kind == "f":
        plain[~np.isfinite(array)] = None
    return plain.tolist()


# -- reading --------------------------------------------------------------------------------------


def from_json(kind: type[T], entry: Any) -> T:
    """Convert JSON to a dataclass; ValueError begins with the name of a missing or wrong entry."""
    require(isinstance(entry, Mapping), "needs an object")
    values: dict[str, Any] = {}
    a_dataclass: Any = kind
    completed = hasattr(kind, "complete_entries")
    for name, field_kind in _list_fields(a_dataclass).items():
        if name not in entry and (completed or name in _list_defaults(a_dataclass)):
            continue
        require(name in entry, f"it has no entry {name!r}")
        with reading(name):
            values[name] = _read(field_kind, entry[name])
    if completed:
        a_dataclass.complete_entries(values)
        missing = [
            name for name in _list_fields(a_dataclass) if name not in values | _list_defaults(a_dataclass)
        ]
        require(not missing, f"it has no entry {', '.join(map(repr, missing))}")
    found = kind(**values)
    if hasattr(found, "check_entries"):
        found.check_entries()
    return found


@cache
def _list_fields(kind: Any) -> dict[str, Any]:
    types = get_type_hints(kind, include_extras=True)
    return {each.name: types[each.name] for each in fields(kind) if not each.metadata.get("hidden")}


@cache
def _list_defaults(kind: Any) -> dict[str, Any]:
    return {each.name: each.default for each in fields(kind) if each.metadata.get("optional")}


def _read(kind: Any, value: Any) -> Any:
    arguments, origin = get_args(kind), get_origin(kind)
    if NoneType in arguments:
        if value is None:
            return None
        return read_one_of([each for each in arguments if each is not NoneType], value)
    if origin is Annotated:
        return _read_numbers(arguments[0], value, arguments[1].number)
    if origin is np.ndarray:
        return _read_numbers(kind, value, math.nan) if kind == FloatArray else _read_exact(kind, value)
    if origin is tuple:
        return _read_tuple(arguments, value)
    if origin is Mapping:
        require(isinstance(value, Mapping), "needs an object")
        return {_read(arguments[0], name): _read(arguments[1], each) for name, each in value.items()}
    if arguments:
        return read_one_of(arguments, value)
    if is_dataclass(kind):
        return from_json(kind, value)  # type: ignore[arg-type]
    return _READERS.get(kind, kind)(value)


def read_one_of(kinds: Any, value: Any) -> Any:
    for kind in kinds:
        if len(kinds) == 1 or _has_form(kind, value):
            return _read(kind, value)
    raise ValueError("kind: is unknown")


def _has_form(kind: Any, value: Any) -> bool:
    """Return whether JSON has the form of a type: an object of this kind, a text, or other values."""
    if is_dataclass(kind):
        return isinstance(value, Mapping) and value.get("kind") in getattr(kind, "JSON_KINDS", (None,))
    is_text = isinstance(kind, type) and issubclass(kind, Enum | str)
    return is_text == isinstance(value, str) and not isinstance(value, Mapping)


def _read_tuple(arguments: Any, value: Any) -> tuple[Any, ...]:
    require(isinstance(value, list), "needs a list")
    kinds = arguments[:1] * len(value) if arguments[-1] is Ellipsis else arguments
    require(len(kinds) == len(value), f"needs {len(kinds)} entries")
    found = []
    for index, (kind, each) in enumerate(zip(kinds, value, strict=True)):
        with reading(str(index)):
            found.append(_read(kind, each))
    return tuple(found)


def _read_numbers(kind: Any, value: Any, unknown: float) -> Any:
    if kind is float:
        return unknown if value is None else _read_float(value)
    plain = np.array(value, dtype=object)
    are_numbers = all(type(each) in (int, float, NoneType) for each in plain.ravel().tolist())
    require(are_numbers, "needs numbers or null, in lists of equal lengths")
    array = plain.astype(np.float64)
    require(not (np.abs(array) > _MAX_NUMBER).any(), f"needs numbers up to {_MAX_NUMBER:g}")
    return np.where(np.isnan(array), unknown, array)


def _read_exact(kind: Any, value: Any) -> Any:
    [dtype] = get_args(get_args(kind)[1])
    array = np.array(value)
    what = "true or false" if dtype is np.bool_ else "whole numbers"
    require(isinstance(value, list) and array.dtype == dtype, f"needs {what}")
    return array


def _read_float(number: Any) -> float:
    require(type(number) in (int, float), "needs a number")
    require(abs(number) <= _MAX_NUMBER, f"needs a number up to {_MAX_NUMBER:g}")
    return float(number)


def read_count(number: Any) -> int:
    require(type(number) is int and 0 <= number < 2**63, "needs a whole number below 2^63")
    return int(number)


def _read_exactly(kind: type, what: str) -> Callable[[Any], Any]:
    def read(value: Any) -> Any:
        require(type(value) is kind, f"needs {what}")
        return value

    return read


_READERS: dict[Any, Callable[[Any], Any]] = {
    str: _read_exactly(str, "a text"),
    int: read_count,
    float: _read_float,
    bool: _read_exactly(bool, "true or false"),
    Fraction: parse_amount,
}
