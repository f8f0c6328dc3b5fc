"""Formats the table of estimates for a terminal: one small table per feature, with classes as columns."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import groupby

from encoders.text_table import format_table
from ldp_aggregator.estimation.intervals import Z95
from ldp_aggregator.results.table import CLASS_PRIOR, CONDITIONAL, DEVIATION, Row

MAX_FEATURES = 12
MAX_VALUES = 12
MAX_CLASSES = 6
_MAX_NAME = 30
_MAX_CLASS_NAME = 14
_MARK = "*"
UNKNOWN = "unknown"
_UNINFORMATIVE_SHARE = 0.75
"""An estimate is printed as unknown if its interval covers at least this share of the possible values."""

LEGEND = (
    "estimate +- half the width of its single 95% interval, before that is cut to possible values. Estimates "
    "are consistent: the shares of a class are at least 0 and add up to 1, and a mean is in its range. "
    f"{_MARK}: the classes differ significantly in this row, by a test at level 5% for the whole feature. "
    f"unknown: the interval covers at least {_UNINFORMATIVE_SHARE:.0%} of the possible values."
)
INTERVAL_LEGEND = (
    "a to b, for a standard deviation: the ends of its interval, where the estimate of the variance is not "
    "above 0."
)


def format_tables(
    rows: Sequence[Row], label: str, how_to_see_all: str, widths: Mapping[str, float] | None = None
) -> list[str]:
    """Return the lines of one table per feature; features without any estimate are left out.

    Parameters
    ----------
    rows : sequence of Row
        As :func:`build_table` returns them.
    label : str
        Name of the label, for the titles.
    how_to_see_all : str
        Completes the line that follows a table that was cut: "... and 3 more values: <how_to_see_all>".
    widths : mapping of str to float, optional
        The width of each number's range, by the name of the feature.
    """
    tables = [
        list(group)
        for _, group in groupby(
            (row for row in rows if row["statistic"] != CLASS_PRIOR), key=lambda row: row["feature"]
        )
    ]
    known = [table for table in tables if any(row["estimate"] is not None for row in table)]
    if len(known) > MAX_FEATURES:  # those whose classes are distinguishable first
        known.sort(key=lambda table: not any(row["distinguishable"] for row in table))
    lines: list[str] = []
    for table in known[:MAX_FEATURES]:
        lines += ["", *_format_feature(table, label, how_to_see_all, widths or {})]
    if len(known) > MAX_FEATURES:
        lines += ["", f"... and {len(known) - MAX_FEATURES} more features: {how_to_see_all}"]
    return lines[1:]


def _format_feature(
    table: Sequence[Row], label: str, how_to_see_all: str, widths: Mapping[str, float]
) -> list[str]:
    classes = list(dict.fromkeys(row["class"] for row in table))
    shown = classes[:MAX_CLASSES]
    name, is_discrete = table[0]["feature"], table[0]["statistic"] == CONDITIONAL
    lines = [["", "", *(_shorten(each, _MAX_CLASS_NAME) for each in shown)]]
    groups = [list(group) for _, group in groupby(table, key=lambda row: (row["statistic"], row["value"]))]
    for group in groups[:MAX_VALUES]:
        title = group[0]["value"] if is_discrete else group[0]["statistic"]
        mark = _MARK if group[0]["distinguishable"] else ""
        cells = (_format_estimate(row, widths.get(name, math.inf)) for row in group[:MAX_CLASSES])
        lines.append([f"  {_shorten(title or '', _MAX_NAME)}", mark, *cells])
    cut = [
        f"{len(all_items) - limit} more {kind}"
        for all_items, limit, kind in ((groups, MAX_VALUES, "values"), (classes, MAX_CLASSES, "classes"))
        if len(all_items) > limit
    ]
    heading = f"P({name} | {label})" if is_discrete else f"{name}, by {label}"
    more = [f"  ... and {' and '.join(cut)}: {how_to_see_all}"] if cut else []
    return [heading, *format_table(lines, "<<" + ">" * len(shown)), *more]


def _format_estimate(row: Row, width: float) -> str:
    """Return "0.250 +- 0.031"; without a standard error, "0 to 2.5"; or "unknown".

    `width` is the width of the number's range; a standard deviation is at most half of it.
    """
    if row["estimate"] is None or row["low"] is None or row["high"] is None:
        return UNKNOWN
    is_share = row["statistic"].startswith("P(")
    possible = 1.0 if is_share else width / 2 if row["statistic"] == DEVIATION else width
    if row["high"] - row["low"] >= _UNINFORMATIVE_SHARE * possible:
        return UNKNOWN
    if row["stderr"] is None:
        return f"{row['low']:.4g} to {row['high']:.4g}"
    half = Z95 * row["stderr"]
    return f"{row['estimate']:.3f} +- {half:.3f}" if is_share else f"{row['estimate']:.4g} +- {half:.2g}"


def _shorten(name: str, limit: int) -> str:
    return name if len(name) <= limit else f"{name[: limit - 3]}..."
