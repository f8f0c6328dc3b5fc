"""What is counted of payloads made of bits beside their sums: how many ones, and which come together.

These counts distinguish made-up reports from randomised ones (Cao, Jia and Gong 2021). They
are functions of reports that are randomised already, so they cost no epsilon.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from math import ceil, isqrt
from typing import Any

from encoders.arrays import ByteArray, IntArray, NDArray, np

MAX_GROUPS = 64
"""Positions whose pairs are counted one by one; more share as many groups, or there were d^2/2 counters."""
_SIZE_RANGE_DEVIATIONS = 10
"""Standard deviations of the number of ones on either side that have counters of their own."""
_BLOCK_ROWS = 1 << 14
"""Payloads counted at a time."""
_MAX_FLOAT32_ONES = 32
"""Ones in a group up to which float32, exact to 2^24, holds the sum of as many products: 32^2 2^14."""


@dataclass(frozen=True)
class SupportCounters:
    """A payload of bits, given the value: one the owner's, all others alike.

    They are independent, or, if their number is fixed, drawn together: so many of them are 1, and any
    others as likely as any other so many.

    Attributes
    ----------
    length : int
        Number of bits d; bit i is bit i % 8 of byte i // 8.
    off : Fraction
        Probability that a bit which is not the owner's is 1.
    own : pair of Fraction
        Between which the probability lies that the owner's is.
    ones : int or None
        Number of bits that are 1, where it is always the same.
    """

    length: int
    off: Fraction
    own: tuple[Fraction, Fraction]
    ones: int | None = None

    @property
    def pairs(self) -> tuple[Fraction, Fraction]:
        """How likely two bits are both 1: none of them the owner's, and one of them."""
        if self.ones is None:
            return self.off * self.off, self.own[1] * self.off
        more, others, own = self.ones - 1, self.length - 1, self.own[1]
        with_own = own * more / others
        without = (own * more * (more - 1) + (1 - own) * self.ones * more) / (others * max(others - 1, 1))
        return without, with_own

    @cached_property
    def sizes(self) -> range:
        """Numbers of ones that have a counter; the first and the last count what is beyond, too."""
        if self.ones is not None:
            return range(self.ones, self.ones + 1)
        others, off = self.length - 1, self.off
        reach = _SIZE_RANGE_DEVIATIONS * (isqrt(ceil(others * off * (1 - off))) + 1)
        first, last = int(others * off) - reach, ceil(others * off) + 1 + reach
        return range(max(first, 0), min(last, self.length) + 1)

    @property
    def groups(self) -> int:
        """Number of groups of positions: position i is in group i % 64."""
        return min(self.length, MAX_GROUPS)

    @property
    def cells(self) -> int:
        """Length of what `count` returns."""
        return len(self.sizes) + self.groups + self.groups * (self.groups + 1) // 2

    def count(self, payloads: ByteArray) -> IntArray:
        """Return the counters that checked payloads, shape (m, payload_bytes), add to.

        Returns
        -------
        int64 array, shape (cells,)
            How many payloads have each of `sizes`; the ones in each group; and for each pair of groups
            g <= h, row by row, the sum over the payloads of (ones in g) (ones in h).
        """
        counted = np.zeros(self.cells, dtype=np.int64)
        for start in range(0, len(payloads), _BLOCK_ROWS):
            ones = self._count_group_ones(payloads[start : start + _BLOCK_ROWS])
            sums = np.ones(len(ones), ones.dtype) @ ones
            pairs = (ones.T @ ones).take(self._upper_triangle)
            counted += np.concatenate([self._count_sizes(ones), sums, pairs]).astype(np.int64)
        return counted

    def _count_sizes(self, ones: NDArray[Any]) -> IntArray:
        size = (ones @ np.ones(self.groups, ones.dtype)).astype(np.int64)
        if len(self.sizes) <= self.length:
            size = np.clip(size, self.sizes[0], self.sizes[-1]) - self.sizes[0]
        return np.bincount(size, minlength=len(self.sizes))

    @cached_property
    def _upper_triangle(self) -> NDArray[np.intp]:
        """Where the pairs g <= h lie in a matrix that is read row by row."""
        row, column = np.triu_indices(self.groups)
        return row * self.groups + column

    def _count_group_ones(self, payloads: ByteArray) -> NDArray[Any]:
        """Return how many ones each payload has in each group, (m, groups)."""
        bits = np.unpackbits(payloads, axis=1, count=self.length, bitorder="little")
        if self.length <= MAX_GROUPS:
            return bits.astype(np.float32)
        ones = np.zeros((len(bits), MAX_GROUPS), dtype=np.uint16)
        for start in range(0, self.length, MAX_GROUPS):
            block = bits[:, start : start + MAX_GROUPS]
            ones[:, : block.shape[1]] += block
        return ones.astype(np.float32 if self.length <= _MAX_FLOAT32_ONES * MAX_GROUPS else np.float64)
