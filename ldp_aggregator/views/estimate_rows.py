"""Turns estimates into a table for CSV, DataFrames, pages and the terminal; see docs/analysing.md."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any

import numpy as np

from encoders.survey.compiled_plan import AnyPlan
from encoders.survey.features import Choices
from encoders.survey.parse_value import MISSING_TEXT
from ldp_aggregator.arrays import BoolArray, FloatArray
from ldp_aggregator.estimation import Estimates, FeatureResult, IntervalEstimate, NumberResult
from ldp_aggregator.estimation.discrete.frequencies import project_columns
from ldp_aggregator.estimation.feature_result import join_choices
from ldp_aggregator.estimation.figures import CLASS_PRIOR, CONDITIONAL, MEAN, MISSING, MISSING_SHARE, SHARE
from ldp_aggregator.estimation.odds_ratios import Comparison
from ldp_aggregator.estimation.quantiles import PROBABILITIES
from ldp_aggregator.estimation.table_result import TableResult
from ldp_aggregator.render.csv_file import dump_csv
from ldp_aggregator.statements.rules import is_known

Result = FeatureResult | NumberResult
Classes = Sequence[str] | tuple[None]
"""The classes of the rows, or None alone for all people."""

COUNT = "count"
DEVIATION = "standard deviation"
_COMPARISON_SPANS = {"risk difference": 2.0, "risk ratio": math.inf, "odds ratio": math.inf}
COMPARISONS = tuple(_COMPARISON_SPANS)
CELL, ROW_SHARE, COLUMN_SHARE = "P(row, column)", "P(column | row)", "P(row | column)"
INDEPENDENCE = "p-value of independence"
BELOW, AT_MOST, QUANTILE = "P(x < t)", "P(x <= value)", "quantile"
CLASS_BELOW, CLASS_AT_MOST, CLASS_QUANTILE = "P(x < t | class)", "P(x <= value | class)", "quantile of class"


@dataclass(frozen=True, kw_only=True)
class EstimateRow:
    """One row of the table; None where something is unknown or does not apply."""

    feature: str
    """The feature's name; the label's name for count and P(class); of a table its features' names, joined by
    " x "."""
    statistic: str
    """The estimated quantity; only a curator's model has count, the number of rows of a class."""
    value: str | None = None
    """The feature's value, for P(value), P(value | class) and comparisons; the row of a table. For cumulative
    shares the bins' edge or the value, for quantiles the percentage."""
    column: str | None = None
    """The column of a table: values joined by ", "; for a comparison the two columns."""
    class_name: str | None = None
    """The value of the label; for a comparison the two classes, as in "yes vs no". None for all people."""
    estimate: float | None
    """The consistent estimate: probabilities are distributions, moments are in their possible range."""
    stderr: float | None = None
    """The standard error of `raw`; comparisons have neither."""
    low: float | None = None
    high: float | None = None
    """The 95% interval."""
    simultaneous_low: float | None = None
    simultaneous_high: float | None = None
    """95% intervals that all hold at once."""
    raw: float | None = None
    """The unbiased estimate, which may be outside the possible range."""
    n: int
    """The number of reports, or the noisy number of the rows of a curator or of silos."""
    mechanism: str | None = None
    """The mechanisms of the questions, joined by " + "; None for count and P(class), which all questions
    estimate."""
    distinguishable: bool | None = None
    """Whether the classes are distinguishable in this quantity; for P(class), from 1/k. None for all people
    and for comparisons."""
    wave: str | None = None
    """The wave, in rows about several waves; None in those about the wave of the results."""
    since: str | None = None
    """The wave that a change is measured from."""
    stands_out: bool | None = None
    """Whether a change differs from 0 by its simultaneous interval."""
    span: float = 1.0
    """The width of the possible range, which `known` compares with the interval; not a column."""

    known: bool = field(init=False)
    """Whether the estimate shows anything; pages and terminals show others as "unknown"."""

    def __post_init__(self) -> None:
        has_interval = self.statistic != INDEPENDENCE  # a p-value has none
        known = self.estimate is not None and (
            not has_interval or is_known(self.low, self.high, self.span, self.stderr)
        )
        object.__setattr__(self, "known", known)


