"""What cells of files and tables of rows stand for: codes for missing answers, such as -99, and booleans.

In a feature with ``missing = "category"`` a code is a missing answer. In another feature it drops the row.
Booleans have several spellings in CSV files and in pandas. Devices do not read either.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from decimal import Decimal
from math import isnan
from typing import TypeVar

from encoders.canonical import parse_decimal
from encoders.errors import LdpError, RowError
from encoders.survey.features import CategoricalFeature, Feature
from encoders.survey.parse_value import category_text, parse_number_cell, unwrap_scalar

ALL_DROPPED = 'all rows contain a missing code: check the codes, or write missing = "category" in the survey'
MAX_CODES = 100
MIN_SHOWN_CELLS = 10
"""A number outside of the range is shown only if at least this many cells contain it."""
_SPELLINGS = {"true": "true", "1": "true", "1.0": "true", "false": "false", "0": "false", "0.0": "false"}
"""The value that a spelling in lower case stands for."""
FeatureT = TypeVar("FeatureT", bound=Feature)


def add_missing_codes(feature: FeatureT, codes: object) -> FeatureT:
    """Return a feature with a list of further codes; raise RowError if it cannot have them."""
    is_text = isinstance(feature, CategoricalFeature)
    listed = [_read_code(code, is_text) for code in codes] if isinstance(codes, list | tuple) else []
    if not 1 <= len(listed) <= MAX_CODES or None in listed:
        kind = "whole numbers or texts" if is_text else "numbers"
        raise RowError(
            feature.name, f"needs a list of 1 to {MAX_CODES} missing codes, {kind}, for example [-99, 999]"
        )
    found = (*feature.missing_codes, *(code for code in listed if code is not None))
    if len(set(found)) < len(found):
        raise RowError(feature.name, "has repeated missing codes: delete all but one")
    for code in found:
        if _is_answer(feature, code):
            where = "one of the values" if is_text else "in the range"
            why = f"the missing code {show_code(code)} is {where}, so it is an answer: delete it, or choose"
            raise RowError(feature.name, f"{why} other {'values' if is_text else 'limits'}")
    return replace(feature, missing_codes=found)


def _read_code(code: object, is_text: bool) -> str | float | None:
    if is_text:
        return (not isinstance(code, bool) and category_text(code)) or None
    number = parse_decimal(Decimal(repr(code)) if isinstance(code, float) else code)
    return None if number is None else float(number)


def _is_answer(feature: Feature, code: str | float) -> bool:
    if isinstance(feature, CategoricalFeature):
        is_boolean = str(code).lower().removesuffix(".0") in ("true", "false", "1", "0")
        return code in feature.values or (is_boolean and "true" in feature.values)
    return feature.bounds[0] <= float(code) <= feature.bounds[1]


def parse_missing_codes(options: Iterable[str]) -> dict[str, list[str]]:
    """Return the codes of each feature from options such as ``age=-99,999``."""
    found: dict[str, list[str]] = {}
    for name, _, codes in (each.rpartition("=") for each in options):
        if not name:
            raise LdpError("--missing-codes needs FEATURE=CODE,..., for example age=-99,999")
        found.setdefault(name, []).extend(code.strip() for code in codes.split(","))
    return found


def set_missing_codes(
    entries: Iterable[Feature], codes: Mapping[str, Sequence[object]]
) -> tuple[Feature, ...]:
    """Return the entries of a row with further codes, by name; numbers may be texts, as in an option."""
    by_name = {entry.name: entry for entry in entries}
    for name, listed in codes.items():
        if name not in by_name:
            raise RowError(name, f"is no feature, so it has no missing codes; known: {', '.join(by_name)}")
        if not isinstance(by_name[name], CategoricalFeature) and isinstance(listed, list | tuple):
            listed = [parse_number_cell(code, name) if isinstance(code, str) else code for code in listed]
        by_name[name] = add_missing_codes(by_name[name], listed)
    return tuple(by_name.values())


def is_missing_code(feature: Feature, value: object) -> bool:
    """Return whether a cell of a file or table, or the only item of its list, is a code of the feature."""
    only = value[0] if isinstance(value, list | tuple) and len(value) == 1 else unwrap_scalar(value)
    if isinstance(feature, CategoricalFeature):
        return category_text(only) in feature.missing_codes
    return isinstance(only, int | float | Decimal) and only in feature.missing_codes


def describe_outside(feature: Feature, outside: Mapping[float, int], cells: int) -> str:
    """Return how many cells are outside of the range, for the terminal of who holds the rows."""
    assert not isinstance(feature, CategoricalFeature)
    low, high = map(show_code, feature.bounds)
    code = max((each for each in outside if not isnan(each)), key=outside.__getitem__)
    count = sum(outside.values())
    text = f"{feature.name}: {count:,} of {cells:,} cells are outside of {low} to {high}, and are clipped."
    if outside[code] < MIN_SHOWN_CELLS:
        return text
    return (
        f"{text} {outside[code]:,} of them are {show_code(code)}: if this stands for a missing answer, list "
        "it in missing_codes of the survey, or in --missing-codes of a command without a survey file."
    )


def describe_dropped(dropped: int, rows: int) -> str:
    return f"{dropped:,} of {rows:,} rows are left out, because they contain a missing code."


def show_code(number: object) -> str:
    """Return a code or a limit as text; a whole number has no decimal point."""
    return category_text(number) or repr(number)


def has_booleans(values: Collection[str]) -> bool:
    return "true" in values and "false" in values


def read_boolean(value: object, values: Collection[str]) -> object:
    """Return "true" or "false" for True, 1, "TRUE", "1" and the like; any other value unchanged.

    A cell that is one of `values` stays, and so does everything if true and false are not both values.
    """
    if not has_booleans(values):
        return value
    text = category_text(value)
    if text is None:
        return value
    if text in values:
        return text
    return _SPELLINGS.get(text.strip().lower(), value)
