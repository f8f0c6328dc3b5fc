"""Describes a series of waves: which wave results are of, and the course of each figure over all waves."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from encoders.errors import LdpError
from encoders.survey import Feature, Plan
from encoders.survey.features import NumericFeature
from ldp_aggregator.codec import require
from ldp_aggregator.estimation import Estimates, IntervalEstimate
from ldp_aggregator.estimation.estimates import estimate_survey
from ldp_aggregator.estimation.figures import CONDITIONAL, MEAN, VARIANCE, Figures, list_figures
from ldp_aggregator.estimation.intervals import SIMULTANEOUS_ERROR
from ldp_aggregator.estimation.raw_estimates import compute_raw_estimates
from ldp_aggregator.series.change_test import Tests, assess_changes, make_test
from ldp_aggregator.series.course import Course, assess_levels
from ldp_aggregator.snapshot import ALL_WAVES, LAST_WAVE, Snapshot, Total

POOLED, OWN = TABLES = ("pooled", "own")
"""Whether the classifier's tables P(value | class) are those of all waves, or of the wave alone."""
DRIFT_DISCOUNT = 0.8
"""The weight of each wave of age that is recommended for tables that change."""


class SeriesError(LdpError):
    """A choice of waves that is not possible; the message states why."""


@dataclass(frozen=True, kw_only=True)
class WaveChoice:
    """Which wave results are of, and which reports the classifier's tables are from."""

    wave: str = LAST_WAVE
    """Its name, "last" (the last with reports) or "all"."""
    tables: str = POOLED
    discount: float = 1.0
    """The weight of the tables of each wave is `discount` to the power of its distance from `wave`."""

    def check(self, plan: Plan) -> None:
        """Raise SeriesError unless a survey can have such results."""
        if (self.tables, self.discount) == (POOLED, 1.0):
            return
        if self.tables not in TABLES or not 0 < self.discount <= 1:
            raise SeriesError("tables: needs pooled or own, and the discount a number above 0 and at most 1")
        if not (plan.waves and plan.label.exists):
            missing = "label" if plan.waves else "waves"
            raise SeriesError(f"{plan.id} has no {missing}: leave out the choice of tables and the discount")
        if self.discount < 1 and (self.tables == OWN or self.wave == ALL_WAVES):
            raise SeriesError("a discount needs pooled tables, and the name of one wave or the last")


LAST = WaveChoice()


@dataclass(frozen=True)
class WaveReports:
    """One wave with reports."""

    name: str
    reports: int
    """Each person counts once, see :attr:`Snapshot.people`."""
    unfinished: bool
    """Whether it was still open when the series was estimated."""


@dataclass(frozen=True, kw_only=True)
class Series:
    """The waves of a survey with reports, and what they show together."""

    wave: str
    """The wave that the results are of, or "all"."""
    tables: str = OWN
    discount: float = 1.0
    """Of the classifier, see :class:`WaveChoice`; a survey without a label has none."""
    waves: tuple[WaveReports, ...] = ()
    """Empty if only the counters of one wave were given."""
    courses: tuple[Course, ...] = ()
    """One for each statistic of each feature, and for the label."""

    JSON_DERIVED = ("drifting",)

    @property
    def drifting(self) -> tuple[str, ...]:
        """The features whose P(value | class), or mean of a class, changes: at 5% for all together."""
        tests = {
            each.feature: each.test
            for each in self.courses
            if each.test and each.classes[0] and each.statistic in (CONDITIONAL, MEAN)
        }
        level = SIMULTANEOUS_ERROR / max(len(tests), 1)
        return tuple(name for name, test in tests.items() if test.p_value <= level)

    @property
    def unfinished(self) -> bool:
        """Whether the wave of the results, or any of all waves, was still open."""
        return any(each.unfinished and self.wave in (each.name, ALL_WAVES) for each in self.waves)

    def check_entries(self) -> None:
        """Raise ValueError unless the entries fit each other."""
        require(self.tables in TABLES, "tables: needs pooled or own")
        require(0 < self.discount <= 1, "discount: needs a number above 0 and at most 1")

    def check_plan(self, plan: Plan) -> None:
        """Raise ValueError unless the waves are those of a plan, and each course is of waves with reports."""
        names = [each.name for each in plan.waves.list] if plan.waves else []
        require(self.wave in names or (bool(names) and self.wave == ALL_WAVES), "wave: is not in the plan")
        places = [names.index(each.name) if each.name in names else -1 for each in self.waves]
        require(all(place >= 0 for place in places), "waves: are not those of the plan")
        fit = all(each.waves == tuple(places) for each in self.courses)
        require(fit, "courses: are not of the waves with reports")


