"""Laplace noise on every slot of the vector of numbers and classes: for all numbers at once, or for one."""

from __future__ import annotations

import struct
from bisect import bisect_right
from decimal import Decimal
from fractions import Fraction
from functools import cached_property, lru_cache
from itertools import accumulate, product
from math import prod
from typing import Any, ClassVar, Self

from encoders.errors import SurveyError
from encoders.lazy_numpy import ByteArray, FloatArray, IntArray, np
from encoders.mechanisms.base import TABLE_DESIGN, IntegerVectorPayload, MechanismParameters, Number
from encoders.mechanisms.numeric_base import GRID, GRID_BITS, ROUNDING, NumericDomain, NumericMechanism
from encoders.mechanisms.probability_text import noise_text, percent
from encoders.probability_tables import WORD, laplace_cells, laplace_cumulative
from encoders.randomness import RandomSource

_MAX_GRID_STEPS, _MIN_SCALE_STEPS = 64, 8
"""Limits of the steps of the grid per unit: the fewest steps with a noise scale of 8 steps, where rounding to
the grid adds less than .2% to the noise, but at most 64."""
_MIN_SCALE = Decimal(1) / 8
"""Smallest scale of the noise. The tail of the tables ends at 22 scales. At a smaller scale, less of that is
left beyond the range of 2 units, and clamping biases the mean more: at this scale by up to 2e-4."""
MAX_NUMBERS = 100
"""Largest number of numbers asked for at once; each adds up to 39 digits to the exact ratio in the plan."""
_MAX_PROOF_WORK = 1 << 15
"""Largest product of steps and weights, a third above what any scale needs. It limits the time to prove an
untrusted plan."""


