"""Intervals for early looks: in 19 of 20 surveys, all intervals that an operator sees contain the truth.

With 200 looks at intervals for one look, one or more exclude the truth in about 40% of surveys. The
half-width here is that of the normal mixture (Robbins 1970; Waudby-Smith et al. 2021), with n reports and the
standard error s:

    s sqrt((n r + 1) / (n r) (2 ln(1 / alpha) + ln(n r + 1)))

It is valid for all n at once, from about 100 reports. r makes it narrowest at the planned number of reports:
there it is 1.55 times as wide as for one look.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, TypeVar

from encoders.survey import Feature, NumericFeature, Plan
from ldp_aggregator.arrays import BoolArray
from ldp_aggregator.estimation.estimates import Estimates
from ldp_aggregator.estimation.feature_result import FeatureResult
from ldp_aggregator.estimation.intervals import (
    PROBABILITY,
    SIMULTANEOUS_ERROR,
    Z95,
    Bounds,
    IntervalEstimate,
    simultaneous_z,
)
from ldp_aggregator.estimation.number_result import NumberResult, NumberStatistics, find_bounds
from ldp_aggregator.estimation.quantiles import OrderedResult
from ldp_aggregator.estimation.table_result import TableResult

ResultT = TypeVar("ResultT", FeatureResult, OrderedResult, TableResult, NumberStatistics)

PLANNED_REPORTS = 1000
"""Planned number of reports of a question, if the plan does not have the number of expected people."""
_LOG = -2 * math.log(SIMULTANEOUS_ERROR)
_BEST_TIME = _LOG + math.log(_LOG) + 1
"""n r at which the interval is narrowest."""


def sequential_z(progress: float, error: float = SIMULTANEOUS_ERROR) -> float:
    """Return the half-width, in standard errors, that is valid at all looks; `progress` is n / planned n."""
    time = progress * _BEST_TIME
    return math.sqrt((1 + 1 / time) * (-2 * math.log(error) + math.log1p(time)))


def hold_at_all_looks(estimates: Estimates, plan: Plan) -> Estimates:
    """Return the estimates of an open local survey with intervals that are valid at all looks.

    In a survey with waves, they are valid at all looks at one wave. Classes count as distinguishable where
    their simultaneous intervals do not overlap. Relevances stay as they are.
    """
    people = (plan.users or 0) // (len(plan.waves.list) if plan.waves else 1)
    return replace(
        estimates,
        raw_prior=_widen(estimates.raw_prior, _progress(estimates.reports, people)),
        features=tuple(
            _widen_feature(feature, result, people * _chance(plan, index))
            for index, (feature, result) in enumerate(zip(plan.features, estimates.features, strict=True))
        ),
        tables=tuple(
            replace(
                _widen_all(each, _progress(each.n, people * _chance_of_table(plan, each))), independence=None
            )
            for each in estimates.tables
        ),
    )


def _chance(plan: Plan, index: int) -> float:
    """Return the probability that a person is asked about a feature; of a number, for its mean."""
    asked = [each for each in plan.questions if index in each.feature_indices and each.moment != 2]
    return min(sum(map(plan.question_probability, asked)), 1.0)  # one person can answer several


def _chance_of_table(plan: Plan, table: TableResult) -> float:
    asked = (each for each in plan.questions if not each.moment)
    names = ((each, tuple(feature.name for feature in each.asked_features)) for each in asked)
    return sum(plan.question_probability(each) for each, features in names if features == table.features)


def _progress(reports: int, planned: float) -> float:
    return reports / (planned or PLANNED_REPORTS)


def _widen_feature(
    feature: Feature, result: FeatureResult | NumberResult, planned: float
) -> FeatureResult | NumberResult:
    if isinstance(result, FeatureResult):
        progress = _progress(result.n, planned)
        widened = _widen_all(result, progress)
        return replace(
            widened,
            distinguishable_entries=_are_apart(widened.conditionals),
            ordered=_widen_all(result.ordered, progress) if result.ordered else None,
        )
    assert isinstance(feature, NumericFeature)
    progress = _progress(result.mean_question.n, planned)
    by_class = _widen_statistics(result.by_class, feature, progress)
    apart = {name: bool(_are_apart(each)) for name, each in vars(by_class).items() if each}
    return replace(
        result,
        overall=_widen_statistics(result.overall, feature, progress),
        by_class=by_class,
        distinguishable_entries={name: apart[name] for name in result.distinguishable_entries},
    )


def _widen_all(result: ResultT, progress: float, bounds: Mapping[str, Bounds] | None = None) -> ResultT:
    estimates = {name: each for name, each in vars(result).items() if isinstance(each, IntervalEstimate)}
    widened: dict[str, Any] = {
        name: _widen(each, progress, (bounds or {}).get(name, PROBABILITY))
        for name, each in estimates.items()
    }
    return replace(result, **widened)


def _widen_statistics(
    statistics: NumberStatistics, feature: NumericFeature, progress: float
) -> NumberStatistics:
    widened = _widen_all(statistics, progress, find_bounds(feature))
    return replace(widened, deviations=widened.variances.square_root())


def _widen(estimate: IntervalEstimate, progress: float, bounds: Bounds = PROBABILITY) -> IntervalEstimate:
    if progress == 0:
        return estimate
    count = estimate.value.size
    single = sequential_z(progress) / Z95
    simultaneous = sequential_z(progress, SIMULTANEOUS_ERROR / count) / simultaneous_z(count)
    return estimate.stretch(single, simultaneous, bounds)


def _are_apart(estimate: IntervalEstimate) -> BoolArray:
    """Return whether the simultaneous intervals of any two classes do not overlap, along the last axis."""
    apart: BoolArray = estimate.simultaneous_low.max(axis=-1) > estimate.simultaneous_high.min(axis=-1)
    return apart
