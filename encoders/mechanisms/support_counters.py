"""Support counters of payloads of bits: how many ones a payload has, and which pairs of bits are both 1.

These counts distinguish fake reports from randomised ones (Cao, Jia and Gong 2021). They are functions
of reports that are already randomised, so they spend no epsilon.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from math import ceil, isqrt
from typing import Any

from encoders.lazy_numpy import ByteArray, IntArray, NDArray, np

MAX_GROUPS = 64
"""Largest number of groups. Up to as many positions have a group each, and more positions share the groups,
because counting all pairs takes d^2/2 counters."""
_SIZE_RANGE_DEVIATIONS = 10
"""Range of the numbers of ones with separate counters, in standard deviations on either side of the mean."""
_BLOCK_ROWS = 1 << 14
_MAX_FLOAT32_ONES = 32
"""Largest number of ones in a group for float32, which is exact to 2^24: sums of products reach 32^2 2^14."""


@dataclass(frozen=True)
class SupportCounters:
    """The distribution of a payload of bits given the true value, and counts of such payloads.

    One bit belongs to the true value; all other bits have the same probability. The bits are independent.
    If the number of ones is fixed, all sets of that many other bits have the same probability instead.
    """

    length: int
    """Number of bits d; bit i is bit i % 8 of byte i // 8."""
    off: Fraction
    """Probability that a bit is 1 if it is not the true value's."""
    own: tuple[Fraction, Fraction]
    """Least and greatest probability that the bit of the true value is 1."""
    ones: int | None = None
    """Number of bits that are 1, if it is fixed."""

    @property
    def pairs(self) -> tuple[Fraction, Fraction]:
        """Probabilities that two bits are both 1: for pairs without and with the true value's bit."""
        if self.ones is None:
            return self.off * self.off, self.own[1] * self.off
        more, others, own = self.ones - 1, self.length - 1, self.own[1]
        with_own = own * more / others
        without = (own * more * (more - 1) + (1 - own) * self.ones * more) / (others * max(others - 1, 1))
        return without, with_own

    @cached_property
    def sizes(self) -> range:
        """Numbers of ones that have a counter; the first and last counter include all numbers beyond."""
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
        return len(self.sizes) + self.groups + self.groups * (self.groups + 1) // 2

    def count(self, payloads: ByteArray) -> IntArray:
        """Return the support counters of checked payloads, shape (m, payload_bytes).

        The counters, int64 (cells,), are the number of payloads of each of `sizes`; the ones in each group;
        and for each pair of groups g <= h, row by row, the sum over the payloads of (ones in g) (ones in h).
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
        """Positions of the entries (g, h) with g <= h in a flattened square matrix over the groups."""
        row, column = np.triu_indices(self.groups)
        return row * self.groups + column

    def _count_group_ones(self, payloads: ByteArray) -> NDArray[Any]:
        bits = np.unpackbits(payloads, axis=1, count=self.length, bitorder="little")
        if self.length <= MAX_GROUPS:
            return bits.astype(np.float32)
        ones = np.zeros((len(bits), MAX_GROUPS), dtype=np.uint16)
        for start in range(0, self.length, MAX_GROUPS):
            block = bits[:, start : start + MAX_GROUPS]
            ones[:, : block.shape[1]] += block
        return ones.astype(np.float32 if self.length <= _MAX_FLOAT32_ONES * MAX_GROUPS else np.float64)
