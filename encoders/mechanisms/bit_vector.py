"""Payloads with one bit per value: the common part of unary encoding and subset selection."""

from __future__ import annotations

from abc import abstractmethod

from encoders.arrays import ByteArray, IntArray, np
from encoders.mechanisms.base import MechanismParameters
from encoders.mechanisms.frequency_oracle import FrequencyOracle
from encoders.randomness import RandomSource

_BLOCK_ROWS = 4096
"""Number of reports that are randomised at a time, so that their draws stay in the processor's cache."""


class BitVector(FrequencyOracle):
    """An oracle whose payload is a vector of bits: value i is bit i % 8 of byte i // 8; unused bits are 0."""

    def __init__(self, domain: int, parameters: MechanismParameters) -> None:
        super().__init__(domain, parameters)
        self.payload_bytes = (domain + 7) // 8
        self._mask = (1 << domain) - 1

    def perturb_many(self, values: IntArray, rng: RandomSource) -> ByteArray:
        """Randomise a population; see :meth:`Mechanism.perturb_many`."""
        values = np.asarray(values, dtype=np.int64)
        payloads = np.empty((len(values), self.payload_bytes), dtype=np.uint8)
        for start in range(0, len(values), _BLOCK_ROWS):
            block = slice(start, start + _BLOCK_ROWS)
            payloads[block] = self._perturb_block(values[block], rng)
        return payloads

    @abstractmethod
    def _perturb_block(self, values: IntArray, rng: RandomSource) -> ByteArray:
        """Randomise one block of values."""

    def tally(self, payloads: ByteArray) -> IntArray:
        """Return the number of ones at every position; see :meth:`Mechanism.tally`."""
        return count_bits(payloads, self.domain)

    def contribution(self, payload: bytes) -> list[int]:
        """Return the bits as a list; see :meth:`Mechanism.contribution`."""
        return unpack_bits(payload, self.domain)

    cell_range = (0, 1)


def count_bits(payloads: ByteArray, length: int) -> IntArray:
    """Return the number of ones at every position, computed from a histogram of each byte."""
    table = np.unpackbits(np.arange(256, dtype=np.uint8)[:, None], axis=1, bitorder="little")
    bits_of = table.astype(np.int64)
    columns = [np.bincount(column, minlength=256) @ bits_of for column in payloads.T]
    return np.concatenate(columns)[:length].astype(np.int64, copy=False)


def unpack_bits(payload: bytes, length: int) -> list[int]:
    """Return the bits of one payload in the order of positions."""
    vector = int.from_bytes(payload, "little")
    return [vector >> index & 1 for index in range(length)]
