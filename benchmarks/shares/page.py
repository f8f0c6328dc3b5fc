"""Writes the measured tables into the page of results."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.parts import Results, fill_page, make_table, percent
from benchmarks.shares.coverage import LEVEL, Coverage
from benchmarks.shares.looks import FREQUENCIES, SURVEYS
from benchmarks.shares.populations import STATISTICS

SHORT = {"standard deviation": "deviation", "risk difference": "difference"}


def write_page(page: Path, results: Results) -> Iterator[str]:
    """Write the tables into the page, and yield their lines."""
    coverages = [Coverage(**each) for each in results["coverage"]]
    tables = {
        "summary": summarise_coverage(coverages, STATISTICS),
        "coverage": _list_settings(coverages),
        "people": _list_people(results["people"]),
        "looks": _list_looks(results["looks"]),
    }
    return fill_page(page, "benchmarks.shares", tables)


def summarise_coverage(coverages: Sequence[Coverage], statistics: Sequence[str]) -> Iterator[str]:
    """Yield a line for each statistic: over all of its cells, one for each setting."""
    rows = []
    for statistic in statistics:
        mine = [each for each in coverages if each.statistic == statistic]
        known = np.array([1 - each.unknown for each in mine])
        informative = np.array([each.informative or 0.0 for each in mine])
        held = [each.held for each in mine]
        rows.append(
            [
                statistic,
                percent(np.mean(held)),
                percent(known @ informative / known.sum()) if known.any() else "-",
                f"{np.mean([each.unknown for each in mine]):.0%}",
                f"{percent(min(held))} to {percent(max(held))}",
                sum(not each.is_right and each.held < LEVEL for each in mine),
                sum(not each.is_right and each.held > LEVEL for each in mine),
                percent(min(each.simultaneous for each in mine)),
                sum(not each.holds_together for each in mine),
                len(mine),
            ]
        )
    head = (
        "statistic, coverage, if informative, unknown, cells, too low, too high, "
        "least together, together too low, number of cells"
    )
    yield from make_table(head.split(", "), rows)


def _list_settings(coverages: Sequence[Coverage]) -> Iterator[str]:
    """Yield a line for each setting, with a column for each statistic."""
    found = {(each.setting, each.statistic): each for each in coverages}
    rows = []
    for setting in dict.fromkeys(each.setting for each in coverages):
        cells = [_show(found.get((setting, statistic))) for statistic in STATISTICS]
        label = "yes" if setting.labelled else "no"
        rows.append([setting.data, f"{setting.people:,}", setting.epsilon, label, *cells])
    yield from make_table(
        ["data", "people", "epsilon", "label", *(SHORT.get(each, each) for each in STATISTICS)], rows
    )


def _show(coverage: Coverage | None) -> str:
    """Return the coverage of a cell, and in brackets the share of unknown intervals from 1% on."""
    if coverage is None:
        return "-"
    unknown = f" ({coverage.unknown:.0%})" if coverage.unknown >= 0.005 else ""
    return percent(coverage.held) + unknown


def _list_people(rows: Sequence[dict[str, Any]]) -> Iterator[str]:
    lines = [
        [
            each["values"],
            each["classes"],
            f"{each['without']:,.0f}",
            f"{each['with']:,.0f}",
            *(f"{each[name]:.2f}" for name in ("closed_form", "by_width", "by_error")),
        ]
        for each in rows
    ]
    yield from make_table(
        ["values", "classes", "without a label", "with one", "times", "by width", "by error"], lines
    )


def _list_looks(rows: Sequence[dict[str, Any]]) -> Iterator[str]:
    lines = []
    for what in SURVEYS:
        mine = [each for each in rows if each["what"] == what]
        names = [*map(str, FREQUENCIES), "all"]
        shares = [percent(np.mean([each[name] for each in mine])) for name in names]
        lines.append([what, *shares, f"{np.mean([each['wider'] for each in mine]):.2f}"])
    counts = [f"{each} looks" for each in FREQUENCIES]
    yield from make_table(
        ["estimate", *counts, f"{FREQUENCIES[-1]} looks, wider intervals", "times as wide"], lines
    )