def read_cell(array: FloatArray, index: tuple[int, ...]) -> float | None:
    """Return one cell of an array as a number; None if it is unknown."""
    number = float(array[index]) + 0.0  # no negative zero
    return number if math.isfinite(number) else None


def read_ends(estimate: IntervalEstimate | Comparison, index: tuple[int, ...]) -> dict[str, Any]:
    names = ("low", "high", "simultaneous_low", "simultaneous_high")
    return {name: read_cell(getattr(estimate, name), index) for name in names}


_ATTRIBUTES = {
    "class" if name == "class_name" else name: name
    for name in (each.name for each in fields(EstimateRow) if each.name != "span")
}
COLUMNS = tuple(_ATTRIBUTES)
"""The names of the columns, in order."""


def list_columns(rows: Sequence[EstimateRow]) -> tuple[str, ...]:
    """Return the names of the columns of these rows: without classes or tables, none about them."""
    hidden = set[str]()
    if all(row.class_name is None for row in rows):
        hidden |= {"class", "distinguishable"}
    if all(row.column is None for row in rows):
        hidden.add("column")
    if all(row.wave is None for row in rows):
        hidden |= {"wave", "since", "stands_out"}
    return tuple(name for name in COLUMNS if name not in hidden)


def list_records(rows: Sequence[EstimateRow]) -> list[dict[str, object]]:
    columns = list_columns(rows)
    return [{name: getattr(row, _ATTRIBUTES[name]) for name in columns} for row in rows]


def dump_table(rows: Sequence[EstimateRow]) -> str:
    return dump_csv(list_columns(rows), list_records(rows))


def group_by_feature(rows: Iterable[EstimateRow]) -> dict[str, list[EstimateRow]]:
    groups: dict[str, list[EstimateRow]] = {}
    for row in rows:
        groups.setdefault(row.feature, []).append(row)
    return groups


def build_table(estimates: Estimates, plan: AnyPlan | None = None) -> list[EstimateRow]:
    """Return the rows of all estimates of a survey.

    The estimates of all people come first, with those of tables. If there is a label, P(class), the estimates
    of each class, and for two classes their comparisons follow. With the plan, the choices of an entry with
    several answers are values of one feature; without it, each choice is a feature.
    """
    results = estimates.features
    joined = [each for _, each in join_choices(plan.features, results)] if plan else results
    counts = estimates.class_counts
    if counts:  # a curator measures some of the features
        joined = [each for each in joined if each.is_asked]
    shares = [
        *list_feature_rows(joined, (None,)),
        *_list_ordered_rows(joined, (None,)),
        *_list_table_rows(estimates.tables),
    ]
    if not estimates.has_label:
        return shares
    # the paper's estimator takes the prior from the label question alone
    n = (estimates.label_n or 0) if estimates.estimator == "paper" else estimates.people
    classes = estimates.classes
    return [
        *(_list_count_rows(estimates, counts) if counts else ()),
        *shares,
        *list_prior_rows(estimates.label, classes, estimates.raw_prior, n, estimates.non_uniform),
        *list_feature_rows(joined, classes),
        *_list_ordered_rows(joined, classes),
        *_list_comparisons(joined, classes),
    ]


def _list_count_rows(estimates: Estimates, counts: IntervalEstimate) -> Iterator[EstimateRow]:
    shown, classes = np.maximum(counts.value, 0.0)[:, None], _name_classes(estimates.classes)
    names = {"feature": estimates.label, "statistic": COUNT, "n": estimates.reports, "span": math.inf}
    return _list_cells(counts.reshape(-1, 1), shown, classes, [{}], **names)


