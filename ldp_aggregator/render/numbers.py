"""Formats shares, numbers with an uncertainty, and their intervals for pages."""

from __future__ import annotations

import math
from collections.abc import Callable

UNKNOWN = "unknown"
"""Shown where an interval covers nearly all values."""
_MAX_DECIMALS, _ROUNDING = 6, 1e-9
_MAX_WHOLE = 1e15

Format = Callable[[float], str]


def format_percent(share: float) -> str:
    """Return a share as a percentage with one decimal; only shares of 0 and 1 are 0.0% and 100.0%."""
    if _ROUNDING < share < 0.0005 or 0.9995 < share < 1 - _ROUNDING:
        return "<0.1%" if share < 0.5 else ">99.9%"
    return f"{round(100 * share, 1) + 0.0:.1f}%"


def format_axis_percent(share: float) -> str:
    """Return a share at an axis."""
    return f"{100 * share:.4g}%"


def format_points(difference: float) -> str:
    """Return a difference of shares in percentage points, with its sign; no negative zero."""
    return f"{round(100 * difference, 1) + 0.0:+.1f}"


def format_ratio(ratio: float) -> str:
    """Return a ratio with three digits, or a large one without decimals."""
    return f"{ratio:,.0f}" if ratio >= 100 else f"{ratio:#.3g}"


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


def format_interval(ends: tuple[float, float] | None, write: Format) -> str:
    """Return "0.1 to 0.2"; `UNKNOWN` without an interval."""
    return UNKNOWN if ends is None else f"{write(ends[0])} to {write(ends[1])}"


def format_plain(number: float) -> str:
    """Return a number of an axis or a range: whole numbers with all digits, others with six."""
    return f"{number:,.0f}" if number.is_integer() and abs(number) < _MAX_WHOLE else f"{number:,.6g}"