class Laplace(IntegerVectorPayload, NumericMechanism):
    """Reports all n numbers of a row at once, with noise of scale 2n/eps in each slot.

    Approach 1 of Yilmaz et al. 2019, section 2.2.3. Two rows differ by at most 2 per number in L1: from x to
    -x in one slot, or from x to 0 in one slot and from 0 to x' in another. The noise is discrete Laplace on a
    grid of `steps` per unit. A number is first rounded to the grid, up or down at random, without bias.
    Outputs are clamped to values that every input can give.

    The payload is one little-endian signed 16-bit integer per slot: for each number its k classes, then k
    more slots if it may be missing. Randomness: a 64-bit draw per number to round it, then one per slot.
    """

    name: ClassVar[str] = "laplace"
    multivariate: ClassVar[bool] = True

    def __init__(self, domain: NumericDomain, parameters: MechanismParameters) -> None:
        super().__init__(domain, parameters)
        self._require_keys("steps", "weights")
        if not 1 <= len(domain.missing) <= MAX_NUMBERS:
            raise SurveyError(f"{self.name} asks for 1 to {MAX_NUMBERS} numbers at once")
        self._steps_per_unit = self._integer("steps", 1, _MAX_GRID_STEPS)
        weights = self._read_weights()
        self._max_output = len(weights) - 1 - self._steps_per_unit
        if self._steps_per_unit.bit_count() != 1 or not 0 < self._max_output < 1 << 15:
            raise SurveyError(f"{self.name} tables need a power of two of steps, and more weights than steps")
        if self._steps_per_unit * len(weights) > _MAX_PROOF_WORK:
            raise SurveyError(f"{self.name} tables of this scale need fewer steps: compile the survey again")
        self._weights = weights
        self._ends = laplace_cumulative(weights)
        self._slot_laws = _slot_laws(weights, self._steps_per_unit)
        self._fraction_bits = GRID_BITS - self._steps_per_unit.bit_length()
        self._slot_starts = [0, *accumulate(domain.labels * (1 + absent) for absent in domain.missing)][:-1]
        self.component_range = (-self._max_output, self._max_output)
        self.cells = domain.slots
        self.payload_bytes, self.random_bytes = 2 * domain.slots, 8 * (len(domain.missing) + domain.slots)
        self._draws = struct.Struct(f"<{len(domain.missing) + domain.slots}Q")
        self._vector = struct.Struct(f"<{domain.slots}h")
        self.ratio = _worst_ratio(weights, self._steps_per_unit, domain.low) ** len(domain.missing)

    @classmethod
    def design(cls, domain: NumericDomain, epsilon: Decimal) -> Self:
        """Return the mechanism with discrete Laplace noise of scale 2n/epsilon."""
        scale, steps = 2 * len(domain.missing) / epsilon, 1
        if scale < _MIN_SCALE:
            raise SurveyError(
                f"{cls.name} supports epsilon up to 16 per number: set mechanism.numeric = "
                '"piecewise", or choose a smaller epsilon'
            )
        while steps < _MAX_GRID_STEPS and scale * steps < _MIN_SCALE_STEPS:
            steps *= 2
        weights = TABLE_DESIGN.load().laplace_weights(scale * steps)
        return cls(domain, {"steps": str(steps), "weights": [str(weight) for weight in weights]})

    # -- the device ------------------------------------------------------------------------

    def perturb(self, value: Any, rng: RandomSource) -> bytes:
        """Randomise the numbers and their class; every slot is treated alike."""
        draws = self._draws.unpack(rng.take(self.random_bytes))
        numbers = len(self.domain.missing)
        vector = [0] * self.domain.slots
        for each, start, draw in zip(self._as_tuple(value), self._slot_starts, draws, strict=False):
            slot, code = self.domain.split(each)
            up = draw >> 64 - self._fraction_bits < code & (1 << self._fraction_bits) - 1
            vector[start + slot] = (code >> self._fraction_bits) + up - self._steps_per_unit
        far, size = len(self._weights) - 1, self._max_output
        noise = [bisect_right(self._ends, draw) - far for draw in draws[numbers:]]
        noisy = [min(max(x + z, -size), size) for x, z in zip(vector, noise, strict=True)]
        return self._vector.pack(*noisy)

    def describe_output(self, value: Any) -> str:
        held = [self._describe_slot(self.domain.split(each)[1]) for each in self._as_tuple(value)]
        empty = noise_text(self._slot_laws[0], self._max_output)
        return (
            f"a whole number for each of {self.domain.slots_text}: {', '.join(held)} plus noise in the true "
            f"place{'s' * (len(held) > 1)}, where {self.domain.low * self._steps_per_unit} stands for the "
            f"lowest and {self._steps_per_unit} for the highest number; only noise in every other. The noise "
            f"is {empty}"
        )

    def _describe_slot(self, code: int) -> str:
        x, rest = self._rounded(code)
        return f"{x} (or {x + 1}, with probability {percent(rest)})" if rest else f"{x}"

    def _as_tuple(self, value: Any) -> tuple[int, ...]:
        return tuple(value)

    def perturb_many(self, values: IntArray, rng: RandomSource) -> ByteArray:
        numbers, slots = len(self.domain.missing), self.domain.slots
        values = np.asarray(values, dtype=np.int64).reshape(-1, numbers)
        draws = np.frombuffer(rng.take(len(values) * self.random_bytes), "<u8").reshape(-1, numbers + slots)
        own, code = self.domain.split_many(values)
        rest = (draws[:, :numbers] >> np.uint64(64 - self._fraction_bits)).astype(np.int64)
        up = rest < (code & (1 << self._fraction_bits) - 1)
        vectors = np.searchsorted(np.array(self._ends, dtype=np.uint64), draws[:, numbers:], side="right")
        vectors -= len(self._weights) - 1
        rows = np.arange(len(values))[:, None]
        vectors[rows, own + np.array(self._slot_starts)] += (
            (code >> self._fraction_bits) + up - self._steps_per_unit
        )
        clamped = np.clip(vectors, -self._max_output, self._max_output).astype("<i2")
        return clamped.view(np.uint8).reshape(-1, self.payload_bytes)

    # -- the collector and the trainer -----------------------------------------------------

    def contribution_range(self, weights: FloatArray) -> tuple[FloatArray, FloatArray]:
        most = self._max_output * abs(weights).sum(axis=-1)
        return -most, most

    @cached_property
    def _slot_scale(self) -> float:
        """Mean of a slot that contains a 1: `steps`, slightly reduced by clamping."""
        return float(self._moment(self._steps_per_unit, 1))

    @cached_property
    def _noise_variance(self) -> float:
        return float(self._moment(0, 2)) / self._slot_scale**2

    def _moment(self, x: int, power: int) -> Fraction:
        law = enumerate(self._slot_laws[x], -self._max_output)
        return Fraction(sum(y**power * weight for y, weight in law), WORD)

    def moments(self, totals: IntArray, n: int) -> FloatArray:
        return self.domain.arrange(totals / (self._slot_scale * n))

    def slot_variance(self, share: Number, first: Number, second: Number) -> Number:
        """Return noise + rounding + E[x^2 1(class)] - first^2; see :meth:`NumericMechanism.slot_variance`."""
        return self._noise_variance + share * (ROUNDING / self._slot_scale**2) + second - first**2

    # -- the auditor -----------------------------------------------------------------------

    @property
    def corners(self) -> list[Any]:
        """Return every grid point in every class; for several numbers all combinations, so use few."""
        step = GRID // self._steps_per_unit
        codes = [range(GRID * (1 + self.domain.low), 2 * GRID + 1, step)] * len(self.domain.missing)
        listed = [
            [*each, *([2 * GRID + 1] if absent else [])]
            for each, absent in zip(codes, self.domain.missing, strict=True)
        ]
        k = self.domain.labels
        return [self._as_value([code * k + c for code in row]) for c in range(k) for row in product(*listed)]

    def _as_value(self, values: list[int]) -> Any:
        return tuple(values)

    def probability(self, payload: bytes, value: Any) -> Fraction:
        vector = self._vector.unpack(payload)
        empty = prod(self._slot_laws[0][y + self._max_output] for y in vector)
        found = Fraction(empty, WORD ** len(vector))
        for each, start in zip(self._as_tuple(value), self._slot_starts, strict=True):
            slot, code = self.domain.split(each)
            cell = vector[start + slot] + self._max_output
            x, rest = self._rounded(code)
            held = (1 - rest) * self._slot_laws[x][cell] + (
                rest * self._slot_laws[x + 1][cell] if rest else 0
            )
            found *= held / self._slot_laws[0][cell]
        return found

    def _rounded(self, code: int) -> tuple[int, Fraction]:
        """Return the grid point at or below a number, and the probability of rounding up."""
        rest = code & (1 << self._fraction_bits) - 1
        return (code >> self._fraction_bits) - self._steps_per_unit, Fraction(rest, 1 << self._fraction_bits)


