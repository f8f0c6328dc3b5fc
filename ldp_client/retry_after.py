"""Computes the pause before the next attempt: the collector's Retry-After, and exponential backoff."""

from __future__ import annotations

import os
from collections.abc import Callable

FIRST_BACKOFF_SECONDS = 0.5
MAX_BACKOFF_SECONDS = 300.0
MAX_RETRY_AFTER_SECONDS = 86_400.0
_STEPS_SECONDS = (0.0, 60.0, 3600.0, 28_800.0, MAX_RETRY_AFTER_SECONDS)


def parse_retry_after(retry_after: str, date: str) -> float | None:
    """Return the seconds of a Retry-After header; a date is compared with the response's `Date` header."""
    text = retry_after.strip()
    if text.isascii() and text.isdigit():
        return float(text)
    from email.utils import parsedate_to_datetime  # late: it is rarely needed

    try:
        wait = parsedate_to_datetime(text) - parsedate_to_datetime(date)
    except (ValueError, TypeError, OverflowError):
        return None
    return max(0.0, wait.total_seconds())


def limit_retry_after(seconds: float | None) -> float:
    """Limit the seconds that a collector asks a device to wait: at most a day; 0 if it asks for none."""
    return min(seconds, MAX_RETRY_AFTER_SECONDS) if seconds and seconds > 0 else 0.0  # NaN is not above 0


def round_up_retry_after(seconds: float) -> float:
    """Round seconds up to a step that all devices share; by exact times, a collector could mark a device."""
    return min(step for step in _STEPS_SECONDS if step >= seconds)


def draw_uniform() -> float:
    """Draw a number uniformly from [0, 1); sending times are drawn with it, independently of the report."""
    return int.from_bytes(os.urandom(4), "little") / 2**32


def backoff_limit(failures: int) -> float:
    """Return the longest backoff after a number of failures in a row; it doubles with every failure."""
    return min(MAX_BACKOFF_SECONDS, FIRST_BACKOFF_SECONDS * 2.0 ** min(failures, 16))


def draw_backoff(failures: int, draw: Callable[[], float] = draw_uniform) -> float:
    """Return a pause with full jitter: uniform below the limit."""
    return backoff_limit(failures) * draw()