def list_prior_rows(
    label: str, classes: Sequence[str], prior: IntervalEstimate, n: int, marks: BoolArray
) -> Iterator[EstimateRow]:
    pairs, consistent = zip(classes, marks.tolist(), strict=True), project_columns(prior.value[:, None])
    rows = [{"class_name": name, "distinguishable": mark} for name, mark in pairs]
    names = {"feature": label, "statistic": CLASS_PRIOR, "n": n}
    return _list_cells(prior.reshape(-1, 1), consistent, rows, [{}], **names)


def _name_classes(classes: Classes) -> list[dict[str, Any]]:
    return [{"class_name": name} for name in classes]


def _list_cells(
    estimate: IntervalEstimate,
    consistent: FloatArray,
    rows: Sequence[Mapping[str, Any]],
    columns: Sequence[Mapping[str, Any]],
    **names: Any,
) -> Iterator[EstimateRow]:
    """Yield the row of each cell of an estimate, (rows, columns), whose rows and columns have these names."""
    for index in np.ndindex(consistent.shape):
        row, column = index
        yield EstimateRow(
            estimate=None if math.isnan(consistent[index]) else float(consistent[index]),
            stderr=read_cell(estimate.stderr, index),
            **read_ends(estimate, index),
            raw=read_cell(estimate.value, index),
            **rows[row],
            **columns[column],
            **names,
        )


def list_feature_rows(features: Iterable[Result], classes: Classes) -> Iterator[EstimateRow]:
    """Yield the rows of each class, or with the classes (None,) those of all people."""
    for feature in features:
        if isinstance(feature, NumberResult):
            yield from _list_number_rows(feature, classes)
        else:
            yield from _list_value_rows(feature, classes)


def _list_value_rows(feature: FeatureResult, classes: Classes) -> Iterator[EstimateRow]:
    is_of_all = classes[0] is None
    shares = feature.shares.reshape(-1, 1) if is_of_all else feature.conditionals
    several, rows = feature.kind == Choices.kind, []
    for place, value in enumerate(feature.values):
        # an answer with several choices is missing for all at once
        is_missing = several and value == MISSING_TEXT
        names = (MISSING_SHARE, MISSING) if is_missing else (SHARE, CONDITIONAL)
        rows.append(
            {
                "statistic": names[0] if is_of_all else names[1],
                "value": None if is_missing else value,
                "n": feature.counts[place] if feature.counts else feature.n,
                "distinguishable": None if is_of_all else bool(feature.distinguishable_entries[place]),
            }
        )
    common = {"feature": feature.name, "mechanism": feature.mechanism}
    return _list_cells(shares, feature.make_consistent(shares), rows, _name_classes(classes), **common)


def _list_number_rows(feature: NumberResult, classes: Classes) -> Iterator[EstimateRow]:
    is_of_all = classes[0] is None
    statistics = feature.overall if is_of_all else feature.by_class
    mean, square = feature.mean_question, feature.square_question
    both = " + ".join(each.mechanism for each in (mean, square) if each.mechanism) or None
    means, deviations, missing = statistics.means, statistics.deviations, statistics.missing
    # a variance below zero is cut to zero, and its root is unknown
    cut = np.where(statistics.variances.value <= 0, 0.0, _cut_to_interval(deviations))
    n = mean.n + square.n
    # the width is half of the range, and the largest standard deviation
    parts: list[tuple[str, str, IntervalEstimate, FloatArray, int, str | None, float]] = [
        (MEAN, "means", means, _cut_to_interval(means), mean.n, mean.mechanism, 2 * feature.width),
        (DEVIATION, "variances", deviations, cut, n, both, feature.width),
    ]
    if missing:
        name = MISSING_SHARE if is_of_all else MISSING
        parts.append((name, "missing", missing, _cut_to_interval(missing), n, both, 1.0))
    for statistic, mark, estimate, consistent, reports, mechanism, span in parts:
        yield from _list_cells(
            estimate.reshape(1, -1),
            consistent[None],
            [{}],
            _name_classes(classes),
            feature=feature.name,
            statistic=statistic,
            n=reports,
            mechanism=mechanism,
            distinguishable=None if is_of_all else feature.distinguishable_entries.get(mark),
            span=span,
        )


