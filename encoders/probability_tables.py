"""Integer probability tables: mechanisms draw from them, and estimators compute from them.

Floating-point noise leaks the input, so a mechanism is a finite table of integers out of a power of
two. :mod:`encoders.table_design` makes them, and :mod:`encoders.epsilon_proof` proves what they spend.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from itertools import accumulate

WORD = 1 << 64
"""Number of values of a 64-bit draw: probabilities of whole words are integers out of this."""

MAX_LAPLACE_WEIGHTS = 1 << 14
"""Largest number of weights of a Laplace table; with a tail of 2^-32, the largest scale needs 11,000."""


def bit_ratio(bits: int, p: int, q: int) -> Fraction:
    """Return the exact worst likelihood ratio of a unary report: one bit becomes 0, another becomes 1."""
    whole = 1 << bits
    return Fraction(p * (whole - q), q * (whole - p))


def laplace_cells(weights: Sequence[int]) -> list[int]:
    """Return the weights of z = -K, ..., K from those of the magnitudes; they add up to 2^64."""
    return [*reversed(weights[1:]), *weights]


def laplace_cumulative(weights: Sequence[int]) -> list[int]:
    """Return the cumulative weights of z = -K, ..., K-1: z + K is the number of them <= a 64-bit draw."""
    return list(accumulate(laplace_cells(weights)))[:-1]


def shifted_cells(weights: Sequence[int]) -> tuple[list[int], list[int]]:
    """Return the exact distributions, out of 2^64, of clamp(0 + z) and clamp(1 + z) on -(K-1), ..., K."""
    cells = laplace_cells(weights)
    zero = [cells[0] + cells[1], *cells[2:]]
    one = [*cells[:-2], cells[-2] + cells[-1]]
    return zero, one
