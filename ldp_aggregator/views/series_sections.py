"""The sections about waves: which wave results are of, trends as pictures, and a table of changes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby

import numpy as np

from encoders.explain.text import Counted
from encoders.survey.compiled_plan import AnyPlan
from ldp_aggregator.estimation import IntervalEstimate
from ldp_aggregator.estimation.figures import CLASS_PRIOR, MEAN
from ldp_aggregator.estimation.intervals import SIMULTANEOUS_ERROR
from ldp_aggregator.render.document import Note, Part, PlainTable, Section, TrendRow, TrendTable
from ldp_aggregator.render.interval import Axis, choose_share_axis
from ldp_aggregator.render.trend import WaveMark, draw_trend
from ldp_aggregator.results import Results
from ldp_aggregator.series.course import Course
from ldp_aggregator.series.series import DRIFT_DISCOUNT, OWN, POOLED, Series, WaveReports
from ldp_aggregator.snapshot import ALL_WAVES
from ldp_aggregator.statements import TEXTS
from ldp_aggregator.views.estimate_tables import show_values
from ldp_aggregator.views.feature_sections import make_section
from ldp_aggregator.wording.statement import Statement
from ldp_aggregator.wording.values import (
    UNKNOWN,
    FirstNames,
    Format,
    choose_number_format,
    format_axis_percent,
    format_percent,
    format_plain,
    format_points,
)

MAX_SHOWN_WAVES = 24
"""Number of waves in a table of changes; pictures show all."""
_MAX_SUMMARY = 12
_BOTH, _BEFORE, _FIRST, _NONE = "both changes", "from the wave before", "from the first wave", ""
_MARKS = {(True, True): _BOTH, (True, False): _BEFORE, (False, True): _FIRST, (False, False): _NONE}


def find_wave(results: Results) -> list[Statement]:
    """Return which wave the results are of, and which waves the model is from; empty without waves."""
    series = results.series
    if not series:
        return []
    drifting, has_model = FirstNames(series.drifting), results.has_label and bool(series.waves)
    return TEXTS.section(
        "series",
        wave=series.wave,
        # whether the counters of all waves were given
        choice=bool(series.waves),
        all=series.wave == ALL_WAVES,
        count=Counted(len(series.waves), "wave"),
        unfinished=series.unfinished,
        pooled=has_model and series.tables == POOLED and series.wave != ALL_WAVES,
        own=has_model and series.tables == OWN,
        # empty if all waves have the same weight
        discount=f"{series.discount:g}" if series.discount < 1 else "",
        drifting=drifting,
        one_drifts=len(drifting) == 1,
        advise=series.tables == POOLED and series.discount == 1,
        recommended=f"{DRIFT_DISCOUNT:g}",
    )


def build_series(results: Results) -> Section | None:
    """Return the trends and changes of all figures; None unless there are several waves with reports."""
    series = results.series
    if not series or len(series.waves) < 2:
        return None
    parts: list[Part | Section] = list(_find_changes(series, pictures=True))
    for number, (feature, courses) in enumerate(_group_by_feature(series.courses), 1):
        shown: list[Part] = []
        for course in courses:
            title = course.statistic if course.values[0] or course.statistic != CLASS_PRIOR else "Classes"
            shown += [_draw(course, series, results.plan, title), _list_changes(course, series, results.plan)]
        parts.append(Section(id=f"series-{number}", heading=feature, parts=shown))
    return make_section("series", parts)


def build_series_summary(results: Results) -> Section | None:
    """Return whether anything changed, and the changes that stand out; None without several waves."""
    series = results.series
    if not series or len(series.waves) < 2:
        return None
    rows = [row for each in series.courses for row in _list_rows(each, series, results.plan) if row[-1]]
    table = PlainTable(
        caption="Changes that stand out",
        head=("Feature", "Estimate", *_HEAD[1:]),
        rows=rows[-_MAX_SUMMARY:],
        numeric={3, 4, 5},
    )
    return make_section("series", [*_find_changes(series, pictures=False), *([table] if rows else [])])


def _find_changes(series: Series, *, pictures: bool) -> Iterator[Statement | Note]:
    changed = [
        f"{each.feature}, {each.statistic}"
        for each in series.courses
        if each.test and each.test.p_value <= SIMULTANEOUS_ERROR
    ]
    cut = MAX_SHOWN_WAVES if len(series.waves) > MAX_SHOWN_WAVES else 0
    for each in TEXTS.section("changes", changed=FirstNames(changed), slopes=pictures, cut=cut):
        if each.id == "changes.changed":
            yield each
        elif pictures or each.id == "changes.standing":
            yield Note(each)


def _group_by_feature(courses: Sequence[Course]) -> list[tuple[str, list[Course]]]:
    ordered = sorted(courses, key=lambda each: [each.feature for each in courses].index(each.feature))
    return [(name, list(group)) for name, group in groupby(ordered, key=lambda each: each.feature)]


# -- pictures ---------------------------------------------------------------------------------------


def _draw(course: Course, series: Series, plan: AnyPlan, title: str) -> TrendTable:
    """Return the pictures of a course, which share one axis."""
    levels, places, names = course.levels, np.array(course.waves), [each.name for each in series.waves]
    axis = Axis(*course.bounds) if course.statistic == MEAN else choose_share_axis(_find_highest(levels))
    write = format_plain if course.statistic == MEAN else format_axis_percent
    positions = (places - places[0]) / max(places[-1] - places[0], 1)
    middle = [name for name, place in zip(names, positions.tolist(), strict=True) if place == 0.5]
    rows = []
    for index, name in _name_figures(course, plan):
        marks = [
            _mark(course, (at, *index), place, wave)
            for at, (place, wave) in enumerate(zip(positions.tolist(), series.waves, strict=True))
            if np.isfinite(levels.value[(at, *index)])
        ]
        rows.append(
            TrendRow(
                name=name,
                chart=draw_trend(axis, marks),
                ends=(write(axis.low), write(axis.high)),
                slope=_format_change(course.slopes, index, _choose_slope_format(course)),
            )
        )
    ticks = (names[0], "".join(middle[:1]), names[-1])
    return TrendTable(caption=title, name=course.feature, ticks=ticks, rows=rows)


def _find_highest(levels: IntervalEstimate) -> float:
    known = levels.simultaneous_high[np.isfinite(levels.value)]
    return float(known.max()) if known.size else 1.0


def _mark(course: Course, at: tuple[int, ...], place: float, wave: WaveReports) -> WaveMark:
    levels = course.levels
    return WaveMark(
        place=place,
        value=float(levels.value[at]),
        single=(float(levels.low[at]), float(levels.high[at])),
        simultaneous=(float(levels.simultaneous_low[at]), float(levels.simultaneous_high[at])),
        smooth=float(course.trend.value[at]),
        unfinished=wave.unfinished,
    )


# -- tables -----------------------------------------------------------------------------------------


_HEAD = ("Estimate", "Wave", "Level", "Change from the wave before", "Change from the first", "Stands out")


def _list_changes(course: Course, series: Series, plan: AnyPlan) -> PlainTable:
    rows = [row[1:] for row in _list_rows(course, series, plan)]
    kept = [
        row for at, row in enumerate(rows) if at % len(series.waves) >= len(series.waves) - MAX_SHOWN_WAVES
    ]
    caption = f"Changes of {course.statistic}, with 95% intervals"
    return PlainTable(caption=caption, head=_HEAD, rows=kept, numeric={2, 3, 4})


def _list_rows(course: Course, series: Series, plan: AnyPlan) -> Iterator[tuple[str, ...]]:
    """Yield the feature, the figure, the wave, its level, both changes, and which of them stand out."""
    before, first = course.changes, course.since_first
    marks = [course.stand_out(each) for each in (before, first)]
    write, level = _choose_change_format(course), _choose_level_format(course)
    for index, name in _name_figures(course, plan):
        for place, wave in enumerate(series.waves):
            shown = _format_change(course.levels, (place, *index), level)
            label = f"{wave.name} (unfinished)" if wave.unfinished else wave.name
            if not place:
                yield (course.feature, name, label, shown, "", "", "")
                continue
            at = (place - 1, *index)
            changes = (_format_change(each, at, write) for each in (before, first))
            marked = _MARKS[bool(marks[0][at]), bool(marks[1][at])]
            yield (course.feature, name, label, shown, *changes, marked)


def _name_figures(course: Course, plan: AnyPlan) -> Iterator[tuple[tuple[int, int], str]]:
    """Yield the index of each figure of a course and its name: the value, the class, or both."""
    values = show_values(plan, course.feature, course.values)
    classes = show_values(plan, plan.label.name, course.classes)
    for row, value in enumerate(values):
        for column, class_name in enumerate(classes):
            yield (row, column), " | ".join(filter(None, (value, class_name))) or course.statistic


def _format_change(estimate: IntervalEstimate, place: tuple[int, ...], write: Format) -> str:
    numbers = [float(each[place]) for each in (estimate.value, estimate.low, estimate.high)]
    value, low, high = map(write, numbers) if np.isfinite(numbers).all() else (UNKNOWN, "", "")
    return f"{value} ({low} to {high})" if low else value


def _choose_level_format(course: Course) -> Format:
    return _choose_number_format(course.levels) if course.statistic == MEAN else format_percent


def _choose_change_format(course: Course) -> Format:
    return _choose_number_format(course.levels) if course.statistic == MEAN else format_points


def _choose_slope_format(course: Course) -> Format:
    if course.statistic == MEAN:
        return _choose_number_format(course.slopes)
    return lambda slope: f"{round(100 * slope, 2) + 0.0:+.2f}"


def _choose_number_format(estimate: IntervalEstimate) -> Format:
    known = estimate.stderr[np.isfinite(estimate.stderr)]
    return choose_number_format(float(known.min()) if known.size else None)
