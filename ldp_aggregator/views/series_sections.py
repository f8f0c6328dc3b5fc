"""What results show of waves: which wave they are of, rows of the table, trends and a table of changes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import pairwise

import numpy as np

from encoders.survey.compiled_plan import AnyPlan
from ldp_aggregator.estimation import IntervalEstimate
from ldp_aggregator.estimation.figures import MEAN
from ldp_aggregator.estimation.intervals import SIMULTANEOUS_ERROR
from ldp_aggregator.render.document import Note, PlainTable, Section
from ldp_aggregator.results import Results
from ldp_aggregator.results_file import ModelError
from ldp_aggregator.series.series import POOLED, Course, Series, find_standing
from ldp_aggregator.snapshot import ALL_WAVES
from ldp_aggregator.statements import TEXTS
from ldp_aggregator.views.estimate_rows import EstimateRow, build_table, read_cell, read_ends
from ldp_aggregator.views.estimate_tables import build_wave_table, name_figure, name_statistic
from ldp_aggregator.views.feature_sections import make_section
from ldp_aggregator.wording.statement import Statement
from ldp_aggregator.wording.values import (
    WORDS,
    Counted,
    FirstNames,
    choose_number_format,
    localise,
    quote,
    write_unknown,
)

MAX_SHOWN_WAVES = 24
"""Number of waves on a page; the CSV file has all."""
BY_WAVE, TREND, CHANGE, SLOPE = "{} by wave", "trend of {}", "change of {}", "slope of {}"


def find_wave(results: Results) -> list[Statement]:
    series = results.series
    if not series:
        return []
    drifting, pooled = FirstNames(series.drifting), series.tables == POOLED
    return TEXTS.section(
        "series",
        series=series,
        all=series.wave == ALL_WAVES,
        count=Counted(len(series.waves), "wave"),
        unfinished=bool(series.unfinished) and series.wave in (*series.unfinished, ALL_WAVES),
        has_model=results.has_label and bool(series.waves) and series.wave != ALL_WAVES,
        pooled=pooled,
        drifting=drifting,
        advise=pooled and series.discount == 1,
    )


# -- rows -------------------------------------------------------------------------------------------


def build_full_table(results: Results) -> list[EstimateRow]:
    if not results.has_estimates:
        kind = results.classifier.kind
        raise ModelError(f"a {kind} model has no table of estimates: train with --learner nb for one")
    rows, series = build_table(results.estimates, results.plan), results.series
    of_waves = (row for each in series.courses for row in list_rows(each, series)) if series else ()
    return [*rows, *of_waves]


def list_rows(course: Course, series: Series) -> Iterator[EstimateRow]:
    """Yield the level and the trend of each figure of a course in each wave, its changes and its slope."""
    waves, count = series.waves, len(series.waves)
    all_waves: list[tuple[int, int | None]] = [(at, None) for at in range(count)]
    # the estimates; and of each the places of its wave and of the wave that it is measured from
    parts: list[tuple[str, IntervalEstimate, list[tuple[int, int | None]]]] = [
        (BY_WAVE, course.levels, all_waves),
        (TREND, course.trend, all_waves),
        (CHANGE, course.changes, [(at, at - 1) for at in range(1, count)]),
        (CHANGE, course.since_first, [(at, 0) for at in range(1, count)]),
        (SLOPE, course.slopes.reshape(1, len(course.values), -1), [(count - 1, 0)]),
    ]
    for value, class_name in np.ndindex(len(course.values), len(course.classes)):
        for statistic, estimate, places in parts:
            standing, is_change = find_standing(estimate), statistic in (CHANGE, SLOPE)
            for at, (wave, since) in enumerate(places):
                place = (at, value, class_name)
                raw = read_cell(estimate.value, place)
                if estimate is course.since_first and wave == 1:
                    continue  # it is the change from the wave before
                yield EstimateRow(
                    feature=course.feature,
                    statistic=statistic.format(course.statistic),
                    value=course.values[value] or None,
                    class_name=course.classes[class_name] or None,
                    estimate=raw if is_change or raw is None else float(np.clip(raw, *course.bounds)),
                    stderr=read_cell(estimate.stderr, place),
                    **read_ends(estimate, place),
                    raw=raw,
                    n=series.reports[wave] if statistic != SLOPE else sum(series.reports),
                    wave=waves[wave],
                    since=None if since is None else waves[since],
                    stands_out=bool(standing[place]) if statistic == CHANGE else None,
                    span=course.span * (2 if is_change else 1),
                )


# -- sections ---------------------------------------------------------------------------------------


def build_series(results: Results, *, summary: bool = False) -> Section | None:
    """Return all trends and changes, in a summary the changes that stand out; None without several waves."""
    series, plan = results.series, results.plan
    if not series or len(series.waves) < 2:
        return None
    changed = FirstNames(
        f"{quote(each.feature)}, {name_statistic(each.statistic)}"
        for each in series.courses
        if each.test and each.test.p_value <= SIMULTANEOUS_ERROR
    )
    first, *notes = TEXTS.section("changes", changed=changed, summary=summary, most=MAX_SHOWN_WAVES)
    rows = [list(list_rows(each, series)) for each in series.courses]
    if summary:
        standing = [row for each in rows for row in each if row.stands_out]
        table = _list_changes(standing, series, plan)
        part = Section(id="series-changes", heading=TEXTS.write("labels.standing-out"), parts=[table])
        return make_section("series", [first, *map(Note, notes), *([part] if standing else [])])
    parts = []
    for number, (course, of_course) in enumerate(zip(series.courses, rows, strict=True), 1):
        shown = [row for row in of_course if row.wave in series.waves[-MAX_SHOWN_WAVES:]]
        levels, trend = (
            [row for row in shown if row.statistic == kind.format(course.statistic)]
            for kind in (BY_WAVE, TREND)
        )
        changes = _list_changes([row for row in shown if row.since], series, plan)
        drawn = build_wave_table(course.statistic, levels, trend, plan, series.unfinished)
        title = f"{quote(course.feature)}: {name_statistic(course.statistic)}"
        parts.append(Section(id=f"series-{number}", heading=title, parts=[drawn, changes]))
    return make_section("series", [first, *map(Note, notes), *parts])


def _list_changes(rows: Iterable[EstimateRow], series: Series, plan: AnyPlan) -> PlainTable:
    """Return changes; of those from the first wave only the last, and those that stand out."""
    last, before = series.waves[-1], dict(pairwise(series.waves))
    kept = [row for row in rows if row.stands_out or row.wave == last or before[row.since or ""] == row.wave]
    cells = [_format_change(row, plan) for row in kept]
    return PlainTable(**TEXTS.table("changes"), rows=cells, numeric={3, 4, 5})


def _format_change(row: EstimateRow, plan: AnyPlan) -> tuple[str, ...]:
    is_slope, write = row.stands_out is None, choose_number_format(row.stderr)
    value, low, high, lowest, highest = (
        write(each or 0.0) if MEAN in row.statistic else localise(f"{100 * (each or 0.0):+.{1 + is_slope}f}")
        for each in (row.estimate, row.low, row.high, row.simultaneous_low, row.simultaneous_high)
    )
    value = TEXTS.write("labels.per-wave", change=value) if is_slope else value
    ends = ({"low": low, "high": high}, {"low": lowest, "high": highest})
    change = (value, *(WORDS.write("values.interval", **each) for each in ends))
    mark = TEXTS.write("labels.stands-out") if row.stands_out else ""
    figure = ": ".join(filter(None, (quote(row.feature), name_figure(row, plan))))
    names = figure, row.wave or "", row.since or ""
    return (*names, *(change if row.known else [write_unknown()] * 3), mark)
