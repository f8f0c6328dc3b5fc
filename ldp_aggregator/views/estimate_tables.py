"""Builds tables of estimates with pictures of their intervals from the rows of the table of estimates."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby

from encoders.survey import Feature, NumericFeature
from encoders.survey.compiled_plan import AnyPlan
from encoders.survey.display_texts import display_texts
from encoders.survey.features import BinnedFeature, Choices, row_entries
from encoders.survey.parse_value import MISSING_TEXT
from ldp_aggregator.estimation.figures import CLASS_PRIOR, CONDITIONAL, MEAN, MISSING, MISSING_SHARE, SHARE
from ldp_aggregator.estimation.intervals import Z95
from ldp_aggregator.render.document import EstimateCells, EstimateGroup, EstimateTable, PlainTable
from ldp_aggregator.render.interval import Axis, Mark, choose_positive_axis, choose_share_axis
from ldp_aggregator.statements import TEXTS
from ldp_aggregator.views.estimate_rows import COMPARISONS, DEVIATION, EstimateRow, group_by_feature
from ldp_aggregator.wording.language import LANGUAGE
from ldp_aggregator.wording.values import (
    WORDS,
    Format,
    choose_number_format,
    format_axis_percent,
    format_interval,
    format_percent,
    format_plain,
    format_points,
    format_ratio,
    write_bins,
    write_unknown,
)

_TITLES = {CONDITIONAL: "conditional", MEAN: "mean", DEVIATION: "deviation", MISSING: "missing"}
_STATISTICS = {MEAN: MEAN, DEVIATION: DEVIATION, MISSING_SHARE: "missing answers"}


@dataclass(frozen=True, kw_only=True)
class _RowScale:
    axis: Axis
    write: Format
    write_axis: Format
    from_zero: bool = True


def build_prior_table(rows: Sequence[EstimateRow], plan: AnyPlan) -> EstimateTable:
    prior = [row for row in rows if row.statistic == CLASS_PRIOR]
    return _build_table(prior, "class-shares", "", _choose_share_scale(prior), find_class_texts(plan), {})


def build_share_tables(rows: Iterable[EstimateRow], plan: AnyPlan) -> Mapping[str, EstimateTable]:
    """Return the table of all people for each entry of the survey with estimates, by its name."""
    entries, tables = {each.name: each for each in row_entries(plan.features)}, {}
    shown = {SHARE, *_STATISTICS}
    of_all = (row for row in rows if row.class_name is None and row.statistic in shown and row.mechanism)
    for name, group in groupby(of_all, key=lambda row: row.feature):
        part, entry, texts = list(group), entries[name], find_texts(plan, name)
        is_number = isinstance(entry, NumericFeature)
        cells, ticks = [], None
        # the statistics of a number have a scale each; the values of a feature share one
        for same_scale in [[row] for row in part] if is_number else [part]:
            scale = _choose_scale(same_scale, entry)
            ticks = scale.axis.labels(scale.write_axis)
            for row in same_scale:
                value = row.value or (
                    name_statistic(_STATISTICS[row.statistic]) if is_number else MISSING_TEXT
                )
                cell = _build_row(row, 0, scale, texts.get(value, value))
                cells.append(replace(cell, ticks=ticks) if is_number else cell)
        table = TEXTS.table({Choices: "choices", NumericFeature: "numbers"}.get(type(entry), "values"))
        tables[name] = EstimateTable(
            caption=table["caption"],
            name=name,
            ticks=None if is_number else ticks,
            groups=(EstimateGroup(value="", marked=False, rows=tuple(cells)),),
            head=table["head"][0],
        )
    return tables


def build_feature_tables(rows: Iterable[EstimateRow], plan: AnyPlan) -> Mapping[str, list[EstimateTable]]:
    """Return the tables by class of each entry with estimates; values have the texts of the survey."""
    entries, classes = {each.name: each for each in row_entries(plan.features)}, find_class_texts(plan)
    tables: dict[str, list[EstimateTable]] = {}
    by_class = (row for row in rows if row.statistic in _TITLES and row.class_name and row.mechanism)
    for (name, statistic), group in groupby(by_class, key=lambda row: (row.feature, row.statistic)):
        part = list(group)
        scale = _choose_scale(part, entries[name])
        table = _build_table(part, _TITLES[statistic], name, scale, classes, find_texts(plan, name))
        tables.setdefault(name, []).append(table)
    return tables


def build_wave_table(
    statistic: str,
    levels: Sequence[EstimateRow],
    trend: Sequence[EstimateRow],
    plan: AnyPlan,
    unfinished: Collection[str],
) -> EstimateTable:
    """Return the estimates of each figure in each wave, with the trend as a line through them."""
    entry = next((each for each in row_entries(plan.features) if each.name == levels[0].feature), None)
    scale, groups = replace(_choose_scale(levels, entry), from_zero=False), []
    for name, group in groupby(zip(levels, trend, strict=True), lambda pair: name_figure(pair[0], plan)):
        rows, smoothed = zip(*group, strict=True)
        smooth = [each.estimate or 0.0 for each in (smoothed[0], *smoothed, smoothed[-1])]
        cells = (
            _build_row(
                row,
                0,
                scale,
                TEXTS.write("labels.unfinished", wave=row.wave) if row.wave in unfinished else row.wave or "",
                ((smooth[at] + smooth[at + 1]) / 2, smooth[at + 1], (smooth[at + 1] + smooth[at + 2]) / 2),
            )
            for at, row in enumerate(rows)
        )
        groups.append(EstimateGroup(value=name, marked=False, rows=tuple(cells)))
    table = TEXTS.table("trend", statistic=name_statistic(statistic))
    return _make_table(table["caption"], levels[0].feature, scale, groups, table["head"][0])


def name_statistic(statistic: str, value: str = "") -> str:
    """Return the name of a statistic, in which `value` stands for any value if it is not empty."""
    name = re.sub(r"\W+", "-", statistic).strip("-")
    return TEXTS.write(f"statistics.{name}", **({"value": value} if value else {}))


def name_figure(row: EstimateRow, plan: AnyPlan) -> str:
    """Return the value and the class of a row as they are shown; empty for the mean of all people."""
    value, class_name = find_texts(plan, row.feature), find_class_texts(plan)
    pairs = ((row.value, value), (row.class_name, class_name))
    return " | ".join(texts.get(name, name) for name, texts in pairs if name)


def build_comparison_tables(rows: Iterable[EstimateRow], plan: AnyPlan) -> Mapping[str, PlainTable]:
    compared = group_by_feature(row for row in rows if row.statistic in COMPARISONS and row.column is None)
    classes = show_values(plan, plan.label.name, plan.label.values)
    return {
        name: build_comparison_table(part, classes, find_texts(plan, name)) for name, part in compared.items()
    }


def build_comparison_table(
    rows: Iterable[EstimateRow], groups: Sequence[str], texts: Mapping[str, str]
) -> PlainTable:
    values: dict[str, list[str]] = {}
    for row in rows:
        values.setdefault(row.value or "", []).append(_format_comparison(row))
    return PlainTable(
        **TEXTS.table("compared", first=groups[0], second=groups[1]),
        rows=[(texts.get(value, value), *cells) for value, cells in values.items()],
        numeric={1, 2, 3},
    )


def build_bars(
    rows: Sequence[EstimateRow],
    caption: str,
    head: str,
    texts: Mapping[str, str],
    columns: Mapping[str, str] | None = None,
) -> EstimateTable:
    """Return a table of shares; with texts of columns, each value has a row for each column."""
    scale = _choose_share_scale(rows)
    if columns is None:
        cells = [_build_row(row, 0, scale, texts.get(row.value or "", row.value or "")) for row in rows]
        groups = [EstimateGroup(value="", marked=False, rows=tuple(cells))]
    else:
        groups = []
        for value, group in groupby(rows, key=lambda row: row.value or ""):
            parts = [(row, columns[row.column or ""]) for row in group]
            cells = [_build_row(row, place, scale, name) for place, (row, name) in enumerate(parts)]
            groups.append(EstimateGroup(value=texts.get(value, value), marked=False, rows=tuple(cells)))
    return _make_table(caption, rows[0].feature, scale, groups, head)


def _format_comparison(row: EstimateRow) -> str:
    if not row.known:
        return write_unknown()
    return format_with_interval(row, format_points if row.statistic == COMPARISONS[0] else format_ratio)


def format_with_interval(row: EstimateRow, write: Format) -> str:
    interval = format_interval((row.low or 0.0, row.high or 0.0), write)
    return WORDS.write("values.compared", estimate=write(row.estimate or 0.0), interval=interval)


def find_texts(plan: AnyPlan, name: str) -> Mapping[str, str]:
    """Return the texts of the values of the label or of a feature that differ from the values."""
    texts = display_texts(plan, LANGUAGE.get().tag)
    shown = {MISSING_TEXT: TEXTS.write("labels.no-answer")}
    for each in plan.features:
        if each.name == name and isinstance(each, BinnedFeature):
            shown |= zip(each.texts, write_bins(each.edges), strict=False)
    entry = texts.label if name == plan.row_label.name else texts.features.get(name)
    if entry is None or not plan.texts:  # a component of a projection has no texts
        return shown
    return shown | {value: text for value, text in entry.values.items() if text != value}


def find_title(plan: AnyPlan, name: str) -> str:
    """Return the question of the label or of a feature, or its name if the survey has no text for it."""
    texts = display_texts(plan, LANGUAGE.get().tag)
    entry = texts.label if name == plan.row_label.name else texts.features.get(name)
    return entry.title if entry else name


def find_class_texts(plan: AnyPlan) -> Mapping[str, str]:
    return find_texts(plan, plan.label.name)


def show_values(plan: AnyPlan, name: str, values: Sequence[str]) -> list[str]:
    texts = find_texts(plan, name)
    return [texts.get(value, value) for value in values]


def _choose_scale(rows: Sequence[EstimateRow], feature: Feature | None) -> _RowScale:
    if isinstance(feature, NumericFeature) and not rows[0].statistic.startswith("P("):
        return _choose_number_scale(rows, feature)
    return _choose_share_scale(rows)


def _choose_share_scale(rows: Sequence[EstimateRow]) -> _RowScale:
    ends = [row.simultaneous_high or 0.0 for row in rows if row.known]
    return _RowScale(
        axis=choose_share_axis(max([*ends, *_list_estimates(rows)], default=1.0)),
        write=format_percent,
        write_axis=format_axis_percent,
    )


def _choose_number_scale(rows: Sequence[EstimateRow], feature: NumericFeature) -> _RowScale:
    errors = [row.stderr for row in rows if row.stderr]
    write = choose_number_format(min(errors, default=None))
    if rows[0].statistic.startswith(MEAN):
        return _RowScale(axis=Axis(*feature.bounds), write=write, write_axis=format_plain, from_zero=False)
    ends = [row.simultaneous_high or 0.0 for row in rows if row.known]
    axis = choose_positive_axis(max([*ends, *_list_estimates(rows)], default=0.0), feature.width)
    return _RowScale(axis=axis, write=write, write_axis=format_plain)


def _list_estimates(rows: Sequence[EstimateRow]) -> Iterator[float]:
    return (row.estimate for row in rows if row.estimate is not None)


def _build_table(
    rows: Sequence[EstimateRow],
    caption: str,
    name: str,
    scale: _RowScale,
    classes: Mapping[str, str],
    values: Mapping[str, str],
) -> EstimateTable:
    groups = []
    for value, group in groupby(rows, key=lambda row: row.value):
        part = list(group)
        cells = tuple(
            _build_row(row, index, scale, classes.get(row.class_name or "", row.class_name or ""))
            for index, row in enumerate(part)
        )
        marked = bool(name and part[0].distinguishable) and any(each.is_known for each in cells)
        shown = values.get(value or "", value or "")
        groups.append(EstimateGroup(value=shown, marked=marked, rows=cells))
    mark = "" if name else WORDS.write("page.differs")
    return _make_table(
        TEXTS.write(f"captions.{caption}"), name, scale, groups, WORDS.write("page.class"), mark
    )


def _make_table(
    caption: str, name: str, scale: _RowScale, groups: Sequence[EstimateGroup], head: str, row_mark: str = ""
) -> EstimateTable:
    ticks = scale.axis.labels(scale.write_axis)
    return EstimateTable(
        caption=caption, name=name, ticks=ticks, groups=tuple(groups), head=head, row_mark=row_mark
    )


def _build_row(
    row: EstimateRow,
    colour: int,
    scale: _RowScale,
    name: str,
    trend: tuple[float, float, float] | None = None,
) -> EstimateCells:
    known, mark, single, simultaneous = row.known, None, None, None
    estimate = row.estimate or 0.0
    if known:
        single = row.low or 0.0, row.high or 0.0
        if row.simultaneous_low is not None and row.simultaneous_high is not None:
            simultaneous = row.simultaneous_low, row.simultaneous_high
        mark = Mark(
            value=estimate,
            single=single,
            simultaneous=simultaneous,
            colour=colour,
            from_zero=scale.from_zero,
            trend=trend,
        )
    return EstimateCells(
        name=name,
        axis=scale.axis,
        mark=mark,
        estimate=scale.write(estimate) if known else write_unknown(),
        interval=format_interval(single, scale.write),
        simultaneous=format_interval(simultaneous, scale.write),
        short=_format_short(row, scale) if known else write_unknown(),
        is_known=known,
        marked=known and bool(row.distinguishable),
    )


def _format_short(row: EstimateRow, scale: _RowScale) -> str:
    if row.stderr is None:
        return format_interval((row.low or 0.0, row.high or 0.0), scale.write)
    return f"{scale.write(row.estimate or 0.0)} ± {scale.write(Z95 * row.stderr)}"
