"""Unary encoding: one bit per value of the domain, each randomised independently (SUE, OUE)."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from typing import TYPE_CHECKING, Any, ClassVar, Self

from encoders.epsilon_proof import exp_bounds
from encoders.lazy_numpy import ByteArray, IntArray, NDArray, np
from encoders.mechanisms.base import TABLE_DESIGN, BitsLaw, MechanismParameters
from encoders.mechanisms.frequency_oracle import BitVector
from encoders.mechanisms.probability_text import percent
from encoders.probability_tables import bit_ratio
from encoders.randomness import RandomSource

if TYPE_CHECKING:
    Words = NDArray[np.unsignedinteger[Any]]

ComparisonSteps = tuple[tuple[int, int, int], ...]
"""Steps to compare draws with a threshold, lowest bit first: slice, its shift, the threshold's bit."""


class Unary(BitVector):
    """Reports d bits: the bit of the true value is 1 with probability p, every other with probability q.

    Each bit is the comparison of a draw of `bits` bits with a threshold. The draws are bit-sliced: slice j,
    of ceil(d/8) bytes, contains bit j (the least significant first) of all d draws. One pass over the
    slices computes "draw < threshold" for all positions at once, independently of the value.

    The payload is the vector, see :class:`BitVector`.
    """

    _keys = frozenset({"bits", "p", "q"})

    def __init__(self, domain: int, parameters: MechanismParameters) -> None:
        super().__init__(domain, parameters)
        self._require_keys(*self._keys)
        self._bits = self._integer("bits", 1, 64)
        whole = 1 << self._bits
        self._q = self._integer("q", 1, whole - 1)
        self._p = self._integer("p", self._q + 1, whole - 1)
        self.random_bytes = self._bits * self.payload_bytes
        self.ratio = bit_ratio(self._bits, self._p, self._q)
        self._set_probabilities(Fraction(self._p, whole), Fraction(self._q, whole))
        self._all_ones = (1 << 8 * self.random_bytes) - 1
        self._steps_p, self._steps_q = self._comparison_steps(self._p), self._comparison_steps(self._q)

    @classmethod
    def _from_probabilities(cls, domain: int, p: Fraction, q: Fraction, **more: str) -> Self:
        bits, big, small = TABLE_DESIGN.load().bit_thresholds(p, q)
        return cls(domain, {"bits": str(bits), "p": str(big), "q": str(small), **more})

    def _comparison_steps(self, threshold: int) -> ComparisonSteps:
        """Return the steps to decide "draw < threshold", from the threshold's lowest set bit on."""
        first, width = (threshold & -threshold).bit_length() - 1, 8 * self.payload_bytes
        return tuple((j, j * width, threshold >> j & 1) for j in range(first, self._bits))

    def perturb(self, value: int, rng: RandomSource) -> bytes:
        flipped = int.from_bytes(rng.take(self.random_bytes), "little") ^ self._all_ones
        ones, others = _below(flipped, self._steps_p), _below(flipped, self._steps_q)
        bits = others ^ ((ones ^ others) & (1 << int(value)))
        return (bits & self._mask).to_bytes(self.payload_bytes, "little")

    def describe_output(self, value: int) -> str:
        p, q = (percent(Fraction(ones, 1 << self._bits)) for ones in (self._p, self._q))
        answers = f"a yes or a no for each of the {self.domain} possible answers"
        return f"{answers}; a yes has probability {p} for the true answer, {q} for every other"

    def _perturb_block(self, values: IntArray, rng: RandomSource) -> ByteArray:
        rows, width = np.arange(len(values)), self.payload_bytes
        draws = np.frombuffer(rng.take(len(values) * self.random_bytes), np.uint8)
        word = next(size for size in (8, 4, 2, 1) if width % size == 0)
        slices = list(~np.moveaxis(draws.reshape(-1, self._bits, width).view(f"<u{word}"), 1, 0))
        ones = _below_each(slices, self._steps_p).view(np.uint8)
        payloads = _below_each(slices, self._steps_q).view(np.uint8)
        byte, own = values >> 3, (1 << (values & 7)).astype(np.uint8)
        payloads[rows, byte] = (payloads[rows, byte] & ~own) | (ones[rows, byte] & own)
        payloads[:, -1] &= self._mask >> 8 * (width - 1)
        return payloads

    def _describe_bits(self) -> BitsLaw:
        p, q = (Fraction(ones, 1 << self._bits) for ones in (self._p, self._q))
        return self.domain, q, (p, p), None

    def likelihood(self, payload: bytes) -> list[Fraction]:
        """Return P[payload | v] for every v: P[payload | all 0], with the factor of bit v replaced."""
        vector, whole = int.from_bytes(payload, "little"), 1 << self._bits
        ones = vector.bit_count()
        noise = Fraction(self._q, whole) ** ones * Fraction(whole - self._q, whole) ** (self.domain - ones)
        if_one = noise * Fraction(self._p, self._q)
        if_zero = noise * Fraction(whole - self._p, whole - self._q)
        return [if_one if vector >> v & 1 else if_zero for v in range(self.domain)]


class SUE(Unary):
    """Basic RAPPOR: p = e^(eps/2)/(e^(eps/2)+1), q = 1-p (Yilmaz et al. 2019, section 2.2.1)."""

    name: ClassVar[str] = "SUE"

    @classmethod
    def design(cls, domain: int, epsilon: Decimal, option: Decimal | None = None) -> Self:
        """Return the mechanism that spends half of `epsilon` on each of the two bits that differ."""
        q = 1 / (exp_bounds(epsilon / 2)[0] + 1)
        return cls._from_probabilities(domain, 1 - q, q)


class OUE(Unary):
    """p = 1/2, q = 1/(e^eps+1) (Wang et al. 2017; Yilmaz et al. 2019, section 2.2.1)."""

    name: ClassVar[str] = "OUE"

    @classmethod
    def design(cls, domain: int, epsilon: Decimal, option: Decimal | None = None) -> Self:
        """Return the mechanism with p = 1/2 and the smallest q that `epsilon` allows."""
        q = 1 / (exp_bounds(epsilon)[0] + 1)
        return cls._from_probabilities(domain, Fraction(1, 2), q)


def _below(flipped: int, steps: ComparisonSteps) -> int:
    """Compare all draws with a threshold at once; the highest bit in which they differ decides.

    `flipped` is the complement of all slices: a draw with a 0 where the threshold has a 1 is below it. The
    result is in the lowest slice; the caller masks the bits above it.
    """
    (_, first, _), *rest = steps
    below = flipped >> first
    for _, shift, bit in rest:
        if bit:
            below |= flipped >> shift
        else:
            below &= flipped >> shift
    return below


def _below_each(flipped: list[Words], steps: ComparisonSteps) -> Words:
    """Compare the draws of a population, one array of words per slice; see :func:`_below`."""
    (first, _, _), *rest = steps
    below = flipped[first]
    for j, _, bit in rest:
        below = below | flipped[j] if bit else below & flipped[j]
    return below
