"""Reads the entries of estimates and model files from JSON; every error names the wrong entry."""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from ldp_aggregator.arrays import BoolArray, FloatArray

_SUM_TOLERANCE = 1e-6
_MAX_NUMBER = 1e100
"""Larger numbers are refused: their squares would overflow."""
_ERRORS = (KeyError, TypeError, ValueError, AttributeError, ArithmeticError, IndexError)


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
