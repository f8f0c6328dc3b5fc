"""Compares a survey with changed ones: when nothing is noise any more, and what tables cost.

Each remedy is the smallest change of its kind after which no feature or table that is asked about is noise:
more people, more epsilon, or asking less. All are computed in closed form.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from decimal import Decimal
from typing import Any

import numpy as np

from encoders.canonical import decimal_text
from encoders.errors import SurveyError
from encoders.survey import BinnedFeature, CategoricalFeature, Feature, NumericFeature, Plan, Survey
from ldp_aggregator.estimation import ClassConditional
from ldp_aggregator.simulated_population import SyntheticPopulation
from ldp_design.authoring.overview import DEFAULT_MAX_EPSILON
from ldp_design.sizing.margins import (
    ExpectedTotals,
    Margin,
    compute_expected_margins,
    features_of,
    find_ask_rate,
)
from ldp_design.sizing.sample_size import SizeError, find_min_users, find_smallest

EPSILON_STEP = Decimal("0.01")
_RANGE_SPREADS = 6
"""Width of a range that contains nearly all numbers, in standard deviations, unless they are skewed."""
_MIN_NARROWING = 1.5
"""A range is called too wide if it is wider by at least this factor."""


@dataclass(frozen=True, kw_only=True)
class Remedies:
    """Changes, after each of which alone nothing is noise; None if no change of a kind is enough."""

    users: int | None
    survey_users: int | None
    """Value for [survey] users: with it the label is asked alone no more often than the expected number of
    people requires."""
    epsilon: Decimal | None
    """At most the epsilon that clients accept by default."""
    features: tuple[str, ...] | None
    """The largest set of features and tables that may be asked: those that need the fewest reports."""
    values: int | None
    """The largest number of values or bins, without "missing", that a feature may have."""

    def as_dict(self) -> dict[str, Any]:
        return asdict(self) | {"epsilon": None if self.epsilon is None else float(self.epsilon)}


def find_narrower_ranges(
    features: Sequence[Feature], compute_margins: Callable[[tuple[Feature, ...]], Sequence[Margin]]
) -> tuple[Margin, ...]:
    """Return the margins of numbers with narrower ranges, if theirs are much wider than the spread needs."""
    narrowed = {}
    for each in features:
        half = _RANGE_SPREADS / 2 * ((isinstance(each, NumericFeature) and each.spread) or math.inf)
        if isinstance(each, NumericFeature) and each.width >= _MIN_NARROWING * half:
            low, high = (decimal_text(Decimal(each.original(0.0) + end)) for end in (-half, half))
            narrowed[each.name] = replace(each, low=low, high=high)
    margins = compute_margins(tuple(narrowed.get(each.name, each) for each in features)) if narrowed else ()
    return tuple(each for each in margins if each.name in narrowed)


def find_remedies(
    survey: Survey, population: SyntheticPopulation, users: int, margins: Sequence[Margin]
) -> Remedies:
    """Return the remedies for a survey with noise among the `margins` of the expected number of people."""
    enough_users, survey_users = None, None
    expected = ExpectedTotals(survey.compile(), population)
    with suppress(SizeError):
        enough_users = find_min_users(lambda users: _max_excess(expected, users, survey))
    if survey.weights[0] is None and survey.users != users:
        survey_users = users if _is_enough(replace(survey, users=users), population, users) else None
    return Remedies(
        users=enough_users,
        survey_users=survey_users,
        epsilon=find_epsilon(
            survey.epsilon, lambda each: _is_enough(replace(survey, epsilon=each), population, users)
        ),
        features=_find_features(survey, population, users, margins),
        values=_find_values(survey, population, users),
    )


def _max_excess(expected: ExpectedTotals, users: int, survey: Survey) -> float:
    found = features_of(compute_expected_margins(expected, users, survey.tables))
    return max((margin.excess for margin in found), default=math.inf)


def _is_enough(survey: Survey, population: SyntheticPopulation, users: int) -> bool:
    try:
        expected = ExpectedTotals(survey.compile(), population)
    except SurveyError:  # no mechanism fits the changed survey
        return False
    return _max_excess(expected, users, survey) <= 1


def find_epsilon(epsilon: Decimal, is_enough: Callable[[Decimal], bool]) -> Decimal | None:
    """Return the smallest larger epsilon that is enough, and at most what clients accept by default."""
    low, high = (int(each / EPSILON_STEP) for each in (epsilon, DEFAULT_MAX_EPSILON))
    step = find_smallest(low + 1, high, lambda step: is_enough(step * EPSILON_STEP))
    return None if step is None else step * EPSILON_STEP


def _find_features(
    survey: Survey, population: SyntheticPopulation, users: int, margins: Sequence[Margin]
) -> tuple[str, ...] | None:
    """Drop features and tables in order of `excess`, largest first, until none of the others is noise.

    A table is dropped with any of its features; the features of a dropped table are asked alone.
    """
    names = [each.name for each in sorted(features_of(margins), key=lambda each: each.excess)]
    parts = [[survey.features[index].name for index in each.feature_indices] for each in survey.tables]
    tables = dict(zip(map(" x ".join, parts), survey.tables, strict=True))

    def drop(count: int) -> Survey:
        asked = names[: len(names) - count]
        places = {place for place, each in enumerate(survey.features) if each.name in asked}
        together = [tables[name] for name in tables if name in asked]
        kept = survey.keep_tables([each for each in together if places.issuperset(each.feature_indices)])
        weights = (weight if place in places else 0 for place, weight in enumerate(kept.weights[1:]))
        return replace(kept, weights=(kept.weights[0], *weights))

    count = find_smallest(1, len(names) - 1, lambda count: _is_enough(drop(count), population, users))
    if count is None:
        return None
    asked = {None, *drop(count).tables}
    return tuple(name for name in names[: len(names) - count] if tables.get(name) in asked)


def _find_values(survey: Survey, population: SyntheticPopulation, users: int) -> int | None:
    most = max((_count_values(each) for each in survey.features), default=0)

    def is_enough(fewer: int) -> bool:
        pairs = zip(survey.features, population.conditionals, strict=True)
        features, conditionals = zip(*(_merge_values(*pair, most - fewer) for pair in pairs), strict=True)
        merged = SyntheticPopulation(population.prior, conditionals)
        return _is_enough(replace(survey, features=features), merged, users)

    fewer = find_smallest(1, most - 2, is_enough)
    return None if fewer is None else most - fewer


def _count_values(feature: Feature) -> int:
    if isinstance(feature, CategoricalFeature):
        return len(feature.values)
    return len(feature.edges) - 1 if isinstance(feature, BinnedFeature) else 0


def _merge_values(
    feature: Feature, conditional: ClassConditional, count: int
) -> tuple[Feature, ClassConditional]:
    """Return a feature with `count` equally frequent values; the author decides which values to merge."""
    if _count_values(feature) <= count:
        return feature, conditional
    merged: Feature
    if isinstance(feature, CategoricalFeature):
        merged = replace(feature, values=feature.values[:count])
    else:
        assert isinstance(feature, BinnedFeature)
        merged = replace(feature, edges=feature.edges[: count + 1])
    k = conditional.shape[1] if isinstance(conditional, np.ndarray) else len(conditional.mean)
    return merged, np.full((merged.size, k), 1 / merged.size)


# -- what each table costs --------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class TableCost:
    """What to expect of a table, and of the survey if it is left out and its features are asked alone."""

    features: tuple[str, ...]
    cells: int
    question_probability: float
    """Probability that a person is asked for the table."""
    margin: float
    """Margin of the share of one combination: the root mean square over all."""
    without: Mapping[str, float]
    """Without the table, the margin of P(value) of each of its features."""
    other_people: float | None
    """Number of people that any other feature then needs for the same margin, as a multiple of today's; None
    without other features, or if each person answers all questions."""


def compute_table_costs(
    survey: Survey, plan: Plan, population: SyntheticPopulation, users: int, margins: Sequence[Margin]
) -> Iterator[TableCost]:
    """Yield the cost of each table if `users` people answer, given the margins of the survey."""
    cells = {each.name: each.overall for each in margins if each.kind == "table"}
    for table in survey.tables:
        names = tuple(survey.features[index].name for index in table.feature_indices)
        kept = survey.keep_tables([each for each in survey.tables if each is not table])
        reduced = (kept.fit_promise() if survey.asks_all else kept).compile()
        alone = compute_expected_margins(ExpectedTotals(reduced, population), users)
        [question] = [each for each in plan.questions if each.feature_indices == table.feature_indices]
        others = set(range(len(plan.features))) - set(table.feature_indices)
        asked = [each for each in others if find_ask_rate(plan, each)]
        ratios = [find_ask_rate(plan, each) / find_ask_rate(reduced, each) for each in asked]
        if plan.asks_all:  # without the table, each answer gets more of epsilon
            ratios = [_compare_margins(plan.features[each].name, margins, alone) for each in asked]
        yield TableCost(
            features=names,
            cells=question.domain,
            question_probability=plan.question_probability(question),
            margin=cells[" x ".join(names)] or 0.0,
            without={each.name: _overall_margin(each) for each in alone if each.name in names},
            other_people=max(ratios, default=None),
        )


def _compare_margins(feature: str, before: Sequence[Margin], after: Sequence[Margin]) -> float:
    """Return the number of people for the margin after a change, as a multiple of that before."""
    one, other = (
        next(_overall_margin(each) for each in margins if each.name == feature) for margins in (after, before)
    )
    return (one / other) ** 2


def _overall_margin(margin: Margin) -> float:
    return margin.margin if margin.overall is None else margin.overall
