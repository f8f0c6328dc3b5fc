"""Reads the values of a row that an application passes, in the same way for every feature.

A value is an answer, or means that the answer is missing. Scalars of numpy and the missing values of numpy
and pandas are read as plain Python values. No error contains a value.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Mapping
from contextlib import suppress
from decimal import Decimal

from encoders.canonical import to_nfc
from encoders.errors import RowError

MISSING_TEXT = "(missing)"
INFINITE_NUMBER = "is infinite: give a finite number, or None (in a CSV file, an empty cell) if it is missing"
_MAX_INTEGER = 10**100
_MAX_LISTED_VALUES = 12
_LONGEST_TEXT = 1000
"""The normal form of a longer text has more characters than a category, and takes long to compute."""
_MAX_DOUBLE = int(sys.float_info.max)

Scalar = None | bool | int | float | Decimal | str
_SCALARS = (type(None), str, int, float, Decimal)  # a bool is an int; a tuple is searched faster than a union
_NUMBERS = (int, float, Decimal)


def row_entry(row: Mapping[str, object], name: str) -> object:
    """Return a row's value of the feature or label `name`; raise RowError if the row has no such entry."""
    try:
        return row[name]
    except KeyError:
        raise RowError(name, "the row has no such entry; pass None for a missing value") from None


def is_missing(value: object) -> bool:
    """Return whether a value means "no answer": None, NaN, pandas' NA or an empty text.

    Infinity does not: it is the result of a computation, such as a division by zero, and is refused.
    """
    bare = unwrap_scalar(value)
    if isinstance(bare, str):
        return bare == ""
    if isinstance(bare, float):
        return math.isnan(bare)
    return bare is None or (isinstance(bare, Decimal) and bare.is_nan())


def encode_missing(name: str, missing: str, size: int) -> int:
    """Return the code of a missing value, the last of `size`; raise RowError if none is allowed."""
    if missing != "category":
        raise RowError(name, 'is missing: give a value, or write missing = "category" in the survey')
    return size - 1


def category_text(value: object) -> str | None:
    """Return a category as text: text in NFC, 3 and 3.0 as "3", True as "true"; None for other types."""
    value = unwrap_scalar(value)
    if isinstance(value, str):
        return to_nfc(value[:_LONGEST_TEXT])
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return str(value) if isinstance(value, int) and abs(value) < _MAX_INTEGER else None


def look_up_category(value: object, codes: dict[str, int], name: str, values: tuple[str, ...]) -> int:
    """Return the code of a category; raise RowError, which does not contain the value, if it has none."""
    text = category_text(value)
    if text is None:
        raise RowError(name, f"must be one of the survey's values, not a {type(value).__name__}")
    if text not in codes:
        shown = quote_values(values) + _read_as(unwrap_scalar(value))
        raise RowError(name, f"is not one of the survey's values: {shown}")
    return codes[text]


def quote_values(values: tuple[str, ...]) -> str:
    shown = [f'"{each}"' for each in values[:_MAX_LISTED_VALUES]]
    return ", ".join(shown + ["..."] * (len(values) > _MAX_LISTED_VALUES))


def _read_as(value: object) -> str:
    if isinstance(value, bool):
        return ' (a bool is read as the text "true" or "false")'
    return "" if isinstance(value, str) else ' (a number is read as the text of its digits: 3 and 3.0 as "3")'


def parse_number(value: object, name: str) -> float | None:
    """Read a number as a finite double; None if missing; raise RowError for another type or infinity."""
    if is_missing(value):
        return None
    bare = unwrap_scalar(value)
    if isinstance(bare, bool) or not isinstance(bare, _NUMBERS):
        raise RowError(name, f"must be a number, not {type(value).__name__}")
    number = _to_double(bare)
    if math.isinf(number):
        raise RowError(name, INFINITE_NUMBER)
    return number


def parse_number_cell(text: str, name: str) -> object:
    if not text.strip():
        return None
    with suppress(ValueError):
        return float(text)
    raise RowError(name, "must be a number")  # not chained to the error that quotes the text


def unwrap_scalar(value: object) -> Scalar | object:
    """Return the plain value of a scalar or missing value of numpy or pandas; other values unchanged."""
    if isinstance(value, _SCALARS):
        return value
    if type(value).__name__ in ("NAType", "NaTType", "MaskedConstant"):
        return None
    if getattr(value, "shape", None) == () and getattr(getattr(value, "dtype", None), "kind", "") in "biuf":
        number: object = value.item()  # type: ignore[attr-defined]
        return number if isinstance(number, _SCALARS) else float(number)  # type: ignore[arg-type]
    return value


def _to_double(value: int | float | Decimal) -> float:
    if isinstance(value, float) or (isinstance(value, Decimal) and value.is_infinite()):
        return float(value)
    return float(min(max(value, -_MAX_DOUBLE), _MAX_DOUBLE))
