"""Histogram encoding: a one-hot vector plus Laplace noise, summed (SHE) or thresholded (THE)."""

from __future__ import annotations

import math
import re
import struct
from bisect import bisect_right
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from functools import lru_cache
from typing import ClassVar, Self

from encoders.epsilon_proof import exp_bounds
from encoders.errors import SurveyError
from encoders.lazy_numpy import ByteArray, IntArray, np
from encoders.mechanisms.base import TABLE_DESIGN, IntegerVectorPayload, MechanismParameters
from encoders.mechanisms.frequency_oracle import FrequencyOracle
from encoders.mechanisms.probability_text import noise_text
from encoders.mechanisms.unary import Unary
from encoders.probability_tables import WORD, laplace_cumulative, shifted_cells
from encoders.randomness import RandomSource

_BLOCK_ROWS = 2048
"""Number of reports that are randomised at a time, so that their draws stay in the processor's cache."""


class SHE(IntegerVectorPayload, FrequencyOracle):
    """Summation with histogram encoding: every component gets Laplace noise of scale 2/eps.

    Yilmaz et al. 2019, section 2.2.1. The noise is discrete Laplace on the integers: a 64-bit draw is looked
    up in a cumulative table. Each component is clamped to -(K-1), ..., K, which is possible for both 0 and 1.
    Another value changes two components by one step each: e^(eps/2) * e^(eps/2).

    The payload is d little-endian signed 16-bit integers.
    """

    name: ClassVar[str] = "SHE"

    def __init__(self, domain: int, parameters: MechanismParameters) -> None:
        super().__init__(domain, parameters)
        self._require_keys("weights")
        weights = self._read_weights()
        self._steps = len(weights) - 1
        self.component_range = (1 - self._steps, self._steps)
        noise = _LaplaceNoise.from_weights(weights)
        self._ends, self._clamped = noise.ends, noise.clamped
        self._zero, self._one, self.ratio = noise.zero, noise.one, noise.ratio
        self.payload_bytes, self.random_bytes = 2 * domain, 8 * domain
        self._draws, self._vector = struct.Struct(f"<{domain}Q"), struct.Struct(f"<{domain}h")
        self._set_moments(noise.on, noise.off)

    @classmethod
    def design(cls, domain: int, epsilon: Decimal, option: Decimal | None = None) -> Self:
        """Return the mechanism with discrete Laplace noise of scale 2/epsilon."""
        weights = TABLE_DESIGN.load().laplace_weights(2 / epsilon)
        return cls(domain, {"weights": [str(weight) for weight in weights]})

    def perturb(self, value: int, rng: RandomSource) -> bytes:
        ends, clamped = self._ends, self._clamped
        noise = [bisect_right(ends, draw) for draw in self._draws.unpack(rng.take(self.random_bytes))]
        noise[value] += 1
        return self._vector.pack(*[clamped[index] for index in noise])

    def describe_output(self, value: int) -> str:
        empty = noise_text(self._zero, self._steps - 1)
        return (
            f"a whole number for each of the {self.domain} possible answers: 1 plus noise for the true one, "
            f"only noise for every other. The noise is {empty}"
        )

    def perturb_many(self, values: IntArray, rng: RandomSource) -> ByteArray:
        values = np.asarray(values, dtype=np.int64)
        ends, clamped = np.array(self._ends, dtype=np.uint64), np.array(self._clamped, dtype="<i2")
        payloads = np.empty((len(values), self.domain), dtype="<i2")
        for start in range(0, len(values), _BLOCK_ROWS):
            block = values[start : start + _BLOCK_ROWS]
            draws = np.frombuffer(rng.take(len(block) * self.random_bytes), "<u8")
            index = np.searchsorted(ends, draws, side="right").reshape(-1, self.domain)
            index[np.arange(len(block)), block] += 1
            payloads[start : start + _BLOCK_ROWS] = clamped[index]
        return payloads.view(np.uint8)

    @property
    def cell_range(self) -> tuple[int, int]:
        return self.component_range

    def likelihood(self, payload: bytes) -> list[Fraction]:
        """Return P[payload | v] for every v: P[payload | all 0], with the factor of component v replaced."""
        cells = [component + self._steps - 1 for component in self._vector.unpack(payload)]
        noise = Fraction(math.prod(self._zero[cell] for cell in cells), WORD**self.domain)
        return [noise * Fraction(self._one[cell], self._zero[cell]) for cell in cells]