def _list_comparisons(features: Iterable[Result], classes: Sequence[str]) -> Iterator[EstimateRow]:
    for feature in features:
        if isinstance(feature, FeatureResult):
            counts = feature.counts or [feature.n] * len(feature.values)
            names = {
                "feature": feature.name,
                "mechanism": feature.mechanism,
                "class_name": " vs ".join(classes),
            }
            yield from _compare_values(feature.comparisons, zip(feature.values, counts, strict=True), **names)


def _compare_values(
    comparisons: Mapping[str, Comparison], values: Iterable[tuple[str, int]], **names: Any
) -> Iterator[EstimateRow]:
    """Yield the rows of values with their numbers of reports."""
    listed = list(values)
    for statistic, comparison in comparisons.items():
        for place, (value, n) in enumerate(listed):
            yield EstimateRow(
                statistic=statistic,
                value=value,
                estimate=read_cell(comparison.value, (place,)),
                **read_ends(comparison, (place,)),
                n=n,
                span=_COMPARISON_SPANS[statistic],
                **names,
            )


def _list_ordered_rows(features: Iterable[Result], classes: Classes) -> Iterator[EstimateRow]:
    is_of_all = classes[0] is None
    for feature in features:
        if isinstance(feature, NumberResult) or not (ordered := feature.ordered):
            continue
        shares = ordered.cumulative.reshape(-1, 1) if is_of_all else ordered.by_class
        shown = ordered.consistent.reshape(-1, 1) if is_of_all else ordered.consistent_by_class
        names = (BELOW, CLASS_BELOW) if ordered.edges else (AT_MOST, CLASS_AT_MOST)
        more: dict[str, Any] = {"feature": feature.name, "n": feature.n, "mechanism": feature.mechanism}
        limits = [{"value": each} for each in ordered.limits]
        statistic = names[0] if is_of_all else names[1]
        yield from _list_cells(shares, shown, limits, _name_classes(classes), statistic=statistic, **more)
        span = ordered.edges[-1] - ordered.edges[0] if ordered.edges else float(len(ordered.limits))
        quantiles = ordered.quantiles.reshape(-1, 1) if is_of_all else ordered.class_quantiles
        for place, probability in enumerate(PROBABILITIES):
            for index, name in enumerate(classes):
                yield EstimateRow(
                    statistic=QUANTILE if is_of_all else CLASS_QUANTILE,
                    value=f"{probability:.0%}",
                    class_name=name,
                    estimate=read_cell(quantiles.value, (place, index)),
                    **read_ends(quantiles, (place, index)),
                    span=span,
                    **more,
                )


def _list_table_rows(tables: Iterable[TableResult]) -> Iterator[EstimateRow]:
    for table in tables:
        names = [", ".join(each) for each in table.columns]
        more: dict[str, Any] = {"feature": table.name, "mechanism": table.mechanism}
        estimates = (table.cells, table.row_shares, table.column_shares)
        parts = zip((CELL, ROW_SHARE, COLUMN_SHARE), estimates, table.make_consistent(), strict=True)
        rows, columns = [{"value": each} for each in table.rows], [{"column": each} for each in names]
        for name, estimate, shown in parts:
            yield from _list_cells(estimate, shown, rows, columns, statistic=name, n=table.n, **more)
        values = [(value, table.n) for value in table.rows]
        yield from _compare_values(table.comparisons, values, column=" vs ".join(names), **more)
        if table.independence:
            yield EstimateRow(statistic=INDEPENDENCE, estimate=table.independence.p_value, n=table.n, **more)


def _cut_to_interval(estimate: IntervalEstimate) -> FloatArray:
    """Cut the estimates of a number to their possible range.

    The intervals are cut to that range and contain the cut estimate, so cutting to the interval is the same.
    """
    return np.clip(estimate.value, estimate.low, estimate.high)
