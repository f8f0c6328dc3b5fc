"""Searches for the smallest number, of people or of something else, that is enough."""

from __future__ import annotations

import math
from collections.abc import Callable

from encoders.errors import LdpError
from ldp_aggregator.wording.values import round_up

MAX_USERS = 10**12
_DIGITS = 3
_FIRST_GUESS = 1_000
_MAX_RATIO = 100.0


class SizeError(LdpError):
    """A requirement on margins or accuracy that no number of people fulfils."""


def find_min_users(excess: Callable[[int], float]) -> int:
    """Return the smallest number of people that is enough, rounded up to three digits.

    `excess` returns the factor by which margins are too large for a number of people; at most 1 if they are
    enough. The search assumes that it falls about with the root of that number, as margins do.
    Raises SizeError if MAX_USERS people are not enough.
    """
    low, high, users = 0, 0, _FIRST_GUESS
    while not high or high - low > 1 + high // 10**_DIGITS:
        ratio = excess(users)
        low, high = (low, users) if ratio <= 1 else (users, high)
        if low >= MAX_USERS:
            raise SizeError(f"not even {MAX_USERS:,} people are enough")
        # slightly beyond the guess, so that the bounds converge from both sides
        guess = users * min(ratio, _MAX_RATIO) ** 2 * (1 + math.copysign(0.3 / 10**_DIGITS, ratio - 1))
        users = min(math.ceil(guess), MAX_USERS)
        if high and not low < users < high:
            users = min(max(math.isqrt(low * high), low + 1), high - 1)
    return round_up(high, _DIGITS)


def find_smallest(low: int, high: int, is_enough: Callable[[int], bool]) -> int | None:
    """Return the smallest of low, ..., high that is enough, as all above it; None if `high` is not enough."""
    if low > high or not is_enough(high):
        return None
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if is_enough(middle) else (middle + 1, high)
    return low