class THE(Unary):
    """Thresholding with histogram encoding: SHE's vector, with each component replaced by "above theta?".

    p = 1 - e^(-eps(1-theta)/2)/2 and q = e^(-eps theta/2)/2, 0 <= theta <= 1 (Wang et al. 2017;
    Yilmaz et al. 2019, section 2.2.1, prints p's exponent with the wrong sign). The device applies the
    threshold, which can only reveal less: a report is d independent bits, so the mechanism is implemented as
    unary encoding. It spends less than its nominal epsilon. Without a theta, the one with the least variance
    on a grid of .01 is used.
    """

    name: ClassVar[str] = "THE"
    _keys = Unary._keys | {"theta"}

    def __init__(self, domain: int, parameters: MechanismParameters) -> None:
        super().__init__(domain, parameters)
        theta = parameters["theta"]
        if not (isinstance(theta, str) and re.fullmatch(r"0(\.[0-9]{1,6})?|1(\.0{1,6})?", theta)):
            raise SurveyError("THE table 'theta' must be a decimal string between 0 and 1")

    @classmethod
    def design(cls, domain: int, epsilon: Decimal, option: Decimal | None = None) -> Self:
        theta = _best_threshold(float(epsilon)) if option is None else option
        if not 0 <= theta <= 1:
            raise SurveyError("THE's threshold must be between 0 and 1, for example THE(0.25)")
        p = 1 - exp_bounds(-epsilon * (1 - theta) / 2)[1] / 2
        q = exp_bounds(-epsilon * theta / 2)[1] / 2
        return cls._from_probabilities(domain, p, q, theta=str(theta))


def _best_threshold(epsilon: float) -> Decimal:
    def variance(theta: float) -> float:
        p, q = 1 - math.exp(-epsilon * (1 - theta) / 2) / 2, math.exp(-epsilon * theta / 2) / 2
        return q * (1 - q) / (p - q) ** 2

    return Decimal(min(range(101), key=lambda hundredth: variance(hundredth / 100))) / 100


@dataclass(frozen=True)
class _LaplaceNoise:
    """The part of SHE's noise that depends only on the weights, and not on the domain."""

    ends: list[int]
    clamped: list[int]
    zero: list[int]
    one: list[int]
    ratio: Fraction
    on: tuple[Fraction, Fraction]
    off: tuple[Fraction, Fraction]

    @classmethod
    @lru_cache(maxsize=8)
    def from_weights(cls, weights: tuple[int, ...]) -> _LaplaceNoise:
        steps, (zero, one) = len(weights) - 1, shifted_cells(weights)
        odds = [Fraction(a, b) for a, b in zip(one, zero, strict=True)]
        # index: z + K for a zero, one more for a one
        clamped = [min(max(y, 1 - steps), steps) for y in range(-steps, steps + 2)]
        ends, ratio = laplace_cumulative(weights), max(odds) / min(odds)
        return cls(ends, clamped, zero, one, ratio, _law_moments(one), _law_moments(zero))


def _law_moments(law: list[int]) -> tuple[Fraction, Fraction]:
    low = 1 - len(law) // 2
    mean = Fraction(sum(y * weight for y, weight in enumerate(law, low)), WORD)
    square = Fraction(sum(y * y * weight for y, weight in enumerate(law, low)), WORD)
    return mean, square - mean**2
