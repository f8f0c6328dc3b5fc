"""Parses options that are exact amounts, such as an epsilon of a curator."""

from __future__ import annotations

import re
from collections.abc import Callable
from fractions import Fraction

import click

_AMOUNT = re.compile(r"\+?(\d{1,20}(\.\d{0,20})?|\.\d{1,20})([eE][+-]?\d{1,3})?", re.ASCII)


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