class SampledLaplace(Laplace):
    """One number of the row, drawn independently of it; approach 3 of Yilmaz et al. 2019, section 2.2.3."""

    name: ClassVar[str] = "sampled-laplace"
    multivariate: ClassVar[bool] = False

    def _as_tuple(self, value: Any) -> tuple[int, ...]:
        return (value,)

    def _as_value(self, values: list[int]) -> Any:
        return values[0]


@lru_cache(maxsize=8)
def _slot_laws(weights: tuple[int, ...], grid: int) -> dict[int, list[int]]:
    """Return the distribution of a slot, out of 2^64 on -size, ..., size, for each grid point in it."""
    cells, far = laplace_cells(weights), len(weights) - 1
    size, laws = far - grid, {}
    for x in range(-grid, grid + 1):
        first, last = far - size - x, far + size - x  # limits of the noise that is not clamped
        inner = cells[first + 1 : last]
        laws[x] = [sum(cells[: first + 1]), *inner, sum(cells[last:])]
    return laws


@lru_cache(maxsize=16)
def _worst_ratio(weights: tuple[int, ...], grid: int, low: int) -> Fraction:
    """Return the worst likelihood ratio of two values of one number, in the same slot or in two slots.

    If the number has only one slot, in a survey without a label, the ratio is an upper bound.
    """
    laws = _slot_laws(weights, grid)
    held = [laws[x] for x in range(low * grid, grid + 1)]
    most, least = (
        [max(each) for each in zip(*held, strict=True)],
        [min(each) for each in zip(*held, strict=True)],
    )
    stay, come, go = (
        max(Fraction(top, bottom) for top, bottom in zip(*pair, strict=True))
        for pair in ((most, least), (most, laws[0]), (laws[0], least))
    )
    return max(stay, come * go)
