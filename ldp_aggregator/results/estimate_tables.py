"""Builds tables of estimates with pictures of their intervals from the rows of the table of estimates."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby

from encoders.survey import NumericFeature
from encoders.survey.compiled_plan import AnyPlan
from encoders.survey.display_texts import display_texts, join_texts
from ldp_aggregator.estimation.intervals import PROBABILITY, Z95, Bounds
from ldp_aggregator.findings.rules import is_known
from ldp_aggregator.render.document import EstimateCells, EstimateGroup, EstimateTable
from ldp_aggregator.render.interval import (
    Axis,
    Mark,
    choose_positive_axis,
    choose_share_axis,
    draw_mark,
)
from ldp_aggregator.render.numbers import (
    UNKNOWN,
    Format,
    choose_number_format,
    format_axis_percent,
    format_interval,
    format_percent,
    format_plain,
)
from ldp_aggregator.results.table import (
    CLASS_PRIOR,
    CONDITIONAL,
    COUNT,
    DEVIATION,
    MEAN,
    MISSING,
    EstimateRow,
)

_TITLES = {
    CONDITIONAL: "Share of each value in each class",
    MEAN: "Mean",
    DEVIATION: "Standard deviation",
    MISSING: "Share of missing answers",
}


@dataclass(frozen=True, kw_only=True)
class _RowScale:
    """How the rows of one table are drawn and formatted."""

    bounds: Bounds
    axis: Axis
    write: Format
    write_axis: Format
    from_zero: bool = True


def build_prior_table(rows: Sequence[EstimateRow], plan: AnyPlan) -> EstimateTable:
    """Return the table of P(class); its rows are marked, not its group."""
    prior = [row for row in rows if row.statistic == CLASS_PRIOR]
    classes = find_texts(plan, plan.label.name)
    return _build_table(prior, "Share of each class", "", _choose_share_scale(prior), classes, {})


def build_feature_tables(rows: Sequence[EstimateRow], plan: AnyPlan) -> Mapping[str, list[EstimateTable]]:
    """Return the tables of each feature with estimates, by its name; values have the texts of the survey."""
    features, classes = {each.name: each for each in plan.features}, find_texts(plan, plan.label.name)
    tables: dict[str, list[EstimateTable]] = {}
    estimated = [row for row in rows if row.statistic not in (CLASS_PRIOR, COUNT) and row.mechanism]
    for (name, statistic), group in groupby(estimated, key=lambda row: (row.feature, row.statistic)):
        part, feature = list(group), features[name]
        scale = _choose_share_scale(part)
        if isinstance(feature, NumericFeature) and statistic != MISSING:
            scale = _choose_number_scale(part, feature)
        table = _build_table(part, _TITLES[statistic], name, scale, classes, find_texts(plan, name))
        tables.setdefault(name, []).append(table)
    return tables


def find_texts(plan: AnyPlan, name: str) -> Mapping[str, str]:
    """Return the display texts of the values of the label or of a feature; text and value if they differ."""
    if not plan.texts:
        return {}
    texts = display_texts(plan)
    entry = texts.label if name == plan.row_label.name else texts.features.get(name)
    if entry is None:  # a component of a projection has no texts
        return {}
    return {
        value: join_texts(f"{text} ({value})", [text])
        for value, text in entry.values.items()
        if text != value
    }


def show_values(plan: AnyPlan, name: str, values: Sequence[str]) -> list[str]:
    """Return what is shown for values of the label or of a feature."""
    texts = find_texts(plan, name)
    return [texts.get(value, value) for value in values]


def _choose_share_scale(rows: Sequence[EstimateRow]) -> _RowScale:
    ends = [row.simultaneous_high or 0.0 for row in rows if _is_known(row, PROBABILITY)]
    return _RowScale(
        bounds=PROBABILITY,
        axis=choose_share_axis(max([*ends, *_list_estimates(rows)], default=1.0)),
        write=format_percent,
        write_axis=format_axis_percent,
    )


def _choose_number_scale(rows: Sequence[EstimateRow], feature: NumericFeature) -> _RowScale:
    errors = [row.stderr for row in rows if row.stderr]
    write = choose_number_format(min(errors, default=None))
    if rows[0].statistic == MEAN:
        return _RowScale(
            bounds=feature.bounds,
            axis=Axis(*feature.bounds),
            write=write,
            write_axis=format_plain,
            from_zero=False,
        )
    bounds = (0.0, feature.width)
    ends = [row.simultaneous_high or 0.0 for row in rows if _is_known(row, bounds)]
    axis = choose_positive_axis(max([*ends, *_list_estimates(rows)], default=0.0), feature.width)
    return _RowScale(bounds=bounds, axis=axis, write=write, write_axis=format_plain)


def _list_estimates(rows: Sequence[EstimateRow]) -> Iterator[float]:
    return (row.estimate for row in rows if row.estimate is not None)


def _is_known(row: EstimateRow, bounds: Bounds) -> bool:
    return row.estimate is not None and is_known(row.low, row.high, bounds, row.stderr)


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
            _build_row(row, index, scale, classes.get(row.class_name, row.class_name))
            for index, row in enumerate(part)
        )
        marked = bool(name and part[0].distinguishable) and any(each.is_known for each in cells)
        shown = values.get(value or "", value or "")
        groups.append(EstimateGroup(value=shown, marked=marked, rows=cells))
    return EstimateTable(
        caption=caption,
        name=name,
        ticks=scale.axis.labels(scale.write_axis),
        groups=tuple(groups),
        row_mark="" if name else "differs",
    )


def _build_row(row: EstimateRow, colour: int, scale: _RowScale, class_name: str) -> EstimateCells:
    known, mark, single, simultaneous = _is_known(row, scale.bounds), None, None, None
    if known:
        assert row.estimate is not None
        assert row.low is not None
        assert row.high is not None
        single = row.low, row.high
        if row.simultaneous_low is not None and row.simultaneous_high is not None:
            simultaneous = row.simultaneous_low, row.simultaneous_high
        mark = Mark(
            value=row.estimate,
            single=single,
            simultaneous=simultaneous,
            colour=colour,
            from_zero=scale.from_zero,
        )
    return EstimateCells(
        class_name=class_name,
        chart=draw_mark(scale.axis, mark),
        estimate=scale.write(row.estimate) if known and row.estimate is not None else UNKNOWN,
        interval=format_interval(single, scale.write),
        simultaneous=format_interval(simultaneous, scale.write),
        short=_format_short(row, scale) if known else UNKNOWN,
        is_known=known,
        marked=known and bool(row.distinguishable),
    )


def _format_short(row: EstimateRow, scale: _RowScale) -> str:
    """Return "25.0% ± 3.1%"; without a standard error, "0 to 2.5"."""
    assert row.estimate is not None
    if row.stderr is None:
        return format_interval((row.low or 0.0, row.high or 0.0), scale.write)
    return f"{scale.write(row.estimate)} ± {scale.write(Z95 * row.stderr)}"
