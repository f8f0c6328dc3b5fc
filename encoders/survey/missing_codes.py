"""Codes for missing answers, such as -99, in rows from files and tables; devices do not read them.

In a feature with ``missing = "category"`` a code is a missing answer. In another feature it drops the row.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from decimal import Decimal
from shlex import quote
from typing import TypeVar

from encoders.errors import LdpError
from encoders.survey.boolean_values import read_boolean
from encoders.survey.decimals import parse_decimal
from encoders.survey.features import CategoricalFeature, Feature
from encoders.survey.parse_value import category_text

ALL_DROPPED = 'all rows contain a missing code: check the codes, or write missing = "category" in the survey'
MAX_CODES = 100
MIN_SHOWN_CELLS = 10
"""A number outside of the range is shown only if at least this many cells contain it."""
FeatureT = TypeVar("FeatureT", bound=Feature)


class MissingCodesError(LdpError):
    """Codes that a feature cannot have."""


def add_missing_codes(feature: FeatureT, codes: object) -> FeatureT:
    """Return a feature with further codes; raise MissingCodesError if it cannot have them."""
    is_text = isinstance(feature, CategoricalFeature)
    listed = codes if isinstance(codes, list | tuple) else []
    read = [*feature.missing_codes, *map(_read_text if is_text else _read_number, listed)]
    found = [code for code in read if code is not None]
    if not listed or not len(listed) == len(found) - len(feature.missing_codes) <= MAX_CODES:
        kinds = "whole numbers or texts" if is_text else "finite numbers"
        raise MissingCodesError(f"needs a list of 1 to {MAX_CODES} {kinds}, for example [-99, 999]")
    if len(set(found)) < len(found):
        raise MissingCodesError("has repeated codes: delete all but one")
    if answers := [code for code in found if _is_answer(feature, code)]:
        where = "values" if is_text else "range"
        raise MissingCodesError(f"{answers[0]!a} is an answer: delete this code, or change the {where}")
    return replace(feature, missing_codes=tuple(found))


def _read_text(code: object) -> str | None:
    return (None if isinstance(code, bool) else category_text(code)) or None


def _read_number(code: object) -> float | None:
    number = parse_decimal(Decimal(repr(code)) if isinstance(code, float) else code)
    return None if number is None else float(number)


def _is_answer(feature: Feature, code: str | float) -> bool:
    if isinstance(feature, CategoricalFeature):
        return read_boolean(code, feature.values) in feature.values
    return feature.bounds[0] <= float(code) <= feature.bounds[1]


def parse_missing_codes(options: Iterable[str]) -> dict[str, list[str]]:
    """Return the codes of each feature from options such as ``age=-99,999``."""
    found: dict[str, list[str]] = {}
    for name, _, codes in (each.rpartition("=") for each in options):
        if not name:
            raise MissingCodesError("--missing-codes needs FEATURE=CODE,..., for example age=-99,999")
        found.setdefault(name, []).extend(code.strip() for code in codes.split(","))
    return found


def set_missing_codes(
    entries: Iterable[FeatureT], codes: Mapping[str, Sequence[object]]
) -> tuple[FeatureT, ...]:
    """Return the entries of a row with further codes, by name; of a number, as text too."""
    by_name = {entry.name: entry for entry in entries}
    for name, listed in codes.items():
        if name not in by_name:
            raise MissingCodesError(
                f"missing codes: no feature {name!a}; the survey has {', '.join(by_name)}"
            )
        is_text = isinstance(by_name[name], CategoricalFeature)
        try:
            given = [float(code) if isinstance(code, str) and not is_text else code for code in listed]
            by_name[name] = add_missing_codes(by_name[name], given)
        except (MissingCodesError, ValueError) as error:
            why = error if isinstance(error, MissingCodesError) else "needs numbers, such as -99"
            raise MissingCodesError(f"missing codes of {name}: {why}") from None
    return tuple(by_name.values())


def describe_outside(feature: Feature, outside: Mapping[float, int], cells: int, as_option: bool) -> str:
    """Return how many cells of a column are outside of the range, and what to do if one number is a code.

    It contains exact counts and a value: it is for the terminal of those who hold the rows, and for no log.
    `outside` counts the cells of each such number. `as_option`: the codes are an option of the command.
    """
    assert not isinstance(feature, CategoricalFeature)
    low, high = map(show_code, feature.bounds)
    count, code = sum(outside.values()), max(outside, key=outside.__getitem__)
    text = f"{feature.name}: {count:,} of {cells:,} numbers are outside of {low} to {high}, and are clipped."
    if outside[code] < MIN_SHOWN_CELLS:
        return text
    listed = ", ".join(map(show_code, (*feature.missing_codes, code)))
    remedy = f"write missing_codes = [{listed}] in the survey's table of {feature.name}"
    if as_option:
        remedy = f"add --missing-codes {quote(f'{feature.name}={show_code(code)}')}"
    shown = f"{outside[code]:,} of them are {show_code(code)}"
    return f"{text} {shown}: if this stands for a missing answer, {remedy}."


def describe_dropped(dropped: int, rows: int) -> str:
    """Return how many rows the codes drop; it is for the same terminal."""
    return f"{dropped:,} of {rows:,} rows are left out, because they contain a missing code."


def show_code(number: object) -> str:
    """Return a code or a limit as text; a whole number without a decimal point."""
    return category_text(number) or repr(number)
