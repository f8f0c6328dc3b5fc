"""Builds the tables with bars of the results page from the rows of the table of estimates."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby

from markupsafe import Markup

from encoders.survey import NumericFeature, Plan
from encoders.survey.silo_plan import SiloPlan
from ldp_aggregator.estimation.intervals import PROBABILITY, Bounds
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
    is_known,
)
from ldp_aggregator.results.table import CLASS_PRIOR, CONDITIONAL, DEVIATION, MEAN, MISSING, Row

_NUMBER_TITLES = {
    MEAN: "Mean",
    DEVIATION: "Standard deviation",
    MISSING: "Share of missing answers",
}


@dataclass(frozen=True, kw_only=True)
class EstimateRow:
    """One row: a class, its image and the texts of its numbers."""

    class_name: str
    chart: Markup
    estimate: str
    interval: str
    simultaneous: str
    is_known: bool
    marked: bool


@dataclass(frozen=True, kw_only=True)
class EstimateGroup:
    """The rows of all classes of one value; `value` is None if the table has one group."""

    value: str | None
    marked: bool
    rows: tuple[EstimateRow, ...]


@dataclass(frozen=True, kw_only=True)
class EstimateTable:
    """A table with bars."""

    caption: str
    name: str | None
    """The feature that the caption is about."""
    ticks: tuple[str, str, str]
    """The texts of the axis: left, middle, right."""
    groups: tuple[EstimateGroup, ...]

    @property
    def has_values(self) -> bool:
        """Whether the groups have values."""
        return any(group.value is not None for group in self.groups)

    @property
    def marked(self) -> bool:
        """Whether any group is marked."""
        return any(group.marked for group in self.groups)


@dataclass(frozen=True, kw_only=True)
class _RowScale:
    """How the rows of one table are drawn and formatted."""

    bounds: Bounds
    axis: Axis
    write: Format
    write_axis: Format
    from_zero: bool = True


def build_prior_table(rows: Sequence[Row]) -> EstimateTable:
    """Return the table of P(class); its rows are marked, not its group."""
    prior = [row for row in rows if row["statistic"] == CLASS_PRIOR]
    return _build_table(prior, "Share of each class", None, _choose_share_scale(prior))


def build_feature_tables(rows: Sequence[Row], plan: Plan | SiloPlan) -> Mapping[str, list[EstimateTable]]:
    """Return the tables of each feature with estimates, by its name."""
    features = {feature.name: feature for feature in plan.features}
    tables: dict[str, list[EstimateTable]] = {}
    estimated = [row for row in rows if row["statistic"] != CLASS_PRIOR and row["mechanism"] is not None]
    for (name, statistic), group in groupby(estimated, key=lambda row: (row["feature"], row["statistic"])):
        part, feature = list(group), features[name]
        if statistic == CONDITIONAL:
            table = _build_table(part, "Share of each value in each class", name, _choose_share_scale(part))
        elif statistic == MISSING or not isinstance(feature, NumericFeature):
            table = _build_table(part, _NUMBER_TITLES[MISSING], name, _choose_share_scale(part))
        else:
            title, scale = _NUMBER_TITLES[statistic], _choose_number_scale(part, feature)
            table = _build_table(part, title, name, scale)
        tables.setdefault(name, []).append(table)
    return tables


def _choose_share_scale(rows: Sequence[Row]) -> _RowScale:
    ends = [row["simultaneous_high"] or 0.0 for row in rows if is_known(row, PROBABILITY)]
    return _RowScale(
        bounds=PROBABILITY,
        axis=choose_share_axis(max([*ends, *_list_estimates(rows)], default=1.0)),
        write=format_percent,
        write_axis=format_axis_percent,
    )


def _choose_number_scale(rows: Sequence[Row], feature: NumericFeature) -> _RowScale:
    errors = [row["stderr"] for row in rows if row["stderr"]]
    write = choose_number_format(min(errors, default=None))
    if rows[0]["statistic"] == MEAN:
        return _RowScale(
            bounds=feature.bounds,
            axis=Axis(*feature.bounds),
            write=write,
            write_axis=format_plain,
            from_zero=False,
        )
    bounds = (0.0, feature.width)
    ends = [row["simultaneous_high"] or 0.0 for row in rows if is_known(row, bounds)]
    axis = choose_positive_axis(max([*ends, *_list_estimates(rows)], default=0.0), feature.width)
    return _RowScale(bounds=bounds, axis=axis, write=write, write_axis=format_plain)


def _list_estimates(rows: Sequence[Row]) -> Iterator[float]:
    return (row["estimate"] for row in rows if row["estimate"] is not None)


def _build_table(rows: Sequence[Row], caption: str, name: str | None, scale: _RowScale) -> EstimateTable:
    groups = []
    for value, group in groupby(rows, key=lambda row: row["value"]):
        part = [_build_row(row, place, scale) for place, row in enumerate(group)]
        marked = name is not None and all(row.marked for row in part)
        groups.append(EstimateGroup(value=value, marked=marked, rows=tuple(part)))
    return EstimateTable(
        caption=caption,
        name=name,
        ticks=scale.axis.labels(scale.write_axis),
        groups=tuple(groups),
    )


def _build_row(row: Row, colour: int, scale: _RowScale) -> EstimateRow:
    known = is_known(row, scale.bounds)
    mark = None
    if known:
        assert row["estimate"] is not None
        assert row["low"] is not None
        assert row["high"] is not None
        low, high = row["simultaneous_low"], row["simultaneous_high"]
        mark = Mark(
            value=row["estimate"],
            single=(row["low"], row["high"]),
            simultaneous=None if low is None or high is None else (low, high),
            colour=colour,
            from_zero=scale.from_zero,
        )
    return EstimateRow(
        class_name=row["class"],
        chart=draw_mark(scale.axis, mark),
        estimate=scale.write(row["estimate"]) if known and row["estimate"] is not None else UNKNOWN,
        interval=format_interval(row["low"], row["high"], scale.write),
        simultaneous=format_interval(row["simultaneous_low"], row["simultaneous_high"], scale.write),
        is_known=known,
        marked=bool(row["distinguishable"]),
    )
