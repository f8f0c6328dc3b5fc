"""The exact law of a silo's message, in closed form."""

import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import lru_cache

from encoders.mechanisms.counted_table import CountedTable, CountTable

ScaleOf = Callable[[CountedTable, int, Sequence[int]], Fraction]
"""Returns the scale of the noise in a cell, of a message with some exact counts."""


@lru_cache(maxsize=4096)
def clamped_law(count: int, scale: Fraction, clamp: tuple[int, int]) -> list[float]:
    """Return the logarithm of the probability of each value of a cell, from the least on, in closed form."""
    low, high = clamp
    if not scale:
        return [0.0 if value == count else -math.inf for value in range(low, high + 1)]
    rate = float(1 / scale)
    density = math.log(math.tanh(rate / 2))  # (1 - a) / (1 + a)
    tail = -math.log1p(math.exp(-rate))  # P[z >= m] = a^m / (1 + a) for m >= 1, and likewise below
    inner = [density - rate * abs(value - count) for value in range(low + 1, high)]
    return [tail - rate * (count - low), *inner, tail - rate * (high - count)]


def planned_scale(table: CountedTable, _cell: int, _counts: Sequence[int]) -> Fraction:
    """Return the scale that the plan states."""
    return table.scale


def worst_log_ratio(
    mechanism: CountTable, counts: Sequence[int], others: Sequence[int], scale_of: ScaleOf = planned_scale
) -> float:
    """Return the greatest log ratio of the probabilities of one message, over all messages.

    Cells are independent, so the worst message has the worst value in each cell.
    """
    return sum(
        _worst_of_cell(
            *((found[cell], scale_of(each, cell, found)) for found in (counts, others)), each.clamp
        )
        for each in mechanism.tables
        for cell in range(each.start, each.end)
    )


@lru_cache(maxsize=65536)
def _worst_of_cell(one: tuple[int, Fraction], other: tuple[int, Fraction], clamp: tuple[int, int]) -> float:
    laws = clamped_law(*one, clamp), clamped_law(*other, clamp)
    return max(p - q for p, q in zip(*laws, strict=True) if p > -math.inf)
