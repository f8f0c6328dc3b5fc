"""Parses options that are exact amounts, such as an epsilon of a curator, and numbers of people."""

from __future__ import annotations

import re
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import click

_AMOUNT = re.compile(r"\+?(\d{1,20}(\.\d{0,20})?|\.\d{1,20})([eE][+-]?\d{1,3})?", re.ASCII)
_COUNT = re.compile(r"\s*[+-]?(\d+|\d{1,3}(,\d{3})+|\d{1,3}(_\d{3})+)\s*", re.ASCII)


class Count(click.IntRange):
    """A number of people, rows or reports, perhaps with separators of thousands: 3000, 3,000 or 3_000."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if isinstance(value, str):
            if not _COUNT.fullmatch(value):
                self.fail(f"{value!r} is not a whole number: write it as 3000 or 3,000", param, ctx)
            value = value.replace(",", "")
        return super().convert(value, param, ctx)


def amount_parser(low: Fraction, high: Fraction) -> Callable[..., Fraction | None]:
    """Return the callback of an option that reads a decimal as an exact fraction: 0.5 and .5 are one half."""

    def parse(_context: click.Context, _parameter: click.Parameter, text: str | None) -> Fraction | None:
        if text is None:
            return None
        amount = Fraction(text) if _AMOUNT.fullmatch(text) else None
        if amount is None or not low <= amount <= high:
            raise click.BadParameter(f"{text!r} is not a number from {float(low):g} to {float(high):g}")
        return amount

    return parse
