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
from typing import Any, Self

import numpy as np

from encoders.survey import NumericFeature
from ldp_aggregator.arrays import FloatArray
from ldp_aggregator.estimation.class_comparison import (
    Comparison,
    compare_two_classes,
    estimate_class_correlation,
)
from ldp_aggregator.estimation.discrete.combined import CombinedFrequencies
from ldp_aggregator.estimation.discrete.frequencies import Frequencies
from ldp_aggregator.estimation.discrete.negative_estimates import project_columns, project_simplex
from ldp_aggregator.estimation.independence import Independence, assess_independence
from ldp_aggregator.estimation.intervals import (
    IntervalEstimate,
    estimate_conditional_intervals,
    estimate_joint_intervals,
)
from ldp_aggregator.estimation.json_form import read_array, read_count, read_text, read_texts, to_json_list

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
    """Number of reports."""
    cells: IntervalEstimate
    """P(row, column), raw."""
    row_shares: IntervalEstimate
    """P(column | row), raw."""
    column_shares: IntervalEstimate
    """P(row | column), raw."""
    independence: Independence | None
    """None without reports, and for early looks."""
    correlation: FloatArray | None
    """Of the two estimates of P(row | column), if there are two columns and reports. Shape (rows,)."""

    @classmethod
    def from_frequencies(cls, frequencies: Frequencies) -> Self:
        """Build the result from the frequencies of a question about several features."""
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
            cells=estimate_joint_intervals(frequencies, count),
            row_shares=estimate_conditional_intervals(turned, len(first.texts)).transpose(),
            column_shares=estimate_conditional_intervals(frequencies, count),
            independence=assess_independence(frequencies.raw.reshape(shape), frequencies.covariance)
            if frequencies.n
            else None,
            correlation=estimate_class_correlation(frequencies) if count == 2 else None,
        )

    @property
    def name(self) -> str:
        """The names of the features, for people."""
        return " x ".join(self.features)

    @property
    def comparisons(self) -> Mapping[str, Comparison]:
        """Risk difference, risk ratio and odds ratio of each row; empty unless there are two columns."""
        if self.correlation is None:
            return {}
        shown = project_columns(self.column_shares.value)
        return compare_two_classes(self.column_shares, self.correlation, shown)

    def make_consistent(self) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return `cells`, `row_shares` and `column_shares` as they are shown: distributions, or NaN."""
        value = self.cells.value
        cells = project_simplex(value.ravel()).reshape(value.shape) if self.n else value
        unknown = np.full(cells.shape, np.nan)
        by_row, by_column = (
            np.divide(cells, sums, out=unknown.copy(), where=sums > 0)
            for sums in (cells.sum(axis=1, keepdims=True), cells.sum(axis=0))
        )
        return cells, by_row, by_column

    def as_dict(self) -> dict[str, Any]:
        """Return the result for JSON."""
        return {
            "features": list(self.features),
            "rows": list(self.rows),
            "across": list(self.across),
            "columns": [list(each) for each in self.columns],
            "mechanism": self.mechanism,
            "n": self.n,
            "cells": self.cells.as_dict(),
            "row_shares": self.row_shares.as_dict(),
            "column_shares": self.column_shares.as_dict(),
            "independence": self.independence.as_dict() if self.independence else None,
            "correlation": None if self.correlation is None else to_json_list(self.correlation),
            "comparisons": {name: each.as_dict() for name, each in self.comparisons.items()},
        }

    @classmethod
    def from_dict(cls, entry: Mapping[str, Any]) -> Self:
        """Return the result that :meth:`as_dict` wrote."""
        rows, columns = read_texts(entry["rows"]), tuple(map(read_texts, entry["columns"]))
        shape, correlation = (len(rows), len(columns)), entry["correlation"]
        cells, row_shares, column_shares = (
            IntervalEstimate.from_dict(entry[name], shape)
            for name in ("cells", "row_shares", "column_shares")
        )
        return cls(
            features=read_texts(entry["features"]),
            rows=rows,
            across=read_texts(entry["across"]),
            columns=columns,
            mechanism=read_text(entry["mechanism"]),
            n=read_count(entry["n"]),
            cells=cells,
            row_shares=row_shares,
            column_shares=column_shares,
            independence=Independence.from_dict(entry["independence"]) if entry["independence"] else None,
            correlation=None if correlation is None else read_array(correlation, shape[:1]),
        )


def describe_tables(estimates: Sequence[Frequencies]) -> tuple[TableResult, ...]:
    """Return the results of the questions about two or three features."""
    asked = [each for each in estimates if 2 <= len(each.question.feature_indices) <= MAX_FEATURES]
    return tuple(map(TableResult.from_frequencies, asked))


def transpose_cells(frequencies: Frequencies, shape: tuple[int, int]) -> CombinedFrequencies:
    """Return the same frequencies with rows and columns exchanged."""

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
