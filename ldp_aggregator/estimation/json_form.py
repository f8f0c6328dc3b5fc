"""Reads the entries of estimates and model files from JSON; every error names the wrong entry."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import fields, is_dataclass
from typing import Any, TypeVar, get_args, get_origin, get_type_hints

import numpy as np

from ldp_aggregator.arrays import BoolArray, FloatArray

_SUM_TOLERANCE = 1e-6
_MAX_NUMBER = 1e100
"""Larger numbers are refused: their squares would overflow."""
_ERRORS = (KeyError, TypeError, ValueError, AttributeError, ArithmeticError, IndexError)

T = TypeVar("T")


@contextmanager
def reading(entry: str) -> Iterator[None]:
    """Put the name of an entry in front of the errors of reading it; all become ValueError."""
    try:
        yield
    except _ERRORS as error:
        why = f"it has no entry {error}" if isinstance(error, KeyError) else str(error)
        raise ValueError(f"{entry}: {why}") from error


def require(holds: bool, why: str) -> None:
    """Raise ValueError with this explanation unless a condition holds."""
    if not holds:
        raise ValueError(why)


def is_count(number: object) -> bool:
    """Return whether a value is a whole number from 0 to less than 2^63."""
    return type(number) is int and 0 <= number < 2**63


def read_count(number: Any) -> int:
    """Return a whole number from 0 to less than 2^63."""
    require(is_count(number), "needs a whole number below 2^63")
    return int(number)


def read_text(text: Any) -> str:
    """Return a text."""
    require(isinstance(text, str), "needs a text")
    return str(text)


def read_texts(names: Any) -> tuple[str, ...]:
    """Return a list of texts."""
    are_texts = isinstance(names, list) and all(isinstance(each, str) for each in names)
    require(are_texts, "needs a list of texts")
    return tuple(names)


def read_object(kind: type[T], entry: Mapping[str, Any]) -> T:
    """Return a dataclass from an object of JSON, whose entries have the names and types of its fields."""
    types, values = get_type_hints(kind), {}
    for each in fields(kind):  # type: ignore[arg-type]  # a dataclass
        with reading(each.name):
            values[each.name] = _read_typed(types[each.name], entry[each.name])
    return kind(**values)


def _read_typed(kind: Any, value: Any) -> Any:
    """Return a value of a type: a number, a text, an enum, a dataclass, or a tuple or mapping of these."""
    arguments = get_args(kind)
    if type(None) in arguments:
        [kind] = [each for each in arguments if each is not type(None)]
        return None if value is None else _read_typed(kind, value)
    if get_origin(kind) is tuple:
        require(isinstance(value, list), "needs a list")
        return tuple(_read_typed(arguments[0], each) for each in value)
    if get_origin(kind) is Mapping:
        key, of_values = arguments
        return {_read_typed(key, name): _read_typed(of_values, each) for name, each in value.items()}
    if is_dataclass(kind):
        return read_object(kind, value)  # type: ignore[arg-type]
    return _READERS[kind](value) if kind in _READERS else kind(value)


def read_flag(flag: Any) -> bool:
    """Return true or false."""
    require(type(flag) is bool, "needs true or false")
    return bool(flag)


def read_number(number: Any, unknown: float = math.nan) -> float:
    """Return a number; `unknown` for null."""
    require(number is None or type(number) in (int, float), "needs a number or null")
    require(number is None or abs(number) <= _MAX_NUMBER, f"needs a number up to {_MAX_NUMBER:g}")
    return unknown if number is None else float(number)


def read_flags(nested: Any, shape: tuple[int, ...]) -> BoolArray:
    """Return an array of true and false."""
    array = np.array(nested)
    require(array.shape == shape and array.dtype == bool, f"needs true or false, with the shape {shape}")
    return array


def read_array(nested: Any, shape: tuple[int, ...], unknown: float = math.nan) -> FloatArray:
    """Return nested lists of numbers as an array of this shape; null becomes `unknown`."""
    array = np.array(nested, dtype=np.float64)
    require(array.shape == shape, f"needs numbers with the shape {shape}")
    require(not (np.abs(array) > _MAX_NUMBER).any(), f"needs numbers up to {_MAX_NUMBER:g}")
    return np.where(np.isnan(array), unknown, array)


def read_probabilities(nested: Any, shape: tuple[int, ...], name: str) -> FloatArray:
    """Return probabilities that add up to one along the first axis."""
    array = np.asarray(nested, dtype=np.float64)
    is_valid = array.shape == shape and bool((array >= 0).all())
    if not is_valid or abs(array.sum(axis=0) - 1).max() > _SUM_TOLERANCE:
        raise ValueError(f"the probabilities of {name} are invalid or do not add up to one")
    return array


def to_json_list(array: FloatArray) -> Any:
    """Return an array as nested lists, a scalar as a number; infinite and NaN values become None."""
    plain = np.asarray(array).astype(object)
    plain[~np.isfinite(array)] = None
    return plain.tolist()


def _read_known(number: Any) -> float:
    require(number is not None, "needs a number")
    return read_number(number)


_READERS: dict[Any, Callable[[Any], Any]] = {
    str: read_text,
    int: read_count,
    float: _read_known,
    bool: read_flag,
}
