"""The section about tables of several features."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from encoders.survey.compiled_plan import AnyPlan
from ldp_aggregator.estimation.table_result import TableResult
from ldp_aggregator.render.document import Bullets, Note, Part, PlainTable, Section
from ldp_aggregator.results import Results
from ldp_aggregator.statements import TEXTS
from ldp_aggregator.views.estimate_rows import (
    CELL,
    COMPARISONS,
    ROW_SHARE,
    EstimateRow,
    group_by_feature,
)
from ldp_aggregator.views.estimate_tables import (
    build_bars,
    build_comparison_table,
    find_texts,
)
from ldp_aggregator.wording.statement import Statement
from ldp_aggregator.wording.values import UNKNOWN, Names, format_percent

MAX_SHOWN_ROWS, MAX_SHOWN_COLUMNS = 40, 12
"""Tables with more rows or columns are in the CSV file only."""
DEPENDENT_LEVEL = 0.05
"""A p-value up to this one shows that rows and columns depend on each other."""
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
