"""Describes a series of waves: which wave results are of, and the course of each figure over all waves."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from ldp_aggregator.codec import require
from ldp_aggregator.estimation import EstimationError, IntervalEstimate
from ldp_aggregator.estimation.estimates import estimate_survey
from ldp_aggregator.estimation.figures import (
    CONDITIONAL,
    MEAN,
    MISSING,
    MISSING_SHARE,
    VARIANCE,
    list_figures,
)
from ldp_aggregator.estimation.intervals import SIMULTANEOUS_ERROR
from ldp_aggregator.estimation.raw_estimates import compute_raw_estimates
from ldp_aggregator.series.course import Course, assess_levels, assess_shares
from ldp_aggregator.snapshot import ALL_WAVES, Snapshot, Total

POOLED, OWN = TABLES = ("pooled", "own")
"""Whether the classifier's tables P(value | class) are those of all waves, or of the wave alone."""
MAX_ESTIMATES = 20_000
"""Number of estimates of one statistic in all waves, at most: a trend needs 26 numbers for each of them."""


@dataclass(frozen=True, kw_only=True)
class Series:
    wave: str
    """The wave that the results are of, or "all"."""
    tables: str = OWN
    discount: float = 1.0
    """Of the classifier, see :func:`pool_waves`."""
    waves: tuple[str, ...] = ()
    """The names of the waves with reports; empty if only the counters of one wave were given."""
    reports: tuple[int, ...] = ()
    """Of each wave; each person counts once."""
    unfinished: tuple[str, ...] = ()
    """Waves that were still open when the series was estimated."""
    courses: tuple[Course, ...] = ()
    """One for each statistic of each feature, and for the label."""

    JSON_DERIVED = ("drifting",)

    @property
    def drifting(self) -> tuple[str, ...]:
        """The features whose P(value | class), or mean of a class, changes: at 5% for all together."""
        kinds = (CONDITIONAL, MEAN)
        by_class = [each for each in self.courses if each.classes[0] and each.statistic in kinds]
        p_values = {each.feature: each.test.p_value for each in by_class if each.test}
        return tuple(name for name, each in p_values.items() if each * len(p_values) <= SIMULTANEOUS_ERROR)

    def check_entries(self) -> None:
        require(self.tables in TABLES and 0 < self.discount <= 1, "tables or discount: is not possible")
        counts = {len(self.waves), len(self.reports), *(len(each.waves) for each in self.courses)}
        require(len(counts) == 1, "reports and courses: need the waves with reports")


def estimate_series(
    snapshot: Snapshot, wave: str, tables: str = POOLED, discount: float = 1.0, estimator: str = "default"
) -> Series | None:
    """Return the series of a survey with waves; None without waves.

    `wave` is that of :meth:`Snapshot.select`. If the snapshot is of one wave, no other is known. Raises
    EstimationError if the survey cannot have a classifier with such tables.
    """
    plan, chosen, now = snapshot.plan, snapshot.select(wave).wave, time.time()
    fit = discount == 1 or (0 < discount < 1 and tables == POOLED and wave != ALL_WAVES)
    fit = fit and tables in TABLES and plan.waves is not None and plan.label.exists
    if (tables, discount) != (POOLED, 1) and not fit:
        raise EstimationError(
            "a choice of tables needs a survey with waves and a label; a discount, a number above 0 and at "
            "most 1, also needs pooled tables, and the results of one wave"
        )
    if not plan.waves or snapshot.wave:
        return Series(wave=chosen) if plan.waves else None
    parts = [snapshot.select(each.name) for each in plan.waves.list]
    known = {at: part for at, part in enumerate(parts) if part.total()}
    return Series(
        wave=chosen,
        tables=tables if plan.label.exists else OWN,
        discount=discount,
        waves=tuple(each.wave for each in known.values()),
        reports=tuple(each.people for each in known.values()),
        unfinished=tuple(each.wave for at, each in known.items() if now < plan.waves.list[at].closes),
        courses=_list_courses(list(known.values()), tuple(known), snapshot, estimator) if known else (),
    )


def _list_courses(
    parts: Sequence[Snapshot], waves: tuple[int, ...], snapshot: Snapshot, estimator: str
) -> tuple[Course, ...]:
    plan, courses = snapshot.plan, []
    pooled, *raw = (compute_raw_estimates(each) for each in (snapshot.select(ALL_WAVES), *parts))
    tests = assess_shares(plan.label.name, raw, pooled)
    by_wave = [list_figures(estimate_survey(each, estimator)[0], plan.features) for each in parts]
    for figures in zip(*by_wave, strict=True):
        first, estimates = figures[0], [vars(each.estimate) for each in figures]
        levels = IntervalEstimate(*(np.stack([each[name] for each in estimates]) for name in estimates[0]))
        is_number = first.statistic in (MEAN, MISSING, MISSING_SHARE)
        test = assess_levels(levels) if is_number else tests.get((first.feature, first.statistic))
        is_known = np.isfinite(levels.stderr).any() and levels.value.size <= MAX_ESTIMATES
        if first.statistic != VARIANCE and is_known:
            feature, statistic, values, classes, bounds, z, _ = first
            courses.append(Course(feature, statistic, values, classes, bounds, z, waves, levels, test))
    return tuple(courses)


def pool_waves(snapshot: Snapshot, wave: str, discount: float) -> Snapshot:
    """Return the totals of all waves, weighted by g = discount^distance: (sum g n)^2 / sum g^2 n reports."""
    waves = snapshot.plan.waves
    if waves is None or discount == 1:
        return snapshot.select(ALL_WAVES)
    chosen, totals = waves.find(wave), {}
    weights = [
        (discount ** abs(at - chosen), snapshot.select(each.name)) for at, each in enumerate(waves.list)
    ]
    for key in (each.key for each in snapshot.plan.questions):
        found = [(weight, part.totals[key]) for weight, part in weights if key in part.totals]
        if reports := sum(weight * total.n for weight, total in found):
            n = round(reports**2 / sum(weight**2 * total.n for weight, total in found))
            cells = sum(weight * total.cells for weight, total in found) * (n / reports)
            totals[key] = Total(n, np.rint(cells).astype(np.int64))
    return replace(snapshot, totals=totals, wave=ALL_WAVES)
