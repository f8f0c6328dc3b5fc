"""The HTTP header Retry-After on the device: parse it, limit it, and round it up."""

from __future__ import annotations

MAX_RETRY_AFTER_SECONDS = 86_400.0
_STEPS_SECONDS = (0.0, 60.0, 3600.0, MAX_RETRY_AFTER_SECONDS)


def parse_retry_after(retry_after: str, date: str) -> float | None:
    """Return the seconds of a Retry-After header; a date is compared with the server's own `Date` header."""
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
    """Return the seconds to wait at the collector's request: at most a day, 0 if it names none."""
    seconds = seconds or 0.0
    return min(seconds, MAX_RETRY_AFTER_SECONDS) if seconds > 0 else 0.0  # a transport may return NaN


def round_up_retry_after(seconds: float) -> float:
    """Round up to a step that all devices share: with exact times, a collector could mark a device."""
    return min(step for step in _STEPS_SECONDS if step >= seconds)
