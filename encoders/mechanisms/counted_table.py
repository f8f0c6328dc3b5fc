"""The mechanism of silos: exact discrete Laplace noise in every cell of the tables (value, label).

A message has one table of counts for each feature. A row adds one unit to the cells of its label in each
table: to one cell, or to three soft cells of a number. F tables change by F R units with the R rows of one
person, so noise of scale F R / epsilon in every cell makes the message epsilon-differentially private;
neighbours are all rows of one person, added or removed.

A number is divided between three soft cells, in integers, by Bernstein polynomials of degree two. With t in
[0, 1] the position of a number between its public bounds, the cells get (1 - t)^2, 2 t (1 - t) and t^2. These
parts are not negative and add up to one. So a number costs as much epsilon as a category, and its mean and
its mean square are linear in the cells. All parts are integers out of SOFT_UNIT.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from functools import lru_cache
from math import ceil, exp, expm1, log
from typing import ClassVar

from encoders.errors import PrivacyError, Reason, ReportError, SurveyError
from encoders.exact_samplers import draw_laplace
from encoders.lazy_numpy import BoolArray, ByteArray, FloatArray, IntArray, np
from encoders.mechanisms.base import CountedMechanism
from encoders.mechanisms.numeric_base import GRID
from encoders.randomness import RandomSource

STEPS = 1 << 10
"""Steps of the grid on which curators and silos place a number of a survey, between its bounds."""
SOFT_UNIT = STEPS**2
"""The sum of the parts of a number."""
SOFT_CELLS = 3

FALSE_ALARM = 1e-6
"""Largest probability that all checks of cells and totals together refuse an honest message."""
_BOUND_STEPS = 1000
_MAX_RATE = 60.0
"""Noise of a smaller scale than its inverse has a variance below 1e-25, and is nearly always zero."""


def place_code(code: int) -> int:
    """Return the step 0, ..., STEPS of a number's code; STEPS + 1 if the number is missing."""
    return STEPS + 1 if code > 2 * GRID else (code * STEPS + GRID) // (2 * GRID)


def soft_parts(step: int, can_be_missing: bool) -> tuple[int, ...]:
    """Return the parts of a step, which add up to SOFT_UNIT: three, or four if the number can be missing."""
    rest = STEPS - step
    parts = (rest**2, 2 * step * rest, step**2) if step <= STEPS else (0, 0, 0)
    return (*parts, 0 if step <= STEPS else SOFT_UNIT) if can_be_missing else parts


@dataclass(frozen=True)
class CountedTable:
    """One table of a message: its position, and what a row adds to it."""

    start: int
    """Index of its first cell in the message; the cell of value a and label c is start + a k + c."""
    values: int
    """Number of values of the feature, or of soft cells of a number."""
    labels: int
    unit: int
    """What a row adds to the cells of its label in total: 1, or SOFT_UNIT for a number."""
    scale: Fraction
    """Scale of the noise in a cell, in parts of a unit."""
    clamp: tuple[int, int]
    """The least and the greatest value of a cell that an honest silo sends."""
    accepted: tuple[int, int]
    """The least and the greatest value of a cell that a collector accepts, within the clamp. An honest
    cell of the table is outside with a probability of at most a third of FALSE_ALARM, divided by the
    number of tables."""
    total_error: int
    """The table's total differs from its true total by more with the same probability at most. It is in
    parts SOFT_UNIT of a row, also for units of 1."""
    class_error: int
    """The total of a label in the table differs from its true total by more with the same probability at
    most, all labels together. It is in the same parts."""

    @property
    def noise_variance(self) -> float:
        """Variance of the noise in a cell, in rows squared."""
        return laplace_variance(self.scale) / self.unit**2

    @property
    def end(self) -> int:
        return self.start + self.values * self.labels


def laplace_variance(scale: Fraction) -> float:
    """Return the variance of discrete Laplace noise, 2a / (1 - a)^2 with a = e^(-1 / scale)."""
    rate = min(float(1 / scale), _MAX_RATE)
    return 2 * exp(-rate) / expm1(-rate) ** 2


@lru_cache(maxsize=1024)
def bound_sum(count: int, scale: float, probability: float) -> float:
    """Return a bound that the absolute sum of discrete Laplace noises exceeds with at most this probability.

    It is the Chernoff bound with the exact moment generating function of P[z] ~ e^(-|z| / scale), which is
    (1 - a)^2 / ((1 - a e^t)(1 - a e^-t)) with a = e^(-1 / scale). Every t in (0, 1 / scale) gives a valid
    bound; the least of a grid of them is returned.
    """
    base = 2 * log(-expm1(-1 / scale))
    bounds = []
    for step in range(1, _BOUND_STEPS):
        share = step / _BOUND_STEPS  # t = share / scale
        moments = base - log(-expm1((share - 1) / scale)) - log(-expm1(-(share + 1) / scale))
        bounds.append((count * moments + log(2 / probability)) * scale / share)
    return min(bounds) * (1 + 1e-9)


