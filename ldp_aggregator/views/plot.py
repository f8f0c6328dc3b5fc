"""Draws the bars of the results page with matplotlib, which is imported on use: the extra [plot]."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator
from importlib.resources import files
from typing import TYPE_CHECKING, Any, NamedTuple

from encoders.late_imports import LateImport
from ldp_aggregator.render.document import EstimateCells, EstimateTable, Section
from ldp_aggregator.render.interval import COLOURS, Axis, Mark
from ldp_aggregator.results import Results
from ldp_aggregator.results_file import ResultsError
from ldp_aggregator.statements import TEXTS
from ldp_aggregator.views.estimate_rows import build_table
from ldp_aggregator.views.estimate_tables import build_feature_tables, build_prior_table, build_share_tables
from ldp_aggregator.views.sections import build_tables
from ldp_aggregator.views.series_sections import build_series

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_FIGURE = LateImport("matplotlib.figure:Figure", "plot", "plot")
_WIDTH_INCHES, _ROW_INCHES, _PANEL_INCHES = 8.5, 0.3, 0.75
_LINE = 120
_TEXT: dict[str, Any] = {"fontsize": 9, "parse_math": False}
"""Names may contain dollar signs, between which matplotlib would read formulas."""


class _Panel(NamedTuple):
    """Rows that share an axis, each with its name; a name alone is a heading."""

    title: str
    ticks: tuple[str, str, str]
    rows: list[tuple[str, EstimateCells | None]]


def plot_estimates(results: Results, name: str, by: str = "", figure: Figure | None = None) -> Figure:
    """Draw the bars and intervals that the results page shows of one name; see `DescribedModel.plot`."""
    tables = _find_tables(results, name, by)
    if figure is None:
        figure = _FIGURE.load()()
    panels = [panel for table in tables for panel in _list_panels(table)]
    heights = [_PANEL_INCHES + _ROW_INCHES * len(panel.rows) for panel in panels]
    figure.set_size_inches(_WIDTH_INCHES, sum(heights) + 2 * _PANEL_INCHES)
    figure.set_layout_engine("constrained")
    figure.suptitle(name, x=0.01, ha="left", fontweight="bold", parse_math=False)
    axes = figure.subplots(len(panels), squeeze=False, gridspec_kw={"height_ratios": heights})[:, 0]
    colours = _read_colours()
    for panel, each in zip(panels, axes, strict=True):
        _draw_panel(each, panel, colours)
    legend = str(TEXTS.find("tables.bars", classes=results.plan.label.exists, all_looks=False))
    figure.supxlabel(textwrap.fill(legend, _LINE), x=0.01, ha="left", fontsize=8, color=colours["soft"])
    return figure


def _find_tables(results: Results, name: str, by: str) -> list[EstimateTable]:
    plan = results.plan
    if by not in ("", "class", "wave"):
        raise ResultsError(f"by: must be class, wave or empty, not {by!r}")
    rows = build_table(results.estimates, plan) if results.has_estimates and not results.is_validation else []
    if by == "class":
        found = {each: list(tables) for each, tables in build_feature_tables(rows, plan).items()}
    elif by == "wave":
        found = _list_drawn(build_series(results))
    else:
        found = {each: [table] for each, table in build_share_tables(rows, plan).items()}
        found |= _list_drawn(build_tables(results, rows))
        if plan.label.exists and rows:
            found[plan.label.name] = [build_prior_table(rows, plan)]
    if name not in found:
        known = ", ".join(found) or "there are none"
        raise ResultsError(f"{name}: there are no such estimates{f' by {by}' if by else ''}; known: {known}")
    return found[name]


def _list_drawn(section: Section | None) -> dict[str, list[EstimateTable]]:
    """Return the tables with bars of each part of a section, by the feature's name."""
    found: dict[str, list[EstimateTable]] = {}
    parts = [each for each in section.parts if isinstance(each, Section)] if section else []
    for table in (table for part in parts for table in part.parts if isinstance(table, EstimateTable)):
        found.setdefault(table.name, []).append(table)
    return found


def _list_panels(table: EstimateTable) -> Iterator[_Panel]:
    """Yield the panel of a table; the statistics of a number have a panel each."""
    rows: list[tuple[str, EstimateCells | None]] = []
    for group in table.groups:
        rows += [(f"{group.value}{' ●' * group.marked}", None)] if group.value else []
        rows += [(f"{row.name}{' ●' * (row.marked and bool(table.row_mark))}", row) for row in group.rows]
    if table.ticks:
        yield _Panel(table.caption, table.ticks, rows)
        return
    for place, (name, row) in enumerate(rows):
        if row and row.ticks:
            yield _Panel(table.caption * (not place), row.ticks, [(name, row)])


def _draw_panel(axes: Any, panel: _Panel, colours: dict[str, str]) -> None:
    cells = [row for _, row in panel.rows if row]
    axis = cells[0].axis
    for place, (name, row) in enumerate(panel.rows):
        if row is None:
            axes.text(axis.low, place, name, va="center", fontweight="bold", **_TEXT)
        else:
            numbers = f"{row.estimate}   {row.interval}" if row.is_known else row.estimate
            axes.text(1.02, place, numbers, transform=axes.get_yaxis_transform(), va="center", **_TEXT)
            if row.mark:
                _draw_mark(axes, place, axis, row.mark, colours)
    axes.set_title(panel.title, loc="left", **_TEXT | {"fontsize": 10})
    quarters = [axis.low + part * (axis.high - axis.low) / 4 for part in range(5)]
    low, middle, high = panel.ticks
    axes.set(xlim=(axis.low, axis.high), ylim=(len(panel.rows) - 0.5, -0.5))
    axes.set_xticks(quarters, [low, "", middle, "", high], **_TEXT)
    axes.set_yticks(range(len(panel.rows)), [name * bool(row) for name, row in panel.rows], **_TEXT)
    axes.set_axisbelow(True)
    axes.xaxis.grid(color=colours["grid"])
    axes.spines[:].set_visible(False)
    axes.tick_params(length=0)


def _draw_mark(axes: Any, place: int, axis: Axis, mark: Mark, colours: dict[str, str]) -> None:
    def cut(*numbers: float) -> list[float]:
        return [min(max(each, axis.low), axis.high) for each in numbers]

    colour, [value] = colours[f"class-{mark.colour % COLOURS}"], cut(mark.value)
    if mark.from_zero:
        axes.barh(place, value - axis.low, 0.55, axis.low, color=colour, alpha=0.6)
    if mark.trend:
        axes.plot(cut(*mark.trend), [place - 0.5, place, place + 0.5], "--", color=colours["class-0"], lw=1.2)
    for name, width, ends in (("wide", 1.0, mark.simultaneous), ("single", 1.8, mark.single)):
        if ends:
            axes.plot(cut(*ends), [place, place], color=colours[name], lw=width, marker="|", markersize=6)
    if not mark.from_zero:
        axes.plot(value, place, "o", color=colour, markeredgecolor="white", markersize=7)


def _read_colours() -> dict[str, str]:
    """Return the colours of the page on a white ground."""
    style = files("ldp_aggregator.render").joinpath("style.css").read_text("utf-8")
    return dict(reversed(re.findall(r"--([\w-]+): (#\w+);", style)))
