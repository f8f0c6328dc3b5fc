"""The piecewise mechanism with the class hidden: a report is a class and a number near the true one."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from decimal import Decimal
from fractions import Fraction
from functools import cached_property
from itertools import product
from typing import ClassVar, Self

from encoders.epsilon_proof import exp_bounds
from encoders.errors import SurveyError
from encoders.lazy_numpy import ByteArray, FloatArray, IntArray, np
from encoders.mechanisms.base import IndexPayload, MechanismParameters, Number
from encoders.mechanisms.direct import cell_size, multiply_shift
from encoders.mechanisms.frequency_oracle import MAX_DOMAIN
from encoders.mechanisms.numeric_base import GRID, GRID_BITS, ROUNDING, NumericDomain, NumericMechanism
from encoders.mechanisms.probability_text import percent
from encoders.probability_tables import WORD
from encoders.randomness import RandomSource

_DRAWS = struct.Struct("<QQQ")
POSITIONS = 64
"""Number of positions on either side of zero for numbers in [-1, 1]."""
_POSITION_BITS = GRID_BITS - POSITIONS.bit_length()


class Piecewise(IndexPayload, NumericMechanism):
    """Reports one cell of a line per class: with a higher probability one near the true answer.

    Wang et al. (2019), extended by the class. A number x has the position t = 64 x on the line of its class,
    a square the position 64 (2 x^2 - 1), rounded up or down at random. With probability `near` the report is
    one of the 2r + 1 cells around t, otherwise any cell of any line. Lines extend from -(64 + r) to 64 + r.
    So E[y 1(line)] = near * t for the true line and 0 for every other, and the lines estimate the class.
    `near` is the largest that epsilon allows, and the half-width r the one with the least variance. The
    mechanism is between sign (all noise is rounding) and Laplace (unbounded noise), and better than both from
    about eps = 1.5 on.

    There are three 64-bit draws: to round, to decide, and to choose by multiply-shift. The payload is the
    index of the cell, line by line, little-endian in 2 bytes. A missing number is a 1 on a separate line.
    """

    name: ClassVar[str] = "piecewise"
    estimates_prior: ClassVar[bool] = True
    random_bytes, payload_bytes = 24, 2

    def __init__(self, domain: NumericDomain, parameters: MechanismParameters) -> None:
        super().__init__(domain, parameters)
        self._require_keys("near", "reach")
        self._half_width = self._integer("reach", 0, POSITIONS)
        self._near = self._integer("near", 1, WORD - 1)
        self._line_end = POSITIONS + self._half_width
        self._line_points, self._window_points = 2 * self._line_end + 1, 2 * self._half_width + 1
        self.indices = domain.slots * self._line_points
        if self.indices > MAX_DOMAIN:
            raise SurveyError(
                f"piecewise has at most {MAX_DOMAIN} cells, and these classes need more: merge classes of "
                "the label"
            )
        self.cells = 2 * domain.slots
        self._lowest_code, self._doubled = GRID * (1 + domain.low), int(domain.low == 0)
        self._near_probability = self._near / WORD
        self._position_scale = self._near_probability * POSITIONS

    @classmethod
    def design(cls, domain: NumericDomain, epsilon: Decimal) -> Self:
        """Return the mechanism with the half-width and probability of the window of the least `_cost`."""
        gain, best = exp_bounds(epsilon)[0], None
        for half_width in range(POSITIONS + 1):
            window, cells = 2 * half_width + 1, domain.slots * (2 * (POSITIONS + half_width) + 1)
            if cells > MAX_DOMAIN:
                break
            # 1 + near/(1 - near) cells/window <= gain, with the exact numbers of draws per cell
            odds = (gain - 1) * (WORD // cells) / -(-WORD // window)
            parameters = {"near": str(int(WORD * odds / (1 + odds))), "reach": str(half_width)}
            candidate = cls(domain, parameters)
            if best is None or candidate._cost < best._cost:
                best = candidate
        if best is None:
            raise SurveyError(
                'piecewise has too few cells for this many classes: set mechanism.numeric = "sign-vector"'
            )
        return best

    @property
    def _cost(self) -> float:
        return self.reference_variance

    @cached_property
    def ratio(self) -> Fraction:  # type: ignore[override]  # mypy: an attribute in the base class
        """Return the exact worst likelihood ratio, computed on use: `design` compares many windows."""
        return 1 + Fraction(self._near, WORD - self._near) * self._max_draw_ratio()

    def _max_draw_ratio(self) -> Fraction:
        """Return the largest ratio of a cell's draws within a window to its draws among all cells.

        Multiply-shift gives cells of two sizes that differ by one draw. The pairs of sizes, in a window and
        among all cells, are tried from the worst on; the first that occurs is the exact result.
        """
        inside, anywhere = _draw_counts(self._window_points), _draw_counts(self.indices)
        pairs = sorted(product(inside, anywhere), key=lambda pair: Fraction(*pair), reverse=True)
        return next(Fraction(*pair) for pair in pairs if self._sizes_coincide(*pair))

    def _sizes_coincide(self, inside: int, anywhere: int) -> bool:
        return any(
            cell_size(slot * self._line_points + position + index, self.indices) == anywhere
            for index in range(self._window_points)
            if cell_size(index, self._window_points) == inside
            for slot in range(self.domain.slots)
            for position in range(2 * POSITIONS + 1)
        )

    # -- the device ------------------------------------------------------------------------

    def perturb(self, value: int, rng: RandomSource) -> bytes:
        """Randomise one number and its class; all three draws are always used."""
        slot, code = self.domain.split(value)
        code = code - self._lowest_code << self._doubled
        rounding, decision, choice = _DRAWS.unpack(rng.take(24))
        up = rounding >> 64 - _POSITION_BITS < code & (1 << _POSITION_BITS) - 1
        first = slot * self._line_points + (code >> _POSITION_BITS) + up  # of the window
        near, anywhere = first + (choice * self._window_points >> 64), choice * self.indices >> 64
        reported: int = (anywhere, near)[decision < self._near]
        return reported.to_bytes(2, "little")

    def describe_output(self, value: int) -> str:
        near, window, cells = percent(Fraction(self._near, WORD)), self._window_points, self.indices
        return (
            f"one of {cells} points, {self._line_points} for each of {self.domain.slots_text}; with "
            f"probability {near} it is one of the {window} around the true point, otherwise any of the "
            f"{cells}, all with equal probability"
        )

    def perturb_many(self, values: IntArray, rng: RandomSource) -> ByteArray:
        slot, code = self.domain.split_many(values)
        code = code - self._lowest_code << self._doubled
        draws = np.frombuffer(rng.take(24 * len(slot)), "<u8").reshape(-1, 3)
        rest = (draws[:, 0] >> np.uint64(64 - _POSITION_BITS)).astype(np.int64)
        up = rest < (code & (1 << _POSITION_BITS) - 1)
        near = multiply_shift(draws[:, 2], self._window_points).astype(np.int64)
        near += slot * self._line_points + (code >> _POSITION_BITS) + up
        anywhere = multiply_shift(draws[:, 2], self.indices).astype(np.int64)
        reported = np.where(draws[:, 1] < np.uint64(self._near), near, anywhere)
        return reported.astype("<u2").view(np.uint8).reshape(-1, 2)

    # -- the collector and the trainer -----------------------------------------------------

    def tally(self, payloads: ByteArray) -> IntArray:
        line, cell = np.divmod(self._unpack(payloads).astype(np.int64), self._line_points)
        counts = np.bincount(line, minlength=self.domain.slots)
        positions = np.zeros(self.domain.slots, dtype=np.int64)
        np.add.at(positions, line, cell - self._line_end)
        return np.concatenate([counts.astype(np.int64, copy=False), positions])

    def contribution(self, payload: bytes) -> list[int]:
        line, cell = divmod(int.from_bytes(payload, "little"), self._line_points)
        counts, positions = [0] * self.domain.slots, [0] * self.domain.slots
        counts[line], positions[line] = 1, cell - self._line_end
        return counts + positions

    def contribution_range(self, weights: FloatArray) -> tuple[FloatArray, FloatArray]:
        lines = weights[..., : self.domain.slots]
        ends = self._line_end * abs(weights[..., self.domain.slots :])
        return (lines - ends).min(axis=-1), (lines + ends).max(axis=-1)

    def counter_names(self, numbers: Sequence[str], labels: Sequence[str]) -> list[str]:
        lines = super().counter_names(numbers, labels)
        return [*lines, *(f"position of {line}" for line in lines)]

    def moments(self, totals: IntArray, n: int) -> FloatArray:
        slots, k = self.domain.slots, self.domain.labels
        shares = (totals[:slots] / n - (1 - self._near_probability) / slots) / self._near_probability
        numbers = totals[slots:] / (self._position_scale * n)
        if self._doubled:
            numbers = (numbers + shares) / 2
        numbers[k:] = shares[k:]  # only the line of a missing number is informative
        return self.domain.arrange(numbers, shares.reshape(-1, k).sum(axis=0))

    @property
    def label_variance(self) -> float:
        share = 1 / self.domain.labels
        return share * (1 - share) / self._near_probability**2

    def slot_variance(self, share: Number, first: Number, second: Number) -> Number:
        if not self._doubled:
            return self._position_variance(share, first, second)
        first, second = 2 * first - share, 4 * second - 4 * first + share
        drawn = self._line_probability(share)
        line = drawn * (1 - drawn) / self._near_probability**2
        both = first * (1 - drawn) / self._near_probability
        return (self._position_variance(share, first, second) + line + 2 * both) / 4

    def _line_probability(self, share: Number) -> Number:
        return self._near_probability * share + (1 - self._near_probability) / self.domain.slots

    def _position_variance(self, share: Number, first: Number, second: Number) -> Number:
        """Return E[y^2 1(line)] / unit^2 - first^2, where t / 64 has these moments."""
        within = share * (self._half_width * (self._half_width + 1) / 3 + ROUNDING) + POSITIONS**2 * second
        beyond = self._line_end * (self._line_end + 1) / 3 / self.domain.slots
        return (
            self._near_probability * within + (1 - self._near_probability) * beyond
        ) / self._position_scale**2 - first**2

    def covariance(
        self, share: FloatArray, first: FloatArray, second: FloatArray, missing: FloatArray
    ) -> FloatArray:
        drawn, gone = self._line_probability(share), self._line_probability(missing) * self.domain.missing[0]
        blank = 1 - drawn - gone
        position = 2 * first - share if self._doubled else first
        laid = np.empty((3, 3, len(first)))
        laid[0, 0] = self.slot_variance(share, first, second)
        laid[1, 1] = gone * (1 - gone) / self._near_probability**2
        laid[2, 2] = (drawn + gone) * blank / self._near_probability**2
        laid[0, 1] = -position * gone / self._near_probability
        laid[0, 2] = position * blank / self._near_probability
        if self._doubled:
            laid[0, 1] = (laid[0, 1] - drawn * gone / self._near_probability**2) / 2
            laid[0, 2] = (laid[0, 2] + drawn * blank / self._near_probability**2) / 2
        laid[1, 2] = gone * blank / self._near_probability**2
        laid[1, 0], laid[2, 0], laid[2, 1] = laid[0, 1], laid[0, 2], laid[1, 2]
        return laid

    @cached_property
    def class_offsets(self) -> FloatArray:
        """The mean that debiasing subtracts: before it, the product of two lines' estimates is 0."""
        slots = self.domain.slots
        line = (1 - self._near_probability) / slots / self._near_probability
        return np.array([line / 2 if self._doubled else 0.0, line, line * slots / self.domain.labels])

    # -- the auditor -----------------------------------------------------------------------

    def _corner_codes(self) -> list[int]:
        step = GRID // POSITIONS >> self._doubled
        return [*range(self._lowest_code, 2 * GRID + 1, step)] + [2 * GRID + 1] * self.domain.missing[0]

    def probability(self, payload: bytes, value: int) -> Fraction:
        slot, code = self.domain.split(value)
        code, cell = code - self._lowest_code << self._doubled, int.from_bytes(payload, "little")
        rest = Fraction(code & (1 << _POSITION_BITS) - 1, 1 << _POSITION_BITS)
        first = slot * self._line_points + (code >> _POSITION_BITS)
        near = (1 - rest) * self._window_probability(cell - first) + rest * self._window_probability(
            cell - first - 1
        )
        anywhere = Fraction(cell_size(cell, self.indices), WORD)
        return (self._near * near + (WORD - self._near) * anywhere) / WORD

    def _window_probability(self, index: int) -> Fraction:
        inside = 0 <= index < self._window_points
        return Fraction(cell_size(index, self._window_points), WORD) if inside else Fraction(0)


def _draw_counts(cells: int) -> set[int]:
    return {WORD // cells, -(-WORD // cells)}
