"""Turns estimates into a table: one row per class and estimated quantity.

The same table is written as CSV, returned as a DataFrame and shown on pages and in the terminal;
docs/analysing.md describes its columns.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, fields
from typing import Any, Literal

import numpy as np

from ldp_aggregator.arrays import BoolArray, FloatArray
from ldp_aggregator.estimation import Estimates, FeatureResult, IntervalEstimate, NumberResult
from ldp_aggregator.estimation.discrete.negative_estimates import project_simplex
from ldp_aggregator.render.csv_file import dump_csv

COUNT = "count"
CLASS_PRIOR = "P(class)"
CONDITIONAL = "P(value | class)"
MEAN = "mean"
DEVIATION = "standard deviation"
MISSING = "P(missing | class)"

Statistic = Literal[
    "count", "P(class)", "P(value | class)", "mean", "standard deviation", "P(missing | class)"
]


@dataclass(frozen=True, kw_only=True)
class EstimateRow:
    """One row of the table; None where something is unknown or does not apply."""

    feature: str
    """The feature's name; the label's name for count and P(class)."""
    statistic: Statistic
    """The estimated quantity; only a curator's model has count, the number of rows of a class."""
    value: str | None = None
    """The feature's value, for P(value | class)."""
    class_name: str
    """The value of the label."""
    estimate: float | None
    """The consistent estimate: probabilities are distributions, moments are in their possible range."""
    stderr: float | None
    """The standard error of `raw`."""
    low: float | None
    high: float | None
    """The 95% interval."""
    simultaneous_low: float | None
    simultaneous_high: float | None
    """95% intervals that all hold at once."""
    raw: float | None
    """The unbiased estimate, which may be outside the possible range."""
    n: int
    """The number of reports, or the noisy number of the rows of a curator or of silos."""
    mechanism: str | None = None
    """The mechanisms of the questions, joined by " + "; None for count and P(class), which all questions
    estimate."""
    distinguishable: bool | None = None
    """Whether the classes are distinguishable in this quantity; for P(class), from 1/k."""

    @classmethod
    def from_estimate(
        cls, estimate: IntervalEstimate, index: tuple[int, ...], consistent: float, **names: Any
    ) -> EstimateRow:
        """Return the row of one cell of an estimate; `names` are the other columns."""

        def cell(array: FloatArray) -> float | None:
            number = float(array[index]) + 0.0  # no negative zero
            return number if math.isfinite(number) else None

        return cls(
            estimate=None if math.isnan(consistent) else consistent,
            stderr=cell(estimate.stderr),
            low=cell(estimate.low),
            high=cell(estimate.high),
            simultaneous_low=cell(estimate.simultaneous_low),
            simultaneous_high=cell(estimate.simultaneous_high),
            raw=cell(estimate.value),
            **names,
        )


COLUMNS = tuple("class" if each.name == "class_name" else each.name for each in fields(EstimateRow))
"""The names of the columns, in order."""


def list_records(rows: Iterable[EstimateRow]) -> list[dict[str, object]]:
    """Return the cells of each row by the name of the column."""
    return [dict(zip(COLUMNS, asdict(row).values(), strict=True)) for row in rows]


def dump_table(rows: Iterable[EstimateRow]) -> str:
    """Return the table as CSV; see :func:`~ldp_aggregator.render.csv_file.dump_csv`."""
    return dump_csv(COLUMNS, list_records(rows))


def build_table(estimates: Estimates) -> list[EstimateRow]:
    """Return the rows of all estimates of a survey: the label's first, then each feature's in order."""
    # the paper's estimator takes the prior from the label question alone
    n = (estimates.label_n or 0) if estimates.estimator == "paper" else estimates.people
    marks = estimates.non_uniform
    return [
        *list_prior_rows(estimates.label, estimates.classes, estimates.raw_prior, n, marks),
        *list_feature_rows(estimates.features, estimates.classes),
    ]


def list_prior_rows(
    label: str, classes: Sequence[str], prior: IntervalEstimate, n: int, marks: BoolArray
) -> Iterator[EstimateRow]:
    """Yield the rows of P(class); `marks` are of the classes whose share differs from 1/k."""
    consistent = project_columns(prior.value[:, None])[:, 0]
    for index, name in enumerate(classes):
        yield EstimateRow.from_estimate(
            prior,
            (index,),
            float(consistent[index]),
            feature=label,
            statistic=CLASS_PRIOR,
            class_name=name,
            n=n,
            distinguishable=bool(marks[index]),
        )


def list_feature_rows(
    features: Iterable[FeatureResult | NumberResult], classes: Sequence[str]
) -> Iterator[EstimateRow]:
    """Yield the rows of all features."""
    for feature in features:
        if isinstance(feature, NumberResult):
            yield from _list_number_rows(feature, classes)
        else:
            yield from _list_conditional_rows(feature, classes)


def _list_conditional_rows(feature: FeatureResult, classes: Sequence[str]) -> Iterator[EstimateRow]:
    consistent = project_columns(feature.conditionals.value)
    for place, value in enumerate(feature.values):
        for index, name in enumerate(classes):
            yield EstimateRow.from_estimate(
                feature.conditionals,
                (place, index),
                float(consistent[place, index]),
                feature=feature.name,
                statistic=CONDITIONAL,
                value=value,
                class_name=name,
                n=feature.n,
                mechanism=feature.mechanism,
                distinguishable=bool(feature.distinguishable_entries[place]),
            )


def _list_number_rows(feature: NumberResult, classes: Sequence[str]) -> Iterator[EstimateRow]:
    mean, square = feature.mean_question, feature.square_question
    both = " + ".join(each.mechanism for each in (mean, square) if each.mechanism) or None
    # a variance below zero is cut to zero, and its root is unknown
    deviations = np.where(
        feature.by_class.variances.value <= 0, 0.0, _cut_to_interval(feature.by_class.deviations)
    )
    n = mean.n + square.n
    parts: list[tuple[str, str, IntervalEstimate, FloatArray, int, str | None]] = [
        (
            MEAN,
            "means",
            feature.by_class.means,
            _cut_to_interval(feature.by_class.means),
            mean.n,
            mean.mechanism,
        ),
        (DEVIATION, "variances", feature.by_class.deviations, deviations, n, both),
    ]
    if feature.by_class.missing:
        parts.append(
            (
                MISSING,
                "missing",
                feature.by_class.missing,
                _cut_to_interval(feature.by_class.missing),
                n,
                both,
            )
        )
    for statistic, mark, estimate, consistent, reports, mechanism in parts:
        for index, name in enumerate(classes):
            yield EstimateRow.from_estimate(
                estimate,
                (index,),
                float(consistent[index]),
                feature=feature.name,
                statistic=statistic,
                class_name=name,
                n=reports,
                mechanism=mechanism,
                distinguishable=feature.distinguishable_entries.get(mark),
            )


def project_columns(raw: FloatArray) -> FloatArray:
    """Return the nearest distribution to each column of (A, k) estimates; a column with NaN stays NaN."""
    consistent = np.full_like(raw, math.nan)
    known = np.isfinite(raw).all(axis=0)
    consistent[:, known] = project_simplex(raw[:, known].T).T
    return consistent


def _cut_to_interval(estimate: IntervalEstimate) -> FloatArray:
    """Cut the estimates of a number to their possible range.

    The intervals are cut to that range and contain the cut estimate, so cutting to the interval is the same.
    """
    return np.clip(estimate.value, estimate.low, estimate.high)