def greatest_amount(tables: Sequence[CountedTable], rows: int, weights: FloatArray) -> FloatArray:
    """Return the greatest weighted sum of the cells of a message whose cells and totals pass the checks.

    A dishonest silo chooses a number of rows, the total of each table near it, and fills the cells with the
    largest weights first. The amount is a concave function of the number of rows, so bisection finds its
    maximum, to within one part SOFT_UNIT of a row. `rows` is the most rows that one message may count.
    `weights` has the shape (..., cells), the result (...).
    """
    fills = [_Fill(table, weights[..., table.start : table.end]) for table in tables]
    low = np.zeros(weights.shape[:-1])
    most = high = np.full(weights.shape[:-1], float(rows * SOFT_UNIT))
    while (high - low > 1).any():
        middle = np.floor((low + high) / 2)
        rising = np.sum([fill.slope(middle) for fill in fills], axis=0) > 0
        low, high = np.where(rising, middle, low), np.where(rising, high, middle)
    ends = (np.zeros_like(low), low, high, most)
    return np.asarray(np.max([np.sum([fill.amount(end) for fill in fills], axis=0) for end in ends], axis=0))


class _Fill:
    """The greatest weighted sum of a table's cells, by the number of rows in SOFT_UNIT parts."""

    def __init__(self, table: CountedTable, weights: FloatArray) -> None:
        self._descending = -np.sort(-weights, axis=-1)
        nothing = np.zeros((*weights.shape[:-1], 1))
        self._prefix = np.concatenate([nothing, np.cumsum(self._descending, axis=-1)], axis=-1)
        self._low, high = table.accepted
        self._width, self._count = float(high - self._low), weights.shape[-1]
        self._parts, self._error = SOFT_UNIT // table.unit, table.total_error
        self._best = self._width * (weights > 0).sum(axis=-1)

    def _range(self, rows: FloatArray) -> tuple[FloatArray, FloatArray]:
        empty, full = self._low * self._count, self._width * self._count
        least, most = ((rows + error) / self._parts - empty for error in (-self._error, self._error))
        return np.clip(least, 0.0, full), np.clip(most, 0.0, full)

    def _place(self, filling: FloatArray) -> IntArray:
        return np.clip(filling // self._width, 0, self._count - 1).astype(np.int64)

    def slope(self, rows: FloatArray) -> FloatArray:
        least, most = self._range(rows)
        filling = np.clip(self._best, least, most)
        marginal = np.take_along_axis(self._descending, self._place(filling)[..., None], axis=-1)[..., 0]
        return np.where(filling == self._best, 0.0, marginal / self._parts)

    def amount(self, rows: FloatArray) -> FloatArray:
        least, most = self._range(rows)
        filling = np.clip(self._best, least, most)
        index = self._place(filling)
        full = np.take_along_axis(self._prefix, index[..., None], axis=-1)[..., 0]
        marginal = np.take_along_axis(self._descending, index[..., None], axis=-1)[..., 0]
        return np.asarray(
            self._low * self._prefix[..., -1]
            + self._width * full
            + (filling - index * self._width) * marginal
        )


CELL_BYTES = 8
CLAMP_SCALES = 64
"""A cell is clamped this many scales of its noise beyond its possible counts: noise exceeds e^-64 seldom."""
MAX_CELL = 1 << 53
"""No cell of a message exceeds it: at least 1,024 messages add up within 64 bits."""


class CountTable(CountedMechanism):
    """Randomises tables of counts, and checks, adds and bounds the messages.

    `shapes` has for each feature its number of values, or of soft cells, and its unit. `labels` is k. One
    message counts at most `rows`, of which one person has at most `rows_per_person`. `scale` is that of the
    noise, in rows.
    Raises SurveyError if the cells would be too large to be added.
    """

    name: ClassVar[str] = "count_table"

    def __init__(
        self, shapes: Sequence[tuple[int, int]], labels: int, rows: int, rows_per_person: int, scale: Fraction
    ) -> None:
        self.rows, self.rows_per_person, self.scale = rows, rows_per_person, scale
        tables: list[CountedTable] = []
        for values, unit in shapes:
            noise = scale * unit
            reach = ceil(CLAMP_SCALES * noise)
            share = FALSE_ALARM / 3 / len(shapes)  # a third each for cells, totals, and totals of labels
            cell_error = min(ceil(bound_sum(1, float(noise), share / (values * labels))), reach)
            total_error = ceil(bound_sum(values * labels, float(noise), share))
            class_error = ceil(bound_sum(values, float(noise), share / labels))
            tables.append(
                CountedTable(
                    start=tables[-1].end if tables else 0,
                    values=values,
                    labels=labels,
                    unit=unit,
                    scale=noise,
                    clamp=(-reach, rows * unit + reach),
                    accepted=(-cell_error, rows * unit + cell_error),
                    total_error=total_error * (SOFT_UNIT // unit),
                    class_error=class_error * (SOFT_UNIT // unit),
                )
            )
        self.tables = tuple(tables)
        self.cells = tables[-1].end
        self.payload_bytes = CELL_BYTES * self.cells
        if self.largest_cell > MAX_CELL:
            raise SurveyError(
                f"its cells could reach {self.largest_cell}, and {MAX_CELL} is the limit: use fewer rows, "
                "fewer rows_per_person or a larger epsilon",
                "rows",
            )

    @property
    def largest_cell(self) -> int:
        """The largest value of any cell, after clamping."""
        return max(table.clamp[1] for table in self.tables)

    @property
    def safe_messages(self) -> int:
        return ((1 << 63) - 1) // self.largest_cell

    @property
    def noise_variance(self) -> float:
        """The largest variance of the noise in a cell, in rows squared."""
        return max(table.noise_variance for table in self.tables)

    def prove(self, epsilon: Decimal) -> None:
        """Raise PrivacyError unless the message is epsilon-differentially private; exact arithmetic."""
        most = len(self.tables) * self.rows_per_person
        if most > self.scale * Fraction(epsilon):
            raise PrivacyError(
                f"the scale of its noise is below {most} / {epsilon}: a message spends more than {epsilon}",
                "questions.0.scale",
            )

    # -- the silo ----------------------------------------------------------------------------

    def perturb(self, counts: Sequence[int], rng: RandomSource) -> bytes:
        """Add noise to each of the exact counts, which are in parts of a unit; clamp and pack them."""
        if len(counts) != self.cells:
            raise ValueError(f"needs {self.cells} counts, not {len(counts)}")
        noisy: list[int] = []
        for table in self.tables:
            low, high = table.clamp
            for count in counts[table.start : table.end]:
                noisy.append(min(max(count + draw_laplace(table.scale, rng), low), high))
        return struct.pack(f"<{self.cells}q", *noisy)

    # -- the collector -----------------------------------------------------------------------

    @property
    def refusal(self) -> str:
        return (
            "the cells contradict the survey or one another: all tables of a message count the same rows "
            "with the same labels, at most as many as the survey allows"
        )

    def _is_valid(self, payload: bytes) -> bool:
        """Return whether noise explains every cell, and the tables agree on the rows of each label."""
        message, labels = self.contribution(payload), self.tables[0].labels
        ranges = [(0, self.rows * SOFT_UNIT)] * (labels + 1)  # the rows of each label, and all rows
        for table in self.tables:
            cells = message[table.start : table.end]
            low, high = table.accepted
            if min(cells) < low or max(cells) > high:
                return False
            totals = [*(sum(cells[label::labels]) for label in range(labels)), sum(cells)]
            errors = [table.class_error] * labels + [table.total_error]
            for index, (total, error) in enumerate(zip(totals, errors, strict=True)):
                rows, (least, most) = total * (SOFT_UNIT // table.unit), ranges[index]
                ranges[index] = max(least, rows - error), min(most, rows + error)
        return all(least <= most for least, most in ranges)

    def are_valid(self, payloads: ByteArray) -> BoolArray:
        return np.array([self._is_valid(payload.tobytes()) for payload in payloads], dtype=bool)

    def tally(self, payloads: ByteArray) -> IntArray:
        """Return the sums of the cells; raise ReportError above 64 bits, which only false messages reach."""
        messages = np.ascontiguousarray(payloads).view("<i8").astype(np.int64, copy=False)
        sums = messages.sum(axis=0, dtype=np.int64)
        if len(messages) > self.safe_messages and (messages.astype(object).sum(axis=0) != sums).any():
            raise ReportError(Reason.BAD_PAYLOAD, "the sum of these messages overflows 64 bits: add fewer")
        return np.asarray(sums)

    def contribution(self, payload: bytes) -> list[int]:
        return list(struct.unpack(f"<{self.cells}q", payload))

    def contribution_range(self, weights: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return bounds for messages whose cells and totals pass; the rows of each label are not used."""
        weights = np.asarray(weights, dtype=float)
        return -greatest_amount(self.tables, self.rows, -weights), greatest_amount(
            self.tables, self.rows, weights
        )