def estimate_series(
    snapshot: Snapshot, choice: WaveChoice, estimator: str = "default", now: float | None = None
) -> Series | None:
    """Return the series of a survey with waves; None without waves.

    Parameters
    ----------
    snapshot : Snapshot
        The totals of all waves; if one was selected, nothing is known about the others.
    choice : WaveChoice
    estimator : str
        As in :func:`~ldp_aggregator.estimation.estimates.estimate_survey`.
    now : float, optional
        The time, in seconds since 1970; a wave that closes later is unfinished.

    Raises
    ------
    SeriesError
        If the choice is not possible.
    """
    plan = snapshot.plan
    choice.check(plan)
    if not plan.waves:
        return None
    wave, now = snapshot.select(choice.wave).wave, time.time() if now is None else now
    if snapshot.wave:
        return Series(wave=wave)
    parts = [snapshot.select(each.name) for each in plan.waves.list]
    places = [place for place, part in enumerate(parts) if part.total()]
    known = [parts[place] for place in places]
    return Series(
        wave=wave,
        tables=choice.tables if plan.label.exists else OWN,
        discount=choice.discount,
        waves=tuple(
            WaveReports(part.wave, part.people, now < plan.waves.list[place].closes)
            for place, part in zip(places, known, strict=True)
        ),
        courses=_list_courses(snapshot, known, places, estimator) if known else (),
    )


def _list_courses(
    snapshot: Snapshot, known: Sequence[Snapshot], places: Sequence[int], estimator: str
) -> tuple[Course, ...]:
    """Return the courses over the waves with reports; `places` are their indices."""
    plan = snapshot.plan
    estimates: list[Estimates] = [estimate_survey(each, estimator)[0] for each in known]
    raw = [compute_raw_estimates(each) for each in known]
    tests = assess_changes(plan.label.name, raw, compute_raw_estimates(snapshot.select(ALL_WAVES)))
    by_wave = [list(list_figures(each, plan.features)) for each in estimates]
    return tuple(
        _make_course(figures, places, plan.features, tests)
        for figures in zip(*by_wave, strict=True)
        if figures[0].statistic != VARIANCE
    )


def _make_course(
    figures: Sequence[Figures], places: Sequence[int], features: Sequence[Feature], tests: Tests
) -> Course:
    first = figures[0]
    names = vars(first.estimate)
    levels = IntervalEstimate(*(np.stack([vars(each.estimate)[name] for each in figures]) for name in names))
    test = tests.get((first.feature, first.statistic))
    if any(each.name == first.feature and isinstance(each, NumericFeature) for each in features):
        test = make_test(*assess_levels(levels))
    return Course(
        feature=first.feature,
        statistic=first.statistic,
        values=first.values,
        classes=first.classes,
        bounds=first.bounds,
        z=first.z,
        waves=tuple(places),
        levels=levels,
        test=test,
    )


def pool_waves(snapshot: Snapshot, wave: str, discount: float) -> Snapshot:
    """Return the totals of all waves, weighted by `discount` to the power of their distance from a wave.

    Of n reports with weights g, sum(g n)^2 / sum(g^2 n) are as precise. So many are in the result.
    """
    waves = snapshot.plan.waves
    if waves is None or wave == ALL_WAVES or discount == 1:
        return snapshot.select(ALL_WAVES)
    chosen, totals = waves.find(wave), {}
    parts = [
        (discount ** abs(place - chosen), snapshot.select(each.name)) for place, each in enumerate(waves.list)
    ]
    for question in snapshot.plan.questions:
        found = [(weight, part.totals[question.key]) for weight, part in parts if question.key in part.totals]
        weighted = sum(weight * total.n for weight, total in found)
        if weighted:
            n = round(weighted**2 / sum(weight**2 * total.n for weight, total in found))
            cells = sum(weight * total.cells for weight, total in found) * (n / weighted)
            totals[question.key] = Total(n, np.rint(cells).astype(np.int64))
    return replace(snapshot, totals=totals, wave=ALL_WAVES)
