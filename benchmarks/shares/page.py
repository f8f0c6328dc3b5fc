"""Writes the measured tables into the page of results, each between two comments."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.shares.coverage import LEVEL, Coverage
from benchmarks.shares.looks import FREQUENCIES, SURVEYS
from benchmarks.shares.populations import STATISTICS

Results = dict[str, list[dict[str, Any]]]
"""Rows of each table: coverage, people and looks."""
SHORT = {"standard deviation": "deviation", "risk difference": "difference"}


def write_page(page: Path, results: Results) -> Iterator[str]:
    """Write the tables into the page, and yield their lines."""
    text = page.read_text("utf-8")
    coverages = [Coverage(**each) for each in results["coverage"]]
    tables = {
        "summary": list(_summarise(coverages)),
        "coverage": list(_list_settings(coverages)),
        "people": list(_list_people(results["people"])),
        "looks": list(_list_looks(results["looks"])),
    }
    for name, lines in tables.items():
        start, end = f"<!-- {name}: written by benchmarks.shares -->", f"<!-- end of {name} -->"
        before, _, rest = text.partition(start)
        _, found, after = rest.partition(end)
        if not found:
            raise ValueError(f"{page} has no place for the table {name}: it needs {start} and {end}")
        text = "\n".join([before + start, "", *lines, "", end + after])
        yield from [*lines, ""]
    page.write_text(text, "utf-8")


def _table(head: Sequence[str], rows: Sequence[Sequence[object]]) -> Iterator[str]:
    yield f"| {' | '.join(head)} |"
    yield "|---" * len(head) + "|"
    for row in rows:
        yield f"| {' | '.join(map(str, row))} |"


def _summarise(coverages: Sequence[Coverage]) -> Iterator[str]:
    """Yield a line for each statistic: over all of its cells, one for each setting."""
    rows = []
    for statistic in STATISTICS:
        mine = [each for each in coverages if each.statistic == statistic]
        known = np.array([1 - each.unknown for each in mine])
        informative = np.array([each.informative or 0.0 for each in mine])
        held = [each.held for each in mine]
        rows.append(
            [
                statistic,
                _percent(np.mean(held)),
                _percent(known @ informative / known.sum()) if known.any() else "-",
                f"{np.mean([each.unknown for each in mine]):.0%}",
                f"{_percent(min(held))} to {_percent(max(held))}",
                sum(not each.is_right and each.held < LEVEL for each in mine),
                sum(not each.is_right and each.held > LEVEL for each in mine),
                _percent(min(each.simultaneous for each in mine)),
                sum(not each.holds_together for each in mine),
                len(mine),
            ]
        )
    head = (
        "statistic, coverage, if informative, unknown, cells, too low, too high, "
        "least together, together too low, number of cells"
    )
    yield from _table(head.split(", "), rows)


def _list_settings(coverages: Sequence[Coverage]) -> Iterator[str]:
    """Yield a line for each setting, with a column for each statistic."""
    found = {(each.setting, each.statistic): each for each in coverages}
    rows = []
    for setting in dict.fromkeys(each.setting for each in coverages):
        cells = [_show(found.get((setting, statistic))) for statistic in STATISTICS]
        label = "yes" if setting.labelled else "no"
        rows.append([setting.data, f"{setting.people:,}", setting.epsilon, label, *cells])
    yield from _table(
        ["data", "people", "epsilon", "label", *(SHORT.get(each, each) for each in STATISTICS)], rows
    )


def _show(coverage: Coverage | None) -> str:
    """Return the coverage of a cell, and in brackets the share of unknown intervals from 1% on."""
    if coverage is None:
        return "-"
    unknown = f" ({coverage.unknown:.0%})" if coverage.unknown >= 0.005 else ""
    return _percent(coverage.held) + unknown


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
    yield from _table(
        ["values", "classes", "without a label", "with one", "times", "by width", "by error"], lines
    )


def _list_looks(rows: Sequence[dict[str, Any]]) -> Iterator[str]:
    lines = []
    for what in SURVEYS:
        mine = [each for each in rows if each["what"] == what]
        names = [*map(str, FREQUENCIES), "all"]
        shares = [_percent(np.mean([each[name] for each in mine])) for name in names]
        lines.append([what, *shares, f"{np.mean([each['wider'] for each in mine]):.2f}"])
    counts = [f"{each} looks" for each in FREQUENCIES]
    yield from _table(
        ["estimate", *counts, f"{FREQUENCIES[-1]} looks, wider intervals", "times as wide"], lines
    )


def _percent(share: Any) -> str:
    return f"{100 * float(share):.1f}"
