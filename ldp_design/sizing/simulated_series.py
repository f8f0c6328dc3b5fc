"""Simulates a survey with waves on rows, and measures the errors of levels, changes and slopes.

A column names the wave in which each row's person is asked. The people of each repeat are drawn from all rows
with replacement, so the numbers of people in the waves vary, as if devices drew them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any

import numpy as np

from encoders.errors import SurveyError
from encoders.randomness import FastStream
from encoders.survey import Plan, Survey
from ldp_aggregator.arrays import IntArray
from ldp_aggregator.classifiers.baseline import describe_rows
from ldp_aggregator.estimation.figures import CLASS_PRIOR, CONDITIONAL, MEAN, SHARE
from ldp_aggregator.rows.table_input import select_columns
from ldp_aggregator.series.series import Course, estimate_series
from ldp_aggregator.simulated_population import simulate_reports
from ldp_aggregator.snapshot import ALL_WAVES, Snapshot, Total
from ldp_design.simulation import experiment
from ldp_design.simulation.shares import ShareErrors, use_all_rows
from ldp_design.simulation.variants import SimulationError, Variant
from ldp_design.sizing.margins import ExpectedTotals

_NAMES = {SHARE: "share", CONDITIONAL: "share", CLASS_PRIOR: "share", MEAN: "mean"}
_MANY = 10**5
"""So many times the people of a wave are expected to report, to find the truth."""


def simulate_waves(
    survey: Survey,
    rows: Any,
    column: str,
    variants: Sequence[Variant],
    repeats: int = 10,
    seed: int = 0,
    users: int = 0,
    progress: experiment.Progress = int,
) -> Iterator[ShareErrors]:
    """Simulate a survey with waves; yield the errors of each variant, feature, and kind of estimate.

    `column` names the wave of each row. The other parameters are those of
    :func:`~ldp_design.simulation.shares.simulate_shares`.
    Raises SurveyError, RowError or SimulationError if the survey has no waves or cannot be compiled, if a row
    does not fit it or names no wave, or if a wave has too few rows.
    """
    waves = survey.waves
    if waves is None:
        raise SimulationError("the survey has no waves: leave --waves out")
    table = experiment.read_labelled_table(survey, rows)
    names = select_columns(rows, [column])[column]
    try:
        wave_of = np.array([waves.find(str(names[row]).strip()) for row in table.kept])
    except SurveyError as error:
        raise SimulationError(f"column {column!r}: {error.why}") from None
    splits = use_all_rows(len(table.labels), users, repeats, seed)
    trial = partial(_estimate, wave_of)
    for variant, encoded, trials in experiment.run_variants(trial, table, splits, variants, seed, progress):
        truth = _find_truth(encoded[0], experiment.compile_survey(variant.apply(survey)), wave_of)
        if any(len(each) != len(truth) or each[0].waves != truth[0].waves for each in trials):
            raise SimulationError("a wave has no report in a repeat: give more rows, or --users")
        for true, *courses in zip(truth, *trials, strict=True):
            yield from _measure(variant, true, courses)


def _estimate(
    wave_of: IntArray, variant: Variant, rows: experiment.EncodedRows, seed: np.random.SeedSequence
) -> tuple[Course, ...]:
    plan, rng = experiment.compile_survey(variant.apply(rows.table.survey)), FastStream(seed)
    people, labels = rows.split.draw_people(), rows.table.labels
    by_wave = (people[wave_of[people] == wave] for wave in range(wave_of.max() + 1))
    return _list_courses(plan, [simulate_reports(plan, rows.codes, labels, rng, each) for each in by_wave])


def _find_truth(rows: experiment.EncodedRows, plan: Plan, wave_of: IntArray) -> tuple[Course, ...]:
    """Return the courses of what all rows would send on average."""
    parts = []
    for wave in range(wave_of.max() + 1):
        own = np.flatnonzero(wave_of == wave)
        people = describe_rows(plan, rows.codes, rows.table.labels, own, smoothing=1e-9)
        parts.append(ExpectedTotals(plan, people).snapshot(_MANY * len(own)))
    return _list_courses(plan, parts)


def _list_courses(plan: Plan, parts: Sequence[Snapshot]) -> tuple[Course, ...]:
    found = [
        (plan.in_wave(each, wave).key, part.totals[each.key])
        for wave, part in enumerate(parts)
        for each in plan.questions
    ]
    totals = {key: Total(each.n, np.rint(each.cells).astype(np.int64)) for key, each in found}
    series = estimate_series(Snapshot(plan, totals), ALL_WAVES)
    return tuple(each for each in series.courses if each.statistic in _NAMES) if series else ()


def _measure(variant: Variant, true: Course, courses: Sequence[Course]) -> Iterator[ShareErrors]:
    of_class = " in a class" * bool(true.classes[0] and true.statistic != CLASS_PRIOR)
    for kind, name in (("levels", ""), ("changes", ", change"), ("slopes", ", slope")):
        truth, found = getattr(true, kind).value, [getattr(each, kind) for each in courses]
        estimate = f"{_NAMES[true.statistic]}{of_class}{name}"
        values = [each.value for each in found]
        yield ShareErrors.measure(variant, true.feature, estimate, truth, found, values)
