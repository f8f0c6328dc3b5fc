"""How long to wait before the next attempt: exponential backoff with full jitter, and Retry-After."""

from __future__ import annotations

import os
from collections.abc import Callable

from ldp_client.retry_after import limit_retry_after
from ldp_client.transport import Response

FIRST_BACKOFF_SECONDS = 0.5
MAX_BACKOFF_SECONDS = 300.0
CLOSED_PAUSE_SECONDS = (3_600.0, 21_600.0)
"""The shortest and the longest pause after a collector said that the survey is closed."""


def draw_uniform() -> float:
    """Draw uniformly from [0, 1): when to send never depends on what is sent."""
    return int.from_bytes(os.urandom(4), "little") / 2**32


def draw_pause(failures: int, response: Response | None, draw: Callable[[], float] = draw_uniform) -> float:
    """Return the pause after so many failures in a row: no less than the collector asked for."""
    return max(draw_backoff(failures, draw), requested_pause(response))


def requested_pause(response: Response | None) -> float:
    """Return the seconds that the collector asked to wait."""
    return limit_retry_after(response.retry_after if response else None)


def draw_closed_pause(draw: Callable[[], float] = draw_uniform) -> float:
    """Return the pause before a survey that is said to be closed is tried again."""
    shortest, longest = CLOSED_PAUSE_SECONDS
    return shortest + (longest - shortest) * draw()


def draw_backoff(failures: int, draw: Callable[[], float] = draw_uniform) -> float:
    """Return a pause with full jitter: uniform below a limit that doubles with every failure."""
    return min(MAX_BACKOFF_SECONDS, _backoff_limit(failures)) * draw()


def is_longest_backoff(failures: int) -> bool:
    """Return whether the limit of pauses is reached after so many failures in a row."""
    return _backoff_limit(failures) >= MAX_BACKOFF_SECONDS


def _backoff_limit(failures: int) -> float:
    return FIRST_BACKOFF_SECONDS * 2.0 ** min(failures, 16)
