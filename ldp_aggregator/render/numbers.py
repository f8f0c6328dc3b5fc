"""Formats shares, numbers with an uncertainty, and their intervals for the results page."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

UNKNOWN = "unknown"
"""Shown where the reports do not exclude any value."""
_MAX_DECIMALS = 6
_MAX_WHOLE = 1e15

Format = Callable[[float], str]


def format_percent(share: float) -> str:
    """Return a share as a percentage with one decimal; no negative zero."""
    return f"{round(100 * share, 1) + 0.0:.1f}%"


def format_axis_percent(share: float) -> str:
    """Return a share at an axis."""
    return f"{100 * share:.4g}%"


def choose_number_format(uncertainty: float | None) -> Format:
    """Return the function that formats numbers with the digits that their uncertainty justifies.

    Parameters
    ----------
    uncertainty : float or None
        A typical standard error, of which two digits are shown; None or 0 if it is unknown.
    """
    if not uncertainty or not math.isfinite(uncertainty):
        return lambda number: f"{number:,.4g}"
    digits = min(1 - math.floor(math.log10(uncertainty)), _MAX_DECIMALS)  # below 0: tens, hundreds, ...
    return lambda number: f"{round(number, digits) + 0.0:,.{max(digits, 0)}f}"


def format_interval(low: float | None, high: float | None, write: Format) -> str:
    """Return "0.1 to 0.2"; `UNKNOWN` without an interval."""
    return UNKNOWN if low is None or high is None else f"{write(low)} to {write(high)}"


def format_plain(number: float) -> str:
    """Return a number of an axis or a range: whole numbers with all digits, others with six."""
    return f"{number:,.0f}" if number.is_integer() and abs(number) < _MAX_WHOLE else f"{number:,.6g}"


def is_known(row: Mapping[str, Any], bounds: tuple[float, float]) -> bool:
    """Return whether a row's single interval excludes any possible value."""
    if row["estimate"] is None or row["low"] is None or row["high"] is None:
        return False
    return bool(row["low"] > bounds[0] or row["high"] < bounds[1])
