"""The parts about tables of several features, and about cumulative shares and quantiles."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from encoders.survey import CategoricalFeature, Feature
from encoders.survey.compiled_plan import AnyPlan
from encoders.survey.levels import count_values
from encoders.survey.numeric_features import BinnedFeature
from ldp_aggregator.estimation.table_result import TableResult
from ldp_aggregator.render.document import Bullets, Note, Part, PlainTable, Section
from ldp_aggregator.results import Results
from ldp_aggregator.statements import TEXTS
from ldp_aggregator.views.estimate_rows import (
    AT_MOST,
    BELOW,
    CELL,
    CLASS_QUANTILE,
    COMPARISONS,
    QUANTILE,
    ROW_SHARE,
    EstimateRow,
    group_by_feature,
)
from ldp_aggregator.views.estimate_tables import (
    build_bars,
    build_comparison_table,
    find_class_texts,
    find_texts,
)
from ldp_aggregator.wording.statement import Statement
from ldp_aggregator.wording.values import UNKNOWN, Names, format_percent

MAX_SHOWN_ROWS, MAX_SHOWN_COLUMNS = 40, 12
"""Tables with more rows or columns are in the CSV file only."""
MAX_SHOWN_LIMITS = 12
"""Number of cumulative shares that are shown; the CSV file has all."""
DEPENDENT_LEVEL = 0.05
"""A p-value up to this one shows that rows and columns depend on each other."""
MIN_SHOWN_BINS = 5
"""Fewer bins say little about quantiles."""
_SHADES = 5


def build_tables(results: Results, table: Sequence[EstimateRow]) -> Section | None:
    """Return the section about tables of several features; None without tables."""
    rows = group_by_feature(table)
    parts = [
        Section(
            id=f"table-{index}",
            heading=each.name,
            parts=_describe_table(each, results.plan, rows.get(each.name, [])),
        )
        for index, each in enumerate(results.estimates.tables, 1)
    ]
    if not parts:
        return None
    tests = Bullets([find_independence(each) for each in results.estimates.tables])
    note = Note(TEXTS.find("tables.several-features"))
    return Section(id="tables", heading=TEXTS.find("headings.tables"), parts=[tests, note, *parts])


def _describe_table(result: TableResult, plan: AnyPlan, table: Sequence[EstimateRow]) -> list[Part]:
    rows = [row for row in table if row.n]
    across = ", ".join(result.across)
    if not rows or len(result.rows) > MAX_SHOWN_ROWS or len(result.columns) > MAX_SHOWN_COLUMNS:
        return [Note(TEXTS.find("tables.too-large"))] if rows else []
    texts = find_texts(plan, result.features[0])
    names = [find_texts(plan, each) for each in result.across]
    columns = {
        ", ".join(each): ", ".join(known.get(value, value) for known, value in zip(names, each, strict=True))
        for each in result.columns
    }
    shares = [row for row in rows if row.statistic == ROW_SHARE]
    bars = build_bars(shares, f"Shares of {across} in each row", across, texts, columns)
    compared = [row for row in rows if row.statistic in COMPARISONS]
    groups = [f"{across} = {name}" for name in columns.values()]
    return [
        _draw_heat(result, [row for row in rows if row.statistic == CELL], texts, columns),
        bars,
        *([build_comparison_table(compared, groups, texts)] if compared else []),
    ]


def find_independence(result: TableResult) -> Statement:
    """Return whether the rows of a table depend on its columns."""
    test, levels = result.independence, (0.001, 0.01)
    shown = next((f"p < {level:g}" for level in levels if test and test.p_value < level), None)
    return TEXTS.find(
        "tables.independence",
        known=test is not None,
        table=result.name,
        dependent=test is not None and test.p_value <= DEPENDENT_LEVEL,
        rows=result.features[0],
        columns=Names(result.across),
        p=shown or (f"p = {test.p_value:.2f}" if test else ""),
    )


def _draw_heat(
    result: TableResult, cells: Sequence[EstimateRow], texts: Mapping[str, str], columns: Mapping[str, str]
) -> PlainTable:
    """Return the shares of all cells; the larger a share, the darker its cell."""
    largest = max((row.estimate or 0.0 for row in cells), default=0.0) or 1.0
    rows, shades, count = [], [], len(columns)
    for place, value in enumerate(result.rows):
        part = cells[place * count : (place + 1) * count]
        rows.append(
            (
                texts.get(value, value),
                *(format_percent(row.estimate or 0.0) if row.known else UNKNOWN for row in part),
            )
        )
        shades.append([round(_SHADES * (row.estimate or 0.0) / largest) * row.known for row in part])
    return PlainTable(
        caption="Share of each combination among all people",
        head=(result.features[0], *columns.values()),
        rows=rows,
        numeric=set(range(1, count + 1)),
        shades=shades,
    )


def build_cumulative(plan: AnyPlan, entry: Feature, rows: Sequence[EstimateRow]) -> list[Part]:
    """Return the median of an ordered feature, its quartiles, and a choice of its cumulative shares."""
    mine = [row for row in rows if row.class_name is None]
    limits = [row for row in mine if row.statistic in (BELOW, AT_MOST)]
    quantiles = [row for row in mine if row.statistic == QUANTILE]
    if not limits or not _shows_quantiles(entry):
        return []
    texts = find_texts(plan, entry.name)
    shown = [_show_quantile(entry, row, texts) for row in quantiles]
    median = shown[len(shown) // 2]
    step = -(-len(limits) // MAX_SHOWN_LIMITS)
    words = "below" if isinstance(entry, BinnedFeature) else "up to"
    names = {row.value or "": f"{words} {texts.get(row.value or '', row.value or '')}" for row in limits}
    quartiles = [(row.value or "", *cells) for row, cells in zip(quantiles, shown, strict=True)]
    return [
        TEXTS.find(
            "tables.median",
            feature=entry.name,
            known=median[0] != UNKNOWN,
            median=median[0],
            interval=median[1],
        ),
        PlainTable(
            caption="Quantiles, with 95% intervals",
            head=("Quantile", "Estimate", "95% interval"),
            rows=quartiles,
            numeric={1, 2},
        ),
        build_bars(limits[step - 1 :: step], "Cumulative shares", "Answers", names),
    ]


def build_class_quantiles(plan: AnyPlan, entry: Feature, rows: Sequence[EstimateRow]) -> list[PlainTable]:
    """Return the quantiles of an ordered feature in each class."""
    rows = [row for row in rows if row.statistic == CLASS_QUANTILE and _shows_quantiles(entry)]
    texts, classes = find_texts(plan, entry.name), find_class_texts(plan)
    shown: dict[str, list[str]] = {}
    for row in rows:
        value, interval = _show_quantile(entry, row, texts)
        cell = UNKNOWN if value == UNKNOWN else f"{value} ({interval})"
        shown.setdefault(row.class_name or "", []).append(cell)
    return [
        PlainTable(
            caption="Quantiles in each class, with 95% intervals",
            head=("Class", *dict.fromkeys(row.value or "" for row in rows)),
            rows=[(classes.get(name, name), *cells) for name, cells in shown.items()],
            numeric={1, 2, 3},
        )
    ][: len(rows)]


def _shows_quantiles(entry: Feature) -> bool:
    return isinstance(entry, CategoricalFeature) or count_values(entry) >= MIN_SHOWN_BINS


def _show_quantile(entry: Feature, row: EstimateRow, texts: Mapping[str, str]) -> tuple[str, str]:
    """Return a quantile and its interval as texts; both may be unknown."""

    def write(number: float) -> str:
        if isinstance(entry, CategoricalFeature):
            value = entry.values[round(number)]
            return texts.get(value, value)
        return f"{number:.4g}"

    if not row.known:
        return UNKNOWN, UNKNOWN
    estimate, low, high = (write(each or 0.0) for each in (row.estimate, row.low, row.high))
    return estimate, f"{low} to {high}"
