"""A number as the bias of a coin: one coin, of Nguyen et al. (onebit), or a coin per slot (sign-vector).

The coin of a slot that contains x is 1 with probability 1/2 + x/2 (e^eps - 1)/(e^eps + 1). In integers, it is
1 if a 64-bit draw is below q + floor((2^64 - 2q)(x + 1)/2), which is always in [q, 2^64 - q]. The coin of an
empty slot, x = 0, is exactly fair.
"""

from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction
from typing import ClassVar, Self

from encoders.epsilon_proof import exp_bounds
from encoders.lazy_numpy import ByteArray, FloatArray, IntArray, NDArray, np
from encoders.mechanisms.base import BitsLaw, BitsPayload, IndexPayload, MechanismParameters, Number
from encoders.mechanisms.direct import cell_size, multiply_shift
from encoders.mechanisms.numeric_base import GRID, GRID_BITS, NumericDomain, NumericMechanism
from encoders.mechanisms.probability_text import percent
from encoders.probability_tables import WORD
from encoders.randomness import RandomSource


class _Coin(NumericMechanism):
    """The common part of both mechanisms: the coin of one slot."""

    def __init__(self, domain: NumericDomain, parameters: MechanismParameters) -> None:
        super().__init__(domain, parameters)
        self._require_keys("q")
        self._q = self._integer("q", 1, WORD // 2 - 1)
        self._span = WORD - 2 * self._q
        self.ratio = Fraction(WORD - self._q, self._q)
        self._bias = self._span / WORD
        self.cells = domain.slots

    @classmethod
    def design(cls, domain: NumericDomain, epsilon: Decimal) -> Self:
        return cls(domain, {"q": str(math.ceil(WORD / (exp_bounds(epsilon)[0] + 1)))})

    def _threshold(self, code: int) -> int:
        return self._q + (self._span * code >> GRID_BITS)

    def _threshold_array(self, codes: IntArray) -> NDArray[np.uint64]:
        """Return the thresholds of an array of codes; the product is computed in two halves of 32 bits."""
        high, low = np.uint64(self._span >> 32), np.uint64(self._span & 0xFFFFFFFF)
        code, shift = codes.astype(np.uint64), np.uint64(GRID_BITS)
        scaled = (high * code << np.uint64(32 - GRID_BITS)) + (low * code >> shift)
        return np.uint64(self._q) + scaled

    def _coin_probability(self, bit: int, code: int) -> Fraction:
        ones = self._threshold(code)
        return Fraction(ones if bit else WORD - ones, WORD)

    def _describe_coins(self, value: int) -> str:
        _, code = self.domain.split(value)
        own, other = (percent(self._coin_probability(1, each)) for each in (code, GRID))
        return f"a yes has probability {own} in the true place, {other} in every other"


class OneBit(IndexPayload, _Coin):
    """Reports one coin, for a slot that is drawn independently of the answer.

    Nguyen et al. (2016); approach 2 of Yilmaz et al. 2019, section 2.2.3. If the slot depended on the class,
    it would reveal the class. There are two 64-bit draws: for the slot, by multiply-shift, and for its coin.

    The payload is 2 slot + bit, little-endian, in 1 or 2 bytes. The estimate of a slot's mean is
    slots (e^eps + 1)/(e^eps - 1) times the mean of +1 or -1.
    """

    name: ClassVar[str] = "onebit"
    random_bytes = 16

    def __init__(self, domain: NumericDomain, parameters: MechanismParameters) -> None:
        super().__init__(domain, parameters)
        self._set_indices(2 * domain.slots)
        if domain.low == 0:  # a square's coin is never worse than fair, so less than epsilon is spent
            self.ratio = Fraction(WORD // 2, self._q)

    def perturb(self, value: int, rng: RandomSource) -> bytes:
        own, code = self.domain.split(value)
        draws = rng.take(16)
        slot = int.from_bytes(draws[:8], "little") * self.domain.slots >> 64
        asked = (GRID, code)[slot == own]
        bit = int.from_bytes(draws[8:], "little") < self._threshold(asked)
        return (2 * slot + bit).to_bytes(self.payload_bytes, "little")

    def describe_output(self, value: int) -> str:
        return (
            f"a yes or a no for only one of {self.domain.slots_text}, which is drawn without looking at the "
            f"answer; {self._describe_coins(value)}"
        )

    def perturb_many(self, values: IntArray, rng: RandomSource) -> ByteArray:
        own, codes = self.domain.split_many(values)
        draws = np.frombuffer(rng.take(16 * len(own)), "<u8").reshape(-1, 2)
        slots = multiply_shift(draws[:, 0], self.domain.slots).astype(np.int64)
        bits = draws[:, 1] < self._threshold_array(np.where(slots == own, codes, GRID))
        reported = (2 * slots + bits).astype(f"<u{self.payload_bytes}")
        return reported.view(np.uint8).reshape(-1, self.payload_bytes)

    def tally(self, payloads: ByteArray) -> IntArray:
        reported = self._unpack(payloads)
        counts = np.bincount(reported, minlength=2 * self.domain.slots).astype(np.int64, copy=False)
        return counts[1::2] - counts[::2]

    def contribution(self, payload: bytes) -> list[int]:
        slot, bit = divmod(int.from_bytes(payload, "little"), 2)
        counts = [0] * self.domain.slots
        counts[slot] = 2 * bit - 1
        return counts

    def contribution_range(self, weights: FloatArray) -> tuple[FloatArray, FloatArray]:
        most = abs(weights).max(axis=-1)
        return -most, most

    def moments(self, totals: IntArray, n: int) -> FloatArray:
        return self.domain.arrange(totals / (self._bias * n / self.domain.slots))

    def slot_variance(self, share: Number, first: Number, second: Number) -> Number:
        """Return slots / bias^2 - first^2; see :meth:`NumericMechanism.slot_variance`."""
        return self.domain.slots / self._bias**2 - first**2

    def probability(self, payload: bytes, value: int) -> Fraction:
        slot, bit = divmod(int.from_bytes(payload, "little"), 2)
        own, code = self.domain.split(value)
        drawn = Fraction(cell_size(slot, self.domain.slots), WORD)
        return drawn * self._coin_probability(bit, code if slot == own else GRID)


class SignVector(BitsPayload, _Coin):
    """Reports a coin for every slot: biased by x in the slot of the true class, fair in all others.

    The fair coins hide the class and spend no epsilon, as in the L-infinity mechanism of Duchi, Jordan and
    Wainwright (2018) on a vector with one entry that is not zero. The variance of a slot is
    ((e^eps + 1)/(e^eps - 1))^2 for any number of classes: that of onebit divided by the number of slots. For
    squares with one slot, in a survey without a label, the stated ratio is an upper bound.

    The payload is one bit per slot: slot i is bit i % 8 of byte i // 8; unused bits are 0. Randomness:
    the fair coins in as many bytes as the payload, then a 64-bit draw for the biased coin.
    """

    name: ClassVar[str] = "sign-vector"

    def __init__(self, domain: NumericDomain, parameters: MechanismParameters) -> None:
        super().__init__(domain, parameters)
        self._set_length(domain.slots)
        self.random_bytes = self.payload_bytes + 8

    def perturb(self, value: int, rng: RandomSource) -> bytes:
        own, code = self.domain.split(value)
        draws = rng.take(self.random_bytes)
        coins = int.from_bytes(draws[:-8], "little") & self._mask
        bit = int.from_bytes(draws[-8:], "little") < self._threshold(code)
        vector = (coins & ~(1 << own)) | bit << own
        return vector.to_bytes(self.payload_bytes, "little")

    def describe_output(self, value: int) -> str:
        return f"a yes or a no for each of {self.domain.slots_text}; {self._describe_coins(value)}"

    def perturb_many(self, values: IntArray, rng: RandomSource) -> ByteArray:
        own, codes = self.domain.split_many(values)
        draws = np.frombuffer(rng.take(self.random_bytes * len(own)), np.uint8).reshape(-1, self.random_bytes)
        bits = np.ascontiguousarray(draws[:, -8:]).view("<u8").ravel() < self._threshold_array(codes)
        vectors, rows = draws[:, :-8].copy(), np.arange(len(own))
        vectors[:, -1] &= self._mask >> 8 * (self.payload_bytes - 1)
        byte, index = own >> 3, (own & 7).astype(np.uint8)
        kept = vectors[rows, byte] & ~(np.uint8(1) << index)
        vectors[rows, byte] = kept | bits.astype(np.uint8) << index
        return vectors

    def tally(self, payloads: ByteArray) -> IntArray:
        return 2 * super().tally(payloads) - len(payloads)

    def contribution(self, payload: bytes) -> list[int]:
        return [2 * bit - 1 for bit in super().contribution(payload)]

    def _describe_bits(self) -> BitsLaw:
        biased = Fraction(self._q, WORD)
        return self.domain.slots, Fraction(1, 2), (biased, 1 - biased), None

    def contribution_range(self, weights: FloatArray) -> tuple[FloatArray, FloatArray]:
        most = abs(weights).sum(axis=-1)
        return -most, most

    def moments(self, totals: IntArray, n: int) -> FloatArray:
        return self.domain.arrange(totals / (self._bias * n))

    def slot_variance(self, share: Number, first: Number, second: Number) -> Number:
        """Return 1 / bias^2 - first^2; see :meth:`NumericMechanism.slot_variance`."""
        return 1 / self._bias**2 - first**2

    def probability(self, payload: bytes, value: int) -> Fraction:
        own, code = self.domain.split(value)
        bit = int.from_bytes(payload, "little") >> own & 1
        return self._coin_probability(bit, code) / (1 << self.domain.slots - 1)
