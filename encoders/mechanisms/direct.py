"""Direct encoding (DE), also called generalised randomised response (GRR): the payload is one index."""

from __future__ import annotations

import struct
from decimal import Decimal
from fractions import Fraction
from typing import ClassVar, Self

from encoders.composition import Message, round_up
from encoders.lazy_numpy import ByteArray, FloatArray, IntArray, NDArray, np
from encoders.mechanisms.base import TABLE_DESIGN, IndexPayload, MechanismParameters
from encoders.mechanisms.frequency_oracle import FrequencyOracle
from encoders.mechanisms.probability_text import others_text, percent
from encoders.probability_tables import WORD
from encoders.randomness import RandomSource

_DRAWS = struct.Struct("<QQ")
_BYTES = tuple(bytes([index]) for index in range(256))


class DE(IndexPayload, FrequencyOracle):
    """Reports the true value with probability p, each other value with q (Yilmaz et al. 2019, section 2.2.1).

    p = e^eps/(e^eps + d - 1) and q = 1/(e^eps + d - 1), as integers out of 2^64. There are two 64-bit draws.
    If the first is below ``parameters["keep"]``, the true value is reported. Otherwise the second selects
    another value by multiply-shift. Nothing is redrawn, so a report always takes 16 random bytes.

    The payload is the reported index, little-endian, in 1 or 2 bytes.
    """

    name: ClassVar[str] = "DE"
    constant_sum: ClassVar[bool] = True
    random_bytes = 16

    def __init__(self, domain: int, parameters: MechanismParameters) -> None:
        super().__init__(domain, parameters)
        self._require_keys("keep")
        self._keep = self._integer("keep", 1, WORD - 1)
        self._set_indices(domain)
        self._one_byte = self.payload_bytes == 1
        self._others = others = domain - 1
        small, large = WORD // others, -(-WORD // others)
        kept, moved = Fraction(self._keep, WORD), Fraction(WORD - self._keep, WORD)
        self._outputs = outputs = (kept, moved * Fraction(small, WORD), moved * Fraction(large, WORD))
        self.ratio = max(outputs) / min(outputs)
        self._set_probabilities(kept, moved / others)

    @property
    def message(self) -> Message:
        """Bound the report by two values, or by the exact cells of more.

        With p, any two probabilities of one output add up to at most p + 1 times the least one.
        """
        if self.domain == 2:
            return Message(round_up(self.ratio), is_yes_no=True)
        kept, small, large = self._outputs
        p = (large + max(kept, large)) / min(self._outputs) - 1
        total_variation = max(kept - small, large - kept) + (self.domain - 2) * (large - small)
        move = total_variation * (p + 1) / (p - 1) if p > 1 else Fraction(1)
        return Message(round_up(p), min(1.0, round_up(move)))

    @classmethod
    def design(cls, domain: int, epsilon: Decimal, option: Decimal | None = None) -> Self:
        """Choose the largest probability of the truth that `epsilon` allows."""
        return cls(domain, {"keep": str(TABLE_DESIGN.load().keep_threshold(domain, epsilon))})

    def perturb(self, value: int, rng: RandomSource) -> bytes:
        keep_draw, other_draw = _DRAWS.unpack(rng.take(16))
        other = other_draw * self._others >> 64
        reported = (value, other + (other >= value))[keep_draw >= self._keep]
        return _BYTES[reported] if self._one_byte else int(reported).to_bytes(2, "little")

    def describe_output(self, value: int) -> str:
        kept, others = Fraction(self._keep, WORD), self._others
        moved = percent((1 - kept) / others)
        return f"the true answer with probability {percent(kept)}, {others_text(others)} with {moved}"

    def perturb_many(self, values: IntArray, rng: RandomSource) -> ByteArray:
        values = np.asarray(values, dtype=np.int64)
        draws = np.frombuffer(rng.take(16 * len(values)), "<u8").reshape(-1, 2)
        other = multiply_shift(draws[:, 1], self._others).astype(np.int64)
        other += other >= values
        reported = np.where(draws[:, 0] < np.uint64(self._keep), values, other)
        return reported.astype(f"<u{self.payload_bytes}").view(np.uint8).reshape(-1, self.payload_bytes)

    def tally(self, payloads: ByteArray) -> IntArray:
        reported = self._unpack(payloads)
        return np.bincount(reported, minlength=self.domain).astype(np.int64, copy=False)

    def contribution(self, payload: bytes) -> list[int]:
        counts = [0] * self.domain
        counts[int.from_bytes(payload, "little")] = 1
        return counts

    cell_range = (0, 1)

    def contribution_range(
        self, weights: FloatArray, times: IntArray | None = None
    ) -> tuple[FloatArray, FloatArray]:
        there = True if times is None else np.asarray(times) > 0
        least = np.min(weights, axis=-1, where=there, initial=np.inf)
        return least, np.max(weights, axis=-1, where=there, initial=-np.inf)

    def likelihood(self, payload: bytes) -> list[Fraction]:
        """Return P[payload | v] for every v, from the exact cell sizes of multiply-shift."""
        reported, others = int.from_bytes(payload, "little"), self._others
        kept, moved = Fraction(self._keep, WORD), Fraction(WORD - self._keep, WORD)
        # of the others of v, the reported value is number `reported` if v is larger, one less if v is smaller
        above = moved * Fraction(cell_size(reported, others), WORD) if reported < others else kept
        below = moved * Fraction(cell_size(reported - 1, others), WORD) if reported else kept
        return [below] * reported + [kept] + [above] * (others - reported)


def cell_size(index: int, cells: int) -> int:
    return -(-(index + 1) * WORD // cells) - -(-index * WORD // cells)


def multiply_shift(draws: NDArray[np.uint64], cells: int) -> NDArray[np.uint64]:
    """Return (draw * cells) >> 64 exactly, in 32-bit halves (cells < 2^32)."""
    half, low_mask, factor = np.uint64(32), np.uint64(0xFFFFFFFF), np.uint64(cells)
    carry = ((draws & low_mask) * factor) >> half
    return ((draws >> half) * factor + carry) >> half
