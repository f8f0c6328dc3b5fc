"""The mechanism of silos: exact discrete Laplace noise in every cell of the tables (value, label).

A message has one table of counts for each feature. A row adds one unit to the cells of its label in each
table: to one cell, or to three soft cells of a number. F tables change by F R units with the R rows of one
person, so noise of scale F R / epsilon in every cell makes the message epsilon-differentially private;
neighbours are all rows of one person, added or removed.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from decimal import Decimal
from fractions import Fraction
from math import ceil
from typing import ClassVar

from encoders.errors import PrivacyError, Reason, ReportError, SurveyError
from encoders.exact_samplers import draw_laplace
from encoders.lazy_numpy import BoolArray, ByteArray, FloatArray, IntArray, np
from encoders.mechanisms.base import CountedMechanism
from encoders.mechanisms.counted_table import FALSE_ALARM, SOFT_UNIT, CountedTable, bound_sum, greatest_amount
from encoders.randomness import RandomSource

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
