"""Turns the courses of figures over the waves into rows of the table of estimates."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from ldp_aggregator.estimation import IntervalEstimate
from ldp_aggregator.results import Results
from ldp_aggregator.series.course import Course
from ldp_aggregator.series.series import Series
from ldp_aggregator.views.estimate_rows import EstimateRow, build_table, read_cell, read_ends

BY_WAVE, CHANGE, TREND, SLOPE = "{} by wave", "change of {}", "trend of {}", "slope of {}"


def build_full_table(results: Results) -> list[EstimateRow]:
    """Return the rows of all estimates, and those of all waves."""
    rows = build_table(results.estimates, results.plan)
    return [*rows, *(_list_rows(results.series) if results.series else ())]


def _list_rows(series: Series) -> Iterator[EstimateRow]:
    """Yield the level, the trend and both changes of each figure in each wave, and its slope."""
    names, counts = [each.name for each in series.waves], [each.reports for each in series.waves]
    total = sum(counts)
    for course in series.courses:
        for index in np.ndindex(course.levels.value.shape[1:]):
            for place, (wave, n) in enumerate(zip(names, counts, strict=True)):
                own: dict[str, Any] = {"wave": wave, "n": n}
                level = float(np.clip(course.levels.value[(place, *index)], *course.bounds))
                yield _make_row(BY_WAVE, course, course.levels, (place, *index), level, **own)
                yield _make_row(TREND, course, course.trend, (place, *index), **own)
                at = (place - 1, *index)
                if place:
                    yield _make_change(course, course.changes, at, since=names[place - 1], **own)
                if place > 1:
                    yield _make_change(course, course.since_first, at, since=names[0], **own)
            yield _make_row(SLOPE, course, course.slopes, index, wave=names[-1], since=names[0], n=total)


def _make_change(
    course: Course, changes: IntervalEstimate, place: tuple[int, ...], **names: Any
) -> EstimateRow:
    marked = bool(course.stand_out(changes)[place])
    return _make_row(CHANGE, course, changes, place, stands_out=marked, **names)


def _make_row(
    statistic: str,
    course: Course,
    estimate: IntervalEstimate,
    place: tuple[int, ...],
    shown: float | None = None,
    **names: Any,
) -> EstimateRow:
    value, class_name = course.values[place[-2]], course.classes[place[-1]]
    raw = read_cell(estimate.value, place)
    return EstimateRow(
        feature=course.feature,
        statistic=statistic.format(course.statistic),
        value=value or None,
        class_name=class_name or None,
        estimate=raw if shown is None or raw is None else shown,
        stderr=read_cell(estimate.stderr, place),
        raw=raw,
        span=course.span * (2 if statistic in (CHANGE, SLOPE) else 1),
        **read_ends(estimate, place),
        **names,
    )
