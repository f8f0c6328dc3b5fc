"""The piecewise mechanism with the class hidden: a report is a class and a number, likely near the truth."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from decimal import Decimal
from fractions import Fraction
from itertools import product
from typing import ClassVar, Self

from encoders.arrays import BoolArray, ByteArray, FloatArray, IntArray, np
from encoders.epsilon_proof import exp_bounds
from encoders.errors import SurveyError
from encoders.mechanisms.base import Number, unpack_indices
from encoders.mechanisms.direct import cell_size, multiply_shift
from encoders.mechanisms.frequency_oracle import MAX_DOMAIN
from encoders.mechanisms.numeric_base import (
    GRID,
    GRID_BITS,
    ROUNDING,
    NumericDomain,
    NumericMechanism,
    arrange_by_slot,
    split_value,
    split_value_array,
)
from encoders.mechanisms.parameters import MechanismParameters, check_keys
from encoders.mechanisms.probability_text import percent
from encoders.probability_tables import WORD
from encoders.randomness import RandomSource

_DRAWS = struct.Struct("<QQQ")
_POSITIONS = 64
_POSITION_BITS = GRID_BITS - _POSITIONS.bit_length()


class Piecewise(NumericMechanism):
    """Wang et al. (2019), with one line of cells per class: near the truth likely, all else alike.

    A number x stands at position t = 64 x on its class's line, a square at 64 (2 x^2 - 1), rounded up or
    down at random. With
    probability `near` the report is one of the 2r + 1 cells around t, else any cell of any line; lines
    reach from -(64 + r) to 64 + r. So E[y 1(line)] = near * t for the own line and 0 for every other,
    and the lines themselves tell of the class. `near` is the largest that epsilon allows, the half_width r
    the one of least variance. Between sign (all noise is rounding) and Laplace (no bounds), and better
    than both from about eps = 1.5 on.

    Three 64-bit draws: to round, to decide, to choose by multiply-shift. The payload is the cell's
    index, line by line, little-endian in 2 bytes. A missing number is a 1 on a line of its own.
    """

    name: ClassVar[str] = "piecewise"
    estimates_prior: ClassVar[bool] = True
    random_bytes, payload_bytes = 24, 2

    def __init__(self, domain: NumericDomain, parameters: MechanismParameters) -> None:
        super().__init__(domain, parameters)
        check_keys(parameters, {"near", "reach"}, self.name)
        self._half_width = self._integer("reach", 0, _POSITIONS)
        self._near = self._integer("near", 1, WORD - 1)
        self._far = _POSITIONS + self._half_width
        self._line, self._window = 2 * self._far + 1, 2 * self._half_width + 1
        self._all = domain.slots * self._line
        if self._all > MAX_DOMAIN:
            raise SurveyError(f"piecewise has at most {MAX_DOMAIN} cells; this many classes need more")
        self.cells = 2 * domain.slots
        self.ratio = 1 + Fraction(self._near, WORD - self._near) * self._max_draw_ratio()
        self._zero, self._double = GRID * (1 + domain.low), int(domain.low == 0)
        self._share = self._near / WORD
        self._unit = self._share * _POSITIONS

    @classmethod
    def design(cls, domain: NumericDomain, epsilon: Decimal) -> Self:
        """Choose half_width and probability of the window; see the class."""
        gain, best = exp_bounds(epsilon)[0], None
        for half_width in range(_POSITIONS + 1):
            window, cells = 2 * half_width + 1, domain.slots * (2 * (_POSITIONS + half_width) + 1)
            if cells > MAX_DOMAIN:
                break
            # 1 + near/(1 - near) cells/window <= gain, in the numbers of draws that make a cell
            odds = (gain - 1) * (WORD // cells) / -(-WORD // window)
            parameters = {"near": str(int(WORD * odds / (1 + odds))), "reach": str(half_width)}
            candidate = cls(domain, parameters)
            if best is None or candidate.reference_variance < best.reference_variance:
                best = candidate
        if best is None:
            raise SurveyError("piecewise has not enough cells for so many classes; use sign-vector")
        return best

    def _max_draw_ratio(self) -> Fraction:
        """Return how many draws inside a window make a cell, per draw anywhere that makes it, at most.

        Multiply-shift makes cells of two sizes, one draw apart, and a size of one sort need not meet
        each size of the other in any cell: the first pair that does, the worst first, is exact.
        """
        inside, anywhere = _sizes(self._window), _sizes(self._all)
        pairs = sorted(product(inside, anywhere), key=lambda pair: Fraction(*pair), reverse=True)
        return next(Fraction(*pair) for pair in pairs if self._sizes_coincide(*pair))

    def _sizes_coincide(self, inside: int, anywhere: int) -> bool:
        return any(
            cell_size(slot * self._line + position + place, self._all) == anywhere
            for place in range(self._window)
            if cell_size(place, self._window) == inside
            for slot in range(self.domain.slots)
            for position in range(2 * _POSITIONS + 1)
        )

    # -- the device ------------------------------------------------------------------------

    def perturb(self, value: int, rng: RandomSource) -> bytes:
        """Randomise one number and its class; all three draws are always used."""
        slot, code = split_value(value, self.domain.labels)
        code = code - self._zero << self._double
        rounding, decision, choice = _DRAWS.unpack(rng.take(24))
        up = rounding >> 64 - _POSITION_BITS < code & (1 << _POSITION_BITS) - 1
        first = slot * self._line + (code >> _POSITION_BITS) + up  # of the window
        near, anywhere = first + (choice * self._window >> 64), choice * self._all >> 64
        reported: int = (anywhere, near)[decision < self._near]
        return reported.to_bytes(2, "little")

    def describe_output(self, value: int) -> str:
        """Tell how likely the window is; see :meth:`Mechanism.describe_output`."""
        near, window, cells = percent(Fraction(self._near, WORD)), self._window, self._all
        return (
            f"one of {cells} points, {self._line} in a line for each of {self.domain.places}: with "
            f"probability {near} one of the {window} around the true one, else any of the {cells}, "
            "each as likely"
        )

    def perturb_many(self, values: IntArray, rng: RandomSource) -> ByteArray:
        """Randomise a population; see :meth:`Mechanism.perturb_many`."""
        slot, code = split_value_array(np.asarray(values, dtype=np.int64), self.domain.labels)
        code = code - self._zero << self._double
        draws = np.frombuffer(rng.take(24 * len(slot)), "<u8").reshape(-1, 3)
        rest = (draws[:, 0] >> np.uint64(64 - _POSITION_BITS)).astype(np.int64)
        up = rest < (code & (1 << _POSITION_BITS) - 1)
        near = multiply_shift(draws[:, 2], self._window).astype(np.int64)
        near += slot * self._line + (code >> _POSITION_BITS) + up
        anywhere = multiply_shift(draws[:, 2], self._all).astype(np.int64)
        reported = np.where(draws[:, 1] < np.uint64(self._near), near, anywhere)
        return reported.astype("<u2").view(np.uint8).reshape(-1, 2)

    # -- the collector and the trainer -----------------------------------------------------

    def _is_valid(self, payload: bytes) -> bool:
        return int.from_bytes(payload, "little") < self._all

    def are_valid(self, payloads: ByteArray) -> BoolArray:
        """Tell which payloads can occur; see :meth:`Mechanism.are_valid`."""
        return unpack_indices(payloads) < self._all

    def tally(self, payloads: ByteArray) -> IntArray:
        """Add, per line, one report and its position."""
        line, cell = np.divmod(unpack_indices(payloads).astype(np.int64), self._line)
        counts = np.bincount(line, minlength=self.domain.slots)
        positions = np.zeros(self.domain.slots, dtype=np.int64)
        np.add.at(positions, line, cell - self._far)
        return np.concatenate([counts.astype(np.int64, copy=False), positions])

    def contribution(self, payload: bytes) -> list[int]:
        """Count the line, and add the position; see :meth:`Mechanism.contribution`."""
        line, cell = divmod(int.from_bytes(payload, "little"), self._line)
        counts, positions = [0] * self.domain.slots, [0] * self.domain.slots
        counts[line], positions[line] = 1, cell - self._far
        return counts + positions

    def contribution_range(self, weights: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the best line's end; see :meth:`Mechanism.contribution_range`."""
        lines = weights[..., : self.domain.slots]
        ends = self._far * abs(weights[..., self.domain.slots :])
        return (lines - ends).min(axis=-1), (lines + ends).max(axis=-1)

    def counter_names(self, numbers: Sequence[str], labels: Sequence[str]) -> list[str]:
        """Name lines and positions; see :meth:`NumericMechanism.counter_names`."""
        lines = super().counter_names(numbers, labels)
        return [*lines, *(f"position of {line}" for line in lines)]

    def moments(self, totals: IntArray, n: int) -> FloatArray:
        """Scale the positions, and debias the lines' counts; see :meth:`NumericMechanism.moments`."""
        slots, k = self.domain.slots, self.domain.labels
        shares = (totals[:slots] / n - (1 - self._share) / slots) / self._share
        numbers = totals[slots:] / (self._unit * n)
        if self._double:
            numbers = (numbers + shares) / 2
        numbers[k:] = shares[k:]  # of the missing, the line alone tells
        return arrange_by_slot(self.domain, numbers, shares.reshape(-1, k).sum(axis=0))

    @property
    def label_variance(self) -> float:
        """That of counting lines; see :attr:`NumericMechanism.label_variance`."""
        even = 1 / self.domain.labels
        return even * (1 - even) / self._share**2

    def slot_variance(self, share: Number, first: Number, second: Number) -> Number:
        """Combine position and line; see :meth:`NumericMechanism.slot_variance`."""
        if not self._double:
            return self._position_variance(share, first, second)
        first, second = 2 * first - share, 4 * second - 4 * first + share
        drawn = self._drawn(share)
        line = drawn * (1 - drawn) / self._share**2
        both = first * (1 - drawn) / self._share
        return (self._position_variance(share, first, second) + line + 2 * both) / 4

    def _drawn(self, share: Number) -> Number:
        """Return how likely a report is on a line whose owners are that share of all."""
        return self._share * share + (1 - self._share) / self.domain.slots

    def _position_variance(self, share: Number, first: Number, second: Number) -> Number:
        """Return E[y^2 1(line)] / unit^2 - first^2, where t / 64 has these moments."""
        within = share * (self._half_width * (self._half_width + 1) / 3 + ROUNDING) + _POSITIONS**2 * second
        beyond = self._far * (self._far + 1) / 3 / self.domain.slots
        return (self._share * within + (1 - self._share) * beyond) / self._unit**2 - first**2

    def covariance(
        self, share: FloatArray, first: FloatArray, second: FloatArray, missing: FloatArray
    ) -> FloatArray:
        """Combine positions and lines; see :meth:`NumericMechanism.covariance`."""
        drawn, gone = self._drawn(share), self._drawn(missing) * self.domain.missing[0]
        blank = 1 - drawn - gone
        position = 2 * first - share if self._double else first
        laid = np.empty((3, 3, len(first)))
        laid[0, 0] = self.slot_variance(share, first, second)
        laid[1, 1] = gone * (1 - gone) / self._share**2
        laid[2, 2] = (drawn + gone) * blank / self._share**2
        laid[0, 1] = -position * gone / self._share
        laid[0, 2] = position * blank / self._share
        if self._double:
            laid[0, 1] = (laid[0, 1] - drawn * gone / self._share**2) / 2
            laid[0, 2] = (laid[0, 2] + drawn * blank / self._share**2) / 2
        laid[1, 2] = gone * blank / self._share**2
        laid[1, 0], laid[2, 0], laid[2, 1] = laid[0, 1], laid[0, 2], laid[1, 2]
        return laid

    # -- the auditor -----------------------------------------------------------------------

    def _corner_codes(self) -> list[int]:
        step = GRID // _POSITIONS >> self._double
        return [*range(self._zero, 2 * GRID + 1, step)] + [2 * GRID + 1] * self.domain.missing[0]

    def probability(self, payload: bytes, value: int) -> Fraction:
        """Return P[payload | value], exactly."""
        slot, code = split_value(value, self.domain.labels)
        code, cell = code - self._zero << self._double, int.from_bytes(payload, "little")
        rest = Fraction(code & (1 << _POSITION_BITS) - 1, 1 << _POSITION_BITS)
        first = slot * self._line + (code >> _POSITION_BITS)
        near = (1 - rest) * self._in_window(cell - first) + rest * self._in_window(cell - first - 1)
        anywhere = Fraction(cell_size(cell, self._all), WORD)
        return (self._near * near + (WORD - self._near) * anywhere) / WORD

    def _in_window(self, place: int) -> Fraction:
        inside = 0 <= place < self._window
        return Fraction(cell_size(place, self._window), WORD) if inside else Fraction(0)


def _sizes(cells: int) -> set[int]:
    return {WORD // cells, -(-WORD // cells)}
