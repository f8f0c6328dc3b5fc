"""The result of a question about several features: a table of their values.

The rows are the values of the first feature. The columns are the combinations of the values of the others,
and of the classes if the question contains the label. So the cells are estimated like a feature coupled with
a label, whose classes are the columns.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from math import prod
from typing import Self

import numpy as np

from encoders.survey import NumericFeature
from ldp_aggregator.arrays import FloatArray
from ldp_aggregator.codec import require
from ldp_aggregator.estimation import intervals
from ldp_aggregator.estimation.discrete.frequencies import (
    CombinedFrequencies,
    Frequencies,
    project_columns,
    project_simplex,
)
from ldp_aggregator.estimation.independence import Independence, assess_independence
from ldp_aggregator.estimation.odds_ratios import Comparison, compare_two_classes, estimate_class_correlation

MAX_FEATURES = 3
"""Questions about more features, which "auto" may choose at a large epsilon, are not shown as tables."""


@dataclass(frozen=True)
class TableResult:
    """A table of values; arrays have shape (rows, columns)."""

    features: tuple[str, ...]
    """The rows are the values of the first feature."""
    rows: tuple[str, ...]
    across: tuple[str, ...]
    """What the columns combine: the other features, and the label if the question contains it."""
    columns: tuple[tuple[str, ...], ...]
    """One value of each of these."""
    mechanism: str
    n: int
    cells: intervals.IntervalEstimate
    """P(row, column), raw."""
    row_shares: intervals.IntervalEstimate
    """P(column | row), raw."""
    column_shares: intervals.IntervalEstimate
    """P(row | column), raw."""
    independence: Independence | None
    """None without reports, and for early looks."""
    correlation: FloatArray | None
    """Of the two estimates of P(row | column), if there are two columns and reports. Shape (rows,)."""

    JSON_DERIVED = ("comparisons",)

    @classmethod
    def from_frequencies(cls, frequencies: Frequencies) -> Self:
        question = frequencies.question
        first, *others = (each for each in question.asked_features if not isinstance(each, NumericFeature))
        texts = [each.texts for each in others]
        if question.label.exists:
            texts.append(question.label.values)
        count, shape = prod(map(len, texts)), (len(first.texts), prod(map(len, texts)))
        turned = transpose_cells(frequencies, shape)
        return cls(
            features=tuple(each.name for each in question.asked_features),
            rows=tuple(first.texts),
            across=(*(each.name for each in others), *question.label.names),
            columns=tuple(product(*texts)),
            mechanism=frequencies.mechanism,
            n=frequencies.n,
            cells=intervals.estimate_joint_intervals(frequencies, count),
            row_shares=intervals.estimate_conditional_intervals(turned, len(first.texts)).transpose(),
            column_shares=intervals.estimate_conditional_intervals(frequencies, count),
            independence=assess_independence(frequencies.raw.reshape(shape), frequencies.covariance)
            if frequencies.n
            else None,
            correlation=estimate_class_correlation(frequencies) if count == 2 else None,
        )

    @property
    def name(self) -> str:
        return " x ".join(self.features)

    @property
    def comparisons(self) -> Mapping[str, Comparison]:
        if self.correlation is None:
            return {}
        shown = project_columns(self.column_shares.value)
        return compare_two_classes(self.column_shares, self.correlation, shown)

    def make_consistent(self) -> tuple[FloatArray, FloatArray, FloatArray]:
        value = self.cells.value
        cells = project_simplex(value.ravel()).reshape(value.shape) if self.n else value
        unknown = np.full(cells.shape, np.nan)
        by_row, by_column = (
            np.divide(cells, sums, out=unknown.copy(), where=sums > 0)
            for sums in (cells.sum(axis=1, keepdims=True), cells.sum(axis=0))
        )
        return cells, by_row, by_column

    def check_entries(self) -> None:
        shape = len(self.rows), len(self.columns)
        shapes = {each.value.shape for each in (self.cells, self.row_shares, self.column_shares)}
        require(shapes == {shape}, f"cells, row_shares and column_shares: need the shape {shape}")
        is_valid = self.correlation is None or self.correlation.shape == shape[:1]
        require(is_valid, "correlation: needs a number for each row")


def describe_tables(estimates: Sequence[Frequencies]) -> tuple[TableResult, ...]:
    return tuple(map(TableResult.from_frequencies, select_tables(estimates)))


def select_tables(estimates: Sequence[Frequencies]) -> list[Frequencies]:
    return [each for each in estimates if 2 <= len(each.question.feature_indices) <= MAX_FEATURES]


def transpose_cells(frequencies: Frequencies, shape: tuple[int, int]) -> CombinedFrequencies:

    def turn(cells: FloatArray) -> FloatArray:
        return cells.reshape(shape).T.ravel()

    covariance = frequencies.covariance
    return CombinedFrequencies(
        n=frequencies.n,
        raw=turn(frequencies.raw),
        covariance=covariance.evaluate_at(turn(covariance.distribution)) if frequencies.n else covariance,
        mechanism=frequencies.mechanism,
        asked_features=frequencies.asked_features,
    )
